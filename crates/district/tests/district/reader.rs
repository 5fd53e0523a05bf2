//! Reads interchange XML back into documents.

use std::collections::HashMap;

use homeroom_model::xml::{Content, Step, XmlElement, xml_shape};
use homeroom_model::{Model, Scalar, Target};
use quick_xml::events::Event;
use serde_json::{Map, Value};

/// Reads an interchange by the rules of `homeroom_model::xml`.
pub fn read_interchange(model: &Model, text: &str, into: &mut HashMap<String, Vec<Value>>) {
    let elements: HashMap<&str, &str> =
        model.resources.iter().map(|r| (r.element.as_str(), r.name.as_str())).collect();
    let mut reader = quick_xml::Reader::from_str(text);
    let mut stack: Vec<Node> = vec![];
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                let name = tag.name().0.to_owned();
                stack.push(Node { name, text: String::new(), children: vec![] });
            }
            Event::Text(text) => {
                if let Some(node) = stack.last_mut() {
                    node.text.push_str(text.xml10_content().trim());
                }
            }
            Event::GeneralRef(entity) => {
                let name = entity.to_string();
                let c = quick_xml::escape::resolve_predefined_entity(&name).unwrap();
                stack.last_mut().unwrap().text.push_str(c);
            }
            Event::End(_) => {
                let node = stack.pop().unwrap();
                match stack.len() {
                    0 => {}
                    1 => {
                        let resource = elements[node.name.as_str()];
                        let Some(Target::Resource(id)) = model.by_name(resource) else {
                            unreachable!()
                        };
                        let shape = xml_shape(model, model.resource(id));
                        let mut value = Map::new();
                        for child in &node.children {
                            apply(&shape, child, &mut value);
                        }
                        into.entry(resource.to_owned()).or_default().push(value.into());
                    }
                    _ => stack.last_mut().unwrap().children.push(node),
                }
            }
            Event::Eof => return,
            _ => {}
        }
    }
}

struct Node {
    name: String,
    text: String,
    children: Vec<Node>,
}

fn apply(around: &XmlElement, node: &Node, place: &mut Map<String, Value>) {
    let shape = around.child(&node.name).unwrap_or_else(|| panic!("{} is unknown", node.name));
    let mut place = place;
    for step in &shape.into {
        place = match step {
            Step::Member(name) => {
                place.entry(name.clone()).or_insert_with(|| Map::new().into()).as_object_mut()
            }
            Step::Item(name) => {
                let list = place.entry(name.clone()).or_insert_with(|| Value::Array(vec![]));
                let list = list.as_array_mut().unwrap();
                list.push(Map::new().into());
                list.last_mut().unwrap().as_object_mut()
            }
        }
        .unwrap();
    }
    match &shape.content {
        Content::Value(member, scalar) => {
            let value = match scalar {
                Scalar::Integer { .. } | Scalar::Decimal { .. } | Scalar::Boolean => {
                    serde_json::from_str(&node.text).unwrap()
                }
                _ => Value::from(node.text.as_str()),
            };
            place.insert(member.clone(), value);
        }
        Content::SchoolYear(member) => {
            let (first, second) = node.text.split_once('-').unwrap();
            let (first, second): (i64, i64) = (first.parse().unwrap(), second.parse().unwrap());
            assert_eq!(first + 1, second);
            place.insert(member.clone(), second.into());
        }
        Content::Children | Content::Reference { .. } => {
            for child in &node.children {
                apply(shape, child, place);
            }
        }
        Content::Lookup(_) | Content::Ignored => panic!("{} is not to be written", node.name),
    }
}
