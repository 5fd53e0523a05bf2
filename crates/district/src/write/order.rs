//! The order of XML elements, read from `data/element-order-5.2.0.txt`.
//!
//! The standard's schemas require a fixed order of elements. The model does not hold this order,
//! because readers do not depend on it.

use std::collections::HashMap;

use homeroom_model::xml::{Content, XmlElement};

/// The order of children, by element name.
pub(super) struct ElementOrder(HashMap<&'static str, Vec<&'static str>>);

impl ElementOrder {
    /// Reads the order.
    pub(super) fn new() -> Self {
        let mut all = HashMap::new();
        let (mut names, mut children): (Vec<&str>, Vec<&str>) = (vec![], vec![]);
        let text = include_str!("../../data/element-order-5.2.0.txt");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let indented = line.starts_with(' ');
            if !indented && !children.is_empty() {
                all.extend(names.drain(..).map(|name| (name, children.clone())));
                children.clear();
            }
            if indented { &mut children } else { &mut names }.extend(line.split_whitespace());
        }
        all.extend(names.into_iter().map(|name| (name, children.clone())));
        Self(all)
    }

    /// Sorts the elements of a tree; elements without a place come last.
    pub(super) fn sort(&self, element: &mut XmlElement) {
        element
            .children
            .retain(|child| !matches!(child.content, Content::Lookup(_) | Content::Ignored));
        if let Some(order) = self.0.get(element.name.as_str()) {
            element.children.sort_by_key(|child| {
                order.iter().position(|name| *name == child.name).unwrap_or(order.len())
            });
        }
        for child in &mut element.children {
            self.sort(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use homeroom_model::xml::xml_shape;
    use homeroom_model::{format, link, shipped};

    use super::*;

    fn unplaced(order: &ElementOrder, element: &XmlElement, into: &mut Vec<String>) {
        let children = order.0.get(element.name.as_str());
        for child in &element.children {
            if element.children.len() > 1 && children.is_none_or(|c| !c.contains(&&*child.name)) {
                into.push(format!("{}/{}", element.name, child.name));
            }
            unplaced(order, child, into);
        }
    }

    #[test]
    fn every_element_of_every_resource_with_an_interchange_has_its_place() {
        let source = format::read(shipped("5.2.0").unwrap()).unwrap();
        let model = link(&[source]).unwrap();
        let order = ElementOrder::new();
        let mut missing = vec![];

        let written = model.resources.iter().filter(|r| !r.interchanges.is_empty());
        assert!(written.clone().count() > 300);
        for resource in written {
            let mut shape = xml_shape(&model, resource);
            order.sort(&mut shape);
            unplaced(&order, &shape, &mut missing);
        }

        assert!(missing.is_empty(), "{missing:#?}");
    }
}
