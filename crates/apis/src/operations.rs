//! The operations of an API, as its OpenAPI document states them.
//!
//! Source: OpenAPI 3.0 and 3.1 (paths, security requirements); Swagger 2.0 has the same members.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use homeroom_access::Call;
use homeroom_http::{Kind, Problem};
use http::header::ALLOW;
use http::{HeaderValue, Method};
use matchit::Match;
use serde_json::{Map, Value};

use crate::document::{self, DocumentError, Fault};
use crate::path::{other, usual};
use crate::requests::{Checks, is_checked};
use crate::schema::{Compiler, Schemas, resolve};

/// The members of a path that are methods.
const METHODS: [(&str, &str); 8] = [
    ("delete", "DELETE"),
    ("get", "GET"),
    ("head", "HEAD"),
    ("options", "OPTIONS"),
    ("patch", "PATCH"),
    ("post", "POST"),
    ("put", "PUT"),
    ("trace", "TRACE"),
];

/// The scopes that an operation asks for: one of these lists, all of it.
pub(crate) type Scopes = [Box<[String]>];

/// A method of a path: its name, its scopes, and how its requests are checked, where they are. Equal
/// scopes are one value in a document.
type OfMethod = (&'static str, Arc<Scopes>, Option<Box<Checks>>);

/// The operations of a path.
#[derive(Debug, Clone)]
struct OfPath {
    path: Box<str>,
    methods: Arc<[OfMethod]>,
}

/// An API's operations by path and method.
#[derive(Debug)]
pub(crate) struct Operations {
    router: matchit::Router<OfPath>,
    schemas: Schemas,
}

/// The operation that a request is for.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    path: &'a str,
    method: &'static str,
    pub(crate) scopes: &'a Scopes,
    checks: Option<&'a Checks>,
    schemas: &'a Schemas,
    /// What is in the place of each placeholder, where requests are checked.
    placeholders: Vec<String>,
}

impl Found<'_> {
    /// Returns the name of the operation, `GET /items/{id}`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Checks a request by what the document says, if the API does that.
    ///
    /// # Errors
    ///
    /// 400 with each fault by its path; 415 for a body of another media type.
    pub(crate) async fn check(&self, call: &mut Call) -> Result<(), Problem> {
        let Some(checks) = self.checks else { return Ok(()) };
        let placeholders: Vec<&str> = self.placeholders.iter().map(String::as_str).collect();
        checks.check(self.schemas, call, &placeholders).await
    }
}

impl Operations {
    /// Reads an OpenAPI document in JSON or YAML. Operations that state no security ask for `usual`.
    /// Where requests are to be checked, `checks` says so.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or cannot be checked.
    pub(crate) fn read(text: &str, usual: &[String], checks: bool) -> Result<Self, DocumentError> {
        let document = document::read(text)?;
        Self::compile(&document, usual, checks).map_err(|fault| fault.located(&document, text))
    }

