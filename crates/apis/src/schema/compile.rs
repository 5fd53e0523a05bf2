//! Compiles schemas.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use regex_lite::Regex;
use serde_json::{Map, Value};

use super::format::Format;
use super::node::{At, Node, Pattern, Schemas, Types};
use super::run::canonical;
use crate::document::Fault;

/// Most schemas of a document.
const NODES_MAX: usize = 100_000;
/// Deepest nesting of schemas in each other.
const DEPTH_MAX: usize = 128;
/// Longest chain of references.
const REFERENCES_MAX: usize = 16;
/// Keywords whose rules depend on other keywords' outcomes; what they forbid cannot be told here.
const UNKNOWN: [&str; 4] =
    ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"];

/// Compiles the schemas of one document.
pub(crate) struct Compiler<'a> {
    document: &'a Value,
    /// Whether it is OpenAPI 3.0, which has rules of its own.
    is_3_0: bool,
    schemas: Schemas,
    by_pointer: HashMap<String, At>,
}

/// Follows references to what they lead to.
///
/// # Errors
///
/// A reference out of the document, or to nothing.
pub(crate) fn resolve<'a>(document: &'a Value, value: &'a Value) -> Result<&'a Value, Fault<'a>> {
    let (begun, mut value) = (value, value);
    for _ in 0..REFERENCES_MAX {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
        value = target(document, reference).map_err(|reason| Fault::at(value, reason))?.1;
    }
    Err(Fault::at(begun, "a chain of references is too long"))
}

/// Returns pointer and value of what a reference leads to.
fn target<'a>(document: &'a Value, reference: &str) -> Result<(String, &'a Value), String> {
    let pointer = reference
        .strip_prefix('#')
        .ok_or_else(|| format!("the reference {reference} leads out of the document"))?;
    let pointer = percent_decode_str(pointer).decode_utf8().map_err(|_| "a reference is odd")?;
    let found = document.pointer(&pointer);
    let found = found.ok_or_else(|| format!("the reference {reference} leads to nothing"))?;
    Ok((pointer.into_owned(), found))
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(document: &'a Value) -> Self {
        let version = document["openapi"].as_str().unwrap_or_default();
        let is_3_0 = version.starts_with("3.0");
        Self { document, is_3_0, schemas: Schemas::default(), by_pointer: HashMap::new() }
    }

    /// Returns all that was compiled.
    pub(crate) fn done(self) -> Schemas {
        self.schemas
    }

    /// Returns the types that a compiled schema allows; [`None`] for all.
    pub(crate) fn types(&self, at: At) -> Option<Types> {
        self.schemas.types(at)
    }

    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or cannot be checked.
    pub(crate) fn schema(&mut self, schema: &'a Value) -> Result<At, Fault<'a>> {
        self.within(schema, DEPTH_MAX)
    }

    fn within(&mut self, schema: &'a Value, depth: usize) -> Result<At, Fault<'a>> {
        let at = self.place()?;
        self.schemas.0[at.0] = self.node(schema, depth).map_err(|fault| fault.or_at(schema))?;
        Ok(at)
    }

    fn place(&mut self) -> Result<At, String> {
        if self.schemas.0.len() >= NODES_MAX {
            return Err(format!("it has more than {NODES_MAX} schemas"));
        }
        self.schemas.0.push(Node::default());
        Ok(At(self.schemas.0.len() - 1))
    }

    fn reference(&mut self, reference: &str, depth: usize) -> Result<At, Fault<'a>> {
        let (pointer, schema) = target(self.document, reference)?;
        if let Some(known) = self.by_pointer.get(&pointer) {
            return Ok(*known);
        }
        // It may refer to itself.
        let at = self.place()?;
        self.by_pointer.insert(pointer, at);
        self.schemas.0[at.0] = self.node(schema, depth).map_err(|fault| fault.or_at(schema))?;
        Ok(at)
    }

    fn node(&mut self, schema: &'a Value, depth: usize) -> Result<Node, Fault<'a>> {
        let depth = depth.checked_sub(1).ok_or("schemas are nested too deep")?;
        let members = match schema {
            Value::Bool(is_all) => return Ok(Node { is_never: !is_all, ..Node::default() }),
            Value::Object(members) => members,
            _ => return Err(format!("a schema is an object, and not {schema}").into()),
        };
        let mut unknown = UNKNOWN.iter().filter_map(|name| Some((name, members.get(*name)?)));
        if let Some((name, own)) = unknown.next() {
            let message = format!("requests cannot be checked by {name}; leave it out");
            return Err(Fault::at(own, message));
        }
        let mut node = Node::default();
        if let Some(reference) = members.get("$ref") {
            let text = reference.as_str().ok_or("a $ref is a text")?;
            let led = self.reference(text, depth).map_err(|fault| fault.or_at(reference))?;
            node.reference = Some(led);
            if self.is_3_0 {
                return Ok(node);
            }
        }
        node.types = self.stated_types(members)?;
        node.values = values(members)?;
        numbers(members, &mut node);
        node.min_length = count(members, "minLength");
        node.max_length = count(members, "maxLength");
        if let Some(text) = members.get("pattern") {
            let own = text.as_str().ok_or("a pattern is a text").map_err(String::from);
            let own = own.and_then(pattern).map_err(|reason| Fault::at(text, reason))?;
            node.pattern = Some(own);
        }
        node.format = members.get("format").and_then(Value::as_str).and_then(Format::of_name);
        self.arrays(members, &mut node, depth)?;
        self.objects(members, &mut node, depth)?;
        for (name, list) in
            [("allOf", &mut node.all_of), ("anyOf", &mut node.any_of), ("oneOf", &mut node.one_of)]
        {
            *list = self.list(members, name, depth)?;
        }
        node.not = self.one(members, "not", depth)?;
        if let Some(condition) = self.one(members, "if", depth)? {
            let then = self.one(members, "then", depth)?;
            node.condition = Some((condition, then, self.one(members, "else", depth)?));
        }
        Ok(node)
    }

    fn one(
        &mut self,
        members: &'a Map<String, Value>,
        name: &str,
        depth: usize,
    ) -> Result<Option<At>, Fault<'a>> {
        members.get(name).map(|schema| self.within(schema, depth)).transpose()
    }

    fn list(
        &mut self,
        members: &'a Map<String, Value>,
        name: &str,
        depth: usize,
    ) -> Result<Vec<At>, Fault<'a>> {
        let Some(list) = members.get(name) else { return Ok(vec![]) };
        let fault = || Fault::at(list, format!("{name} is a list of schemas"));
        let list = list.as_array().ok_or_else(fault)?;
        list.iter().map(|schema| self.within(schema, depth)).collect()
    }

    fn stated_types(&self, members: &Map<String, Value>) -> Result<Option<Types>, String> {
        let known = |name: &Value| {
            let types = name.as_str().and_then(Types::of_name);
            types.ok_or_else(|| format!("there is no type {name}"))
        };
        let mut types = match members.get("type") {
            None => return Ok(None),
            Some(Value::Array(names)) => {
                let mut all = Types::default();
                for name in names {
                    all = all.with(known(name)?);
                }
                all
            }
            Some(name) => known(name)?,
        };
        if self.is_3_0 && members.get("nullable") == Some(&Value::Bool(true)) {
            types = types.with(Types::NULL);
        }
        Ok(Some(types))
    }

    fn arrays(
        &mut self,
        members: &'a Map<String, Value>,
        node: &mut Node,
        depth: usize,
    ) -> Result<(), Fault<'a>> {
        node.prefix_items = self.list(members, "prefixItems", depth)?;
        node.items = self.one(members, "items", depth)?;
        node.min_items = count(members, "minItems");
        node.max_items = count(members, "maxItems");
        node.is_unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        if let Some(own) = self.one(members, "contains", depth)? {
            let least = count(members, "minContains").unwrap_or(1);
            node.contains = Some((own, least, count(members, "maxContains")));
        }
        Ok(())
    }

    fn objects(
        &mut self,
        members: &'a Map<String, Value>,
        node: &mut Node,
        depth: usize,
    ) -> Result<(), Fault<'a>> {
        let named = |name: &str| members.get(name).and_then(Value::as_object);
        for (name, schema) in named("properties").into_iter().flatten() {
            node.properties.insert(name.clone(), self.within(schema, depth)?);
        }
        for (text, schema) in named("patternProperties").into_iter().flatten() {
            let own = pattern(text).map_err(|reason| Fault::at(schema, reason))?;
            node.pattern_properties.push((own, self.within(schema, depth)?));
        }
        for (name, schema) in named("dependentSchemas").into_iter().flatten() {
            node.dependent_schemas.insert(name.clone(), self.within(schema, depth)?);
        }
        for (name, list) in named("dependentRequired").into_iter().flatten() {
            node.dependent_required.insert(name.clone(), texts(list));
        }
        node.additional = self.one(members, "additionalProperties", depth)?;
        node.property_names = self.one(members, "propertyNames", depth)?;
        node.min_properties = count(members, "minProperties");
        node.max_properties = count(members, "maxProperties");
        // What only answers have is not required of requests.
        let is_of_answers = |name: &String| {
            let own = named("properties").and_then(|own| own.get(name));
            own.is_some_and(|own| own["readOnly"] == true)
        };
        node.required = members.get("required").map(texts).unwrap_or_default();
        node.required.retain(|name| !is_of_answers(name));
        Ok(())
    }
}

