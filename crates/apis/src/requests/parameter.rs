//! Parameters: where they are, how they are written, what they may be.

use homeroom_http::Query;
use http::HeaderMap;
use http::header::COOKIE;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

use crate::document::Fault;
use crate::schema::{At, Compiler, Faults, Schemas, Types};
use crate::unique_json;

/// Headers whose parameters say nothing.
const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter of an operation.
#[derive(Debug)]
pub(super) struct Parameter {
    name: String,
    place: Place,
    is_required: bool,
    /// Whether it may be there without a value.
    may_be_empty: bool,
    written: Written,
    schema: Option<At>,
}

/// Where a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The number of its placeholder in the path.
    Path(usize),
    Query,
    Header,
    Cookie,
}

/// How a parameter's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Plain,
    /// The parameter is there for each item.
    Repeated,
    /// Items are separated by this.
    Separated(char),
    /// A parameter `name[member]` for each member.
    Deep,
    /// A parameter for each member.
    Members,
    /// Names and values of members in turn, separated by commas.
    Pairs,
    Json,
}

impl Parameter {
    /// Compiles a parameter; [`None`] for one that says nothing.
    pub(super) fn compile<'a>(
        compiler: &mut Compiler<'a>,
        stated: &'a Value,
        path: &[String],
    ) -> Result<Option<Self>, Fault<'a>> {
        let name = stated["name"].as_str().ok_or("a parameter has no name")?.to_owned();
        let what = format!("the parameter {name}");
        let wrong = |reason: &str| Fault::at(stated, reason).of(&what);
        let place = match stated["in"].as_str() {
            Some("path") => match path.iter().position(|own| *own == name) {
                Some(number) => Place::Path(number),
                None => return Err(wrong("the path has no such placeholder")),
            },
            Some("query") => Place::Query,
            Some("header") if IGNORED.iter().any(|own| name.eq_ignore_ascii_case(own)) => {
                return Ok(None);
            }
            Some("header") => Place::Header,
            Some("cookie") => Place::Cookie,
            _ => return Err(wrong("it is in path, query, header or cookie")),
        };
        let content = stated["content"].as_object().and_then(|all| all.values().next());
        let schema = stated.get("schema").or_else(|| content.and_then(|own| own.get("schema")));
        let schema = schema.map(|schema| compiler.schema(schema)).transpose();
        let schema = schema.map_err(|fault| fault.of(&what))?;
        let usual = if matches!(place, Place::Query | Place::Cookie) { "form" } else { "simple" };
        let style = stated["style"].as_str().unwrap_or(usual);
        let explodes = stated["explode"].as_bool().unwrap_or(style == "form");
        let types = schema.and_then(|schema| compiler.types(schema)).unwrap_or(Types::STRING);
        let is_list = types.has(Types::ARRAY) && !types.has(Types::STRING);
        let is_object = types.has(Types::OBJECT) && !types.has(Types::STRING);
        let written = match (style, is_list, is_object) {
            _ if content.is_some() => Written::Json,
            ("deepObject", _, true) => Written::Deep,
            ("form", true, _) if explodes => Written::Repeated,
            ("form", _, true) if explodes => Written::Members,
            ("form" | "simple", true, _) => Written::Separated(','),
            ("spaceDelimited", true, _) if !explodes => Written::Separated(' '),
            ("pipeDelimited", true, _) if !explodes => Written::Separated('|'),
            ("spaceDelimited" | "pipeDelimited", true, _) => Written::Repeated,
            ("form" | "simple", _, true) if !explodes => Written::Pairs,
            ("form" | "simple", false, false) => Written::Plain,
            _ => return Err(wrong(&format!("the style {style} cannot be checked here"))),
        };
        let may_be_empty = stated["allowEmptyValue"] == true;
        let is_required = stated["required"] == true;
        Ok(Some(Self { name, place, is_required, may_be_empty, written, schema }))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_header = self.place == Place::Header;
        let has_name = if is_header {
            self.name.eq_ignore_ascii_case(&other.name)
        } else {
            self.name == other.name
        };
        has_name && self.place == other.place
    }

    /// Checks the parameter of a request.
    pub(super) fn check(
        &self,
        schemas: &Schemas,
        headers: &HeaderMap,
        query: &Query,
        placeholders: &[&str],
        faults: &mut Faults,
    ) {
        let place = match self.place {
            Place::Path(_) => "path",
            Place::Query => "query",
            Place::Header => "header",
            Place::Cookie => "cookie",
        };
        let mut path = format!("{place}.{}", self.name);
        let texts = match self.texts(headers, query, placeholders) {
            Ok(texts) => texts,
            Err(message) => return faults.add(&path, message),
        };
        let value = match self.value(schemas, &texts, query) {
            Ok(Some(value)) => value,
            Ok(None) if self.is_required => return faults.add(&path, "it is required"),
            Ok(None) => return,
            Err(message) => return faults.add(&path, message),
        };
        if self.may_be_empty && texts.iter().all(String::is_empty) {
            return;
        }
        if let Some(schema) = self.schema {
            schemas.check(schema, &value, &mut path, faults);
        }
    }

    /// Returns what a request has under the parameter's name.
    fn texts(
        &self,
        headers: &HeaderMap,
        query: &Query,
        placeholders: &[&str],
    ) -> Result<Vec<String>, &'static str> {
        let is_own = |(name, _): &(&str, &str)| *name == self.name;
        match self.place {
            Place::Path(number) => {
                let Some(text) = placeholders.get(number) else { return Ok(vec![]) };
                let text = percent_decode_str(text).decode_utf8().map_err(|_| "it is not UTF-8")?;
                Ok(vec![text.into_owned()])
            }
            Place::Query => {
                Ok(query.iter().filter(is_own).map(|(_, text)| text.to_owned()).collect())
            }
            Place::Header => {
                let lines = headers.get_all(self.name.as_str()).iter();
                let lines = lines.map(|line| std::str::from_utf8(line.as_bytes()));
                let lines: Result<Vec<&str>, _> = lines.collect();
                let lines = lines.map_err(|_| "it is not UTF-8")?;
                Ok(if lines.is_empty() { vec![] } else { vec![lines.join(",")] })
            }
            Place::Cookie => {
                let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
                let pairs = lines.flat_map(|line| line.split(';'));
                let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
                Ok(pairs.filter(is_own).map(|(_, text)| text.to_owned()).collect())
            }
        }
    }

    /// Returns the value that the texts stand for; [`None`] where there is none.
    fn value(
        &self,
        schemas: &Schemas,
        texts: &[String],
        query: &Query,
    ) -> Result<Option<Value>, String> {
        let items = || self.schema.and_then(|schema| schemas.items(schema));
        let properties = || self.schema.map(|own| schemas.properties(own)).unwrap_or_default();
        let member = |name: &str, text: &str| {
            let own = properties().into_iter().find(|(own, _)| *own == name).map(|(_, own)| own);
            (name.to_owned(), coerced(schemas, own, text))
        };
        let members = |all: Map<String, Value>| {
            if all.is_empty() { None } else { Some(Value::Object(all)) }
        };
        let last = texts.last().map(String::as_str);
        Ok(match self.written {
            // An upstream may read the first or the last of two.
            Written::Plain | Written::Json | Written::Separated(_) | Written::Pairs
                if texts.len() > 1 =>
            {
                return Err("it is there more than once".into());
            }
            Written::Plain => last.map(|text| coerced(schemas, self.schema, text)),
            Written::Json => match last {
                None => None,
                Some(text) => {
                    let value = unique_json::read(text.as_bytes());
                    Some(value.map_err(|error| format!("it cannot be read: {error}"))?)
                }
            },
            Written::Repeated if texts.is_empty() => None,
            Written::Repeated => {
                Some(texts.iter().map(|text| coerced(schemas, items(), text)).collect())
            }
            Written::Separated(by) => last.map(|text| {
                if text.is_empty() {
                    return Value::Array(vec![]);
                }
                text.split(by).map(|text| coerced(schemas, items(), text)).collect()
            }),
            Written::Pairs => match last {
                None => None,
                Some(text) => {
                    let parts: Vec<&str> = text.split(',').collect();
                    let pairs = parts.chunks(2);
                    Some(Value::Object(
                        pairs.map(|pair| member(pair[0], pair.get(1).unwrap_or(&""))).collect(),
                    ))
                }
            },
            Written::Members => {
                let known = properties();
                let own = query.iter().filter(|(name, _)| known.iter().any(|(own, _)| own == name));
                members(own.map(|(name, text)| member(name, text)).collect())
            }
            Written::Deep => {
                let own = query.iter().filter_map(|(name, text)| {
                    let inner = name.strip_prefix(self.name.as_str())?.strip_prefix('[')?;
                    Some(member(inner.strip_suffix(']')?, text))
                });
                members(own.collect())
            }
        })
    }
}

/// Returns the value that a text stands for: what fits the schema, or else what its type says.
pub(super) fn coerced(schemas: &Schemas, schema: Option<At>, text: &str) -> Value {
    let plain = Value::from(text);
    let Some(schema) = schema else { return plain };
    let types = schemas.types(schema).unwrap_or(Types::STRING);
    let found = scalar(text).filter(|_| types != Types::STRING);
    let Some(found) = found else { return plain };
    let fits = |value: &Value| schemas.fits(schema, value, &mut Faults::of(text.len()));
    if types.has(Types::STRING) && (fits(&plain) || !fits(&found)) { plain } else { found }
}

/// Returns a number, a truth value or null as JSON writes it.
fn scalar(text: &str) -> Option<Value> {
    match text {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        "null" => Some(Value::Null),
        _ => serde_json::from_str::<Number>(text).ok().map(Value::Number),
    }
}