    fn compile<'a>(document: &'a Value, usual: &[String], checks: bool) -> Result<Self, Fault<'a>> {
        let is_openapi = document["openapi"].is_string() || document["swagger"].is_string();
        let paths = document["paths"].as_object().filter(|_| is_openapi);
        let paths = paths.ok_or("it is no OpenAPI document: `openapi` or `paths` is missing")?;
        let is_3 = document["openapi"].as_str().is_some_and(|version| version.starts_with("3."));
        if checks && !is_3 {
            let version = document.get("openapi").or_else(|| document.get("swagger"));
            let message = "requests are checked by documents of OpenAPI 3.0 and 3.1";
            return Err(Fault::at(version.unwrap_or(document), message));
        }
        let mut compiler = Compiler::new(document);
        let mut router = matchit::Router::new();
        let mut known: HashSet<Arc<Scopes>> = HashSet::new();
        for (path, item) in paths {
            // What is not for us may be beside the paths.
            if path.starts_with("x-") {
                continue;
            }
            if !path.starts_with('/') {
                let message = format!("the path {path} does not begin with a slash");
                return Err(Fault::at(item, message));
            }
            let stated = item;
            let item = resolve(document, item)?;
            let names = placeholders(path);
            let mut methods: Vec<OfMethod> = vec![];
            for (member, method) in METHODS {
                let Some(operation) = item.get(member) else { continue };
                let security = operation.get("security").or_else(|| document.get("security"));
                let scopes: Arc<Scopes> = scopes(security, usual).into();
                let scopes = known.get(&scopes).cloned().unwrap_or(scopes);
                known.insert(Arc::clone(&scopes));
                let checks = if checks {
                    let own = Checks::compile(&mut compiler, document, item, operation, &names);
                    let name = || format!("{method} {path}");
                    let own = own.map_err(|fault| fault.or_at(operation).of(&name()))?;
                    Some(Box::new(own))
                } else {
                    None
                };
                methods.push((method, scopes, checks));
            }
            let folded = if path == "/" { path } else { path.trim_end_matches('/') };
            let of_path = OfPath { path: path.as_str().into(), methods: methods.into() };
            router
                .insert(numbered(folded), of_path)
                .map_err(|error| Fault::at(stated, format!("the path {path}: {error}")))?;
        }
        // A copy has no room to spare, which the router has wherever it grew.
        Ok(Self { router: router.clone(), schemas: compiler.done() })
    }

    /// Returns the operation that a request is for.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 with `Allow` for another method; 400 for a path that an upstream
    /// could read as that of another operation, such as `/items/7%2Fsecrets`.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<Found<'_>, Problem> {
        let plain = usual(path);
        let matched = self.at(&plain).ok_or_else(|| {
            Problem::of(Kind::NotFound).detail("This API has no operation at this address.")
        })?;
        let own = matched.value;
        let is_plain = !path.contains(['%', ';']) && !path.contains("//");
        let is_other =
            |path: &str| self.at(path).is_some_and(|other| !std::ptr::eq(other.value, own));
        if !is_plain && is_other(&other(path)) {
            return Err(Problem::of(Kind::BadRequest)
                .detail("The path can be read as that of two operations; write it plainly."));
        }
        let of = |name: &str| own.methods.iter().find(|(method, ..)| *method == name);
        let found = of(method.as_str());
        let found = found.or_else(|| of("GET").filter(|_| *method == Method::HEAD));
        if let Some((method, scopes, checks)) = found {
            let checks = checks.as_deref();
            let texts = matched.params.iter().map(|(_, text)| text.to_owned());
            let placeholders = if checks.is_some() { texts.collect() } else { vec![] };
            let (path, method, schemas) = (&*own.path, *method, &self.schemas);
            return Ok(Found { path, method, scopes, checks, schemas, placeholders });
        }
        let names = names_of(own);
        let allow = HeaderValue::try_from(names.join(", "));
        Err(Problem::of(Kind::MethodNotAllowed)
            .error(format!("{method} is not allowed here; allowed: {}.", names.join(", ")))
            .header(ALLOW, allow.unwrap_or(HeaderValue::from_static(""))))
    }

    /// Returns the methods of a path; none for an unknown path.
    pub(crate) fn methods_at(&self, path: &str) -> Vec<&'static str> {
        let plain = usual(path);
        self.at(&plain).map_or_else(Vec::new, |matched| names_of(matched.value))
    }

    fn at<'p>(&self, path: &'p str) -> Option<Match<'_, 'p, &OfPath>> {
        let path = if path == "/" { path } else { path.trim_end_matches('/') };
        self.router.at(path).ok()
    }
}

/// Returns the methods of a path in order, with those that need not be stated.
fn names_of(own: &OfPath) -> Vec<&'static str> {
    let mut names: Vec<&str> = own.methods.iter().map(|(method, ..)| *method).collect();
    if names.contains(&"GET") && !names.contains(&"HEAD") {
        names.push("HEAD");
    }
    names.sort_unstable();
    names
}

/// Returns the names of the operations of a document: `GET /items/{id}`.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn names(text: &str) -> Result<Vec<String>, String> {
    let document = document::read(text).map_err(|error| error.to_string())?;
    let mut names = vec![];
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let item = resolve(&document, item).map_err(Fault::into_message)?;
        let own = METHODS.iter().filter(|(member, _)| item.get(*member).is_some());
        names.extend(own.map(|(_, method)| format!("{method} {path}")));
    }
    Ok(names)
}