fn values(members: &Map<String, Value>) -> Result<Option<Vec<String>>, String> {
    if let Some(only) = members.get("const") {
        return Ok(Some(vec![canonical(only)]));
    }
    let Some(all) = members.get("enum") else { return Ok(None) };
    let all = all.as_array().ok_or("an enum is a list")?;
    Ok(Some(all.iter().map(canonical).collect()))
}

/// Reads the limits of numbers. In OpenAPI 3.0, `exclusiveMinimum` says what `minimum` means.
fn numbers(members: &Map<String, Value>, node: &mut Node) {
    let number = |name: &str| members.get(name).and_then(Value::as_f64);
    let is_exclusive = |name: &str| members.get(name) == Some(&Value::Bool(true));
    node.exclusive_minimum = number("exclusiveMinimum");
    node.exclusive_maximum = number("exclusiveMaximum");
    if is_exclusive("exclusiveMinimum") {
        node.exclusive_minimum = number("minimum");
    } else {
        node.minimum = number("minimum");
    }
    if is_exclusive("exclusiveMaximum") {
        node.exclusive_maximum = number("maximum");
    } else {
        node.maximum = number("maximum");
    }
    node.multiple_of = number("multipleOf").filter(|step| *step > 0.0);
}

fn count(members: &Map<String, Value>, name: &str) -> Option<u64> {
    let value = members.get(name)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count that is written 2.0 is 2"
    )]
    let whole = |count: f64| count.max(0.0) as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole))
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let regex = Regex::new(text).map_err(|error| {
        format!("the pattern {text} cannot be checked: {error}; look-around and \\p are not known")
    })?;
    Ok(Pattern { text: text.to_owned(), regex })
}