/// What the author of an API should know of its document.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// The operations that everybody may call, as the document says.
    pub(crate) open: Vec<String>,
    /// The operations with media types whose bodies have a schema and are not checked by it.
    pub(crate) unchecked: Vec<String>,
}

/// Looks for what is worth a remark.
///
/// # Errors
///
/// What is wrong with the document.
pub(crate) fn remarks(text: &str) -> Result<Remarks, String> {
    let document = document::read(text).map_err(|error| error.to_string())?;
    let mut remarks = Remarks::default();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let item = resolve(&document, item).map_err(Fault::into_message)?;
        for (member, method) in METHODS {
            let Some(operation) = item.get(member) else { continue };
            let name = format!("{method} {path}");
            let security = operation.get("security").or_else(|| document.get("security"));
            let is_open = |requirement: &Value| requirement.as_object().is_some_and(Map::is_empty);
            if security.and_then(Value::as_array).is_some_and(|all| all.iter().all(is_open)) {
                remarks.open.push(name.clone());
            }
            let Some(body) = operation.get("requestBody") else { continue };
            let body = resolve(&document, body).map_err(Fault::into_message)?;
            let media = body["content"].as_object().into_iter().flatten();
            let unchecked = media.filter(|(media, content)| {
                let schema =
                    content.get("schema").and_then(|schema| resolve(&document, schema).ok());
                schema.is_some_and(says_something) && !is_checked(media)
            });
            let names: Vec<&str> = unchecked.map(|(media, _)| media.as_str()).collect();
            if !names.is_empty() {
                remarks.unchecked.push(format!("{name} ({})", names.join(", ")));
            }
        }
    }
    Ok(remarks)
}

/// Returns whether a schema forbids anything: bytes are bytes.
fn says_something(schema: &Value) -> bool {
    match schema {
        Value::Object(members) if members.is_empty() => false,
        Value::Object(members) => members.get("format").is_none_or(|format| format != "binary"),
        _ => *schema != Value::Bool(true),
    }
}

/// Returns the names of a path's placeholders in their order.
fn placeholders(path: &str) -> Vec<String> {
    let pieces = path.split('{').skip(1);
    pieces.map(|piece| piece.split('}').next().unwrap_or_default().to_owned()).collect()
}

/// Returns a path whose placeholders have names of their own, since two paths of a document may call
/// the same place differently.
fn numbered(path: &str) -> String {
    let mut numbered = String::with_capacity(path.len());
    let (mut rest, mut number) = (path, 0);
    while let Some((before, behind)) = rest.split_once('{') {
        let (_, after) = behind.split_once('}').unwrap_or((behind, ""));
        numbered.push_str(before);
        _ = write!(numbered, "{{p{number}}}");
        number += 1;
        rest = after;
    }
    numbered.push_str(rest);
    numbered
}

fn scopes(security: Option<&Value>, usual: &[String]) -> Vec<Box<[String]>> {
    let Some(requirements) = security.and_then(Value::as_array) else {
        return vec![usual.into()];
    };
    if requirements.is_empty() {
        return vec![Box::default()];
    }
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(|scope| scope.as_str().map(str::to_owned)).collect()
    };
    let all = |requirement: &Value| -> Box<[String]> {
        let schemes = requirement.as_object().into_iter().flat_map(|schemes| schemes.values());
        schemes.flat_map(texts).collect()
    };
    requirements.iter().map(all).collect()
}

/// Returns whether one of the lists of scopes is granted whole.
pub(crate) fn are_granted(asked: &Scopes, granted: &[String]) -> bool {
    asked.iter().any(|list| list.iter().all(|scope| granted.contains(scope)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"openapi": "3.0.3", "security": [{"o": ["all"]}], "paths": {
        "/items": {"get": {"security": [{"o": ["items.read"]}]}, "post": {}},
        "/items/{id}": {"parameters": [], "get": {"security": []}},
        "/items/{item}/parts/{id}": {"delete": {"security": [{"o": ["a", "b"]}, {"k": []}]}}}}"#;

    #[test]
    fn an_operation_is_found_by_method_and_path() {
        let operations = Operations::read(DOCUMENT, &[], false).unwrap();
        let found = |method, path| operations.find(&method, path).map(|found| found.scopes);

        let first = |method, path| found(method, path).unwrap()[0].to_vec();
        assert_eq!(first(Method::GET, "/items"), ["items.read"]);
        assert_eq!(first(Method::HEAD, "/items/"), ["items.read"]);
        assert_eq!(first(Method::POST, "/items"), ["all"]);
        assert!(found(Method::GET, "/items/7").unwrap()[0].is_empty());
        let parts = found(Method::DELETE, "/items/7/parts/x").unwrap();
        assert!(are_granted(parts, &[]), "the second requirement asks for no scope");
        assert_eq!(found(Method::GET, "/nothing").unwrap_err().kind, Kind::NotFound);
        let wrong = found(Method::PUT, "/items").unwrap_err();
        assert_eq!(wrong.kind, Kind::MethodNotAllowed);
        assert_eq!(wrong.headers[0].1, "GET, HEAD, POST");
    }

    #[test]
    fn a_path_belongs_to_one_operation_however_it_is_written() {
        let operations = Operations::read(DOCUMENT, &[], false).unwrap();
        let status = |method, path| {
            let found = operations.find(&method, path);
            found.map_err(|problem| problem.kind.status().as_u16()).map(|found| found.scopes.len())
        };

        assert_eq!(status(Method::GET, "/%69tems"), Ok(1));
        assert_eq!(status(Method::GET, "/items/a%2Fb"), Ok(1), "it has no other operation");
        assert_eq!(status(Method::GET, "/items/7;x=1"), Ok(1), "the same operation");
        for path in ["/items/7%2Fparts%2Fx", "/items/7%5Cparts%5Cx", "/items/;x"] {
            assert_eq!(status(Method::GET, path), Err(400), "{path}");
        }
        assert_eq!(status(Method::GET, "//items"), Err(404));
    }

    #[test]
    fn a_document_may_be_yaml_and_what_is_none_is_refused() {
        let yaml = "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses:\n        200:\n          description: ok\n";
        let operations = Operations::read(yaml, &["usual".to_owned()], true).unwrap();

        let asked = operations.find(&Method::GET, "/a").unwrap();
        assert_eq!(asked.scopes, &[["usual".to_owned()].into()]);
        assert_eq!(names(yaml).unwrap(), [asked.name()]);
        for text in ["", "{}", "[1]", "{\"openapi\":\"3.0.0\"}", "a: [", "{\"openapi\""] {
            assert!(Operations::read(text, &[], false).is_err(), "{text}");
        }
    }

    #[test]
    fn open_operations_and_bodies_that_are_not_checked_are_worth_a_remark() {
        let text = r#"{"openapi": "3.1.0", "security": [{"o": []}], "paths": {"/a": {
            "get": {"security": []}, "put": {"security": [{}, {"o": []}]}, "delete": {},
            "post": {"requestBody": {"content": {
                "application/json": {"schema": {"type": "object"}},
                "text/plain": {"schema": {"maxLength": 5}},
                "multipart/form-data": {"schema": {"type": "object"}},
                "application/xml": {"schema": {}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}}}}"#;

        let found = remarks(text).unwrap();

        assert_eq!(found.open, ["GET /a"]);
        assert_eq!(found.unchecked, ["POST /a (multipart/form-data)"]);
    }

    #[test]
    fn scopes_are_granted_all_of_one_list() {
        let asked = [["a".to_owned(), "b".to_owned()].into(), ["c".to_owned()].into()];
        let granted = |list: &[&str]| {
            are_granted(&asked, &list.iter().map(ToString::to_string).collect::<Vec<_>>())
        };

        assert!(granted(&["b", "a"]) && granted(&["c"]));
        assert!(!granted(&["a"]) && !granted(&[]));
    }
}
