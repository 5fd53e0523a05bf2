use homeroom_http::{BodyLimits, Timestamp};
use homeroom_testkit::call;
use http::{HeaderName, HeaderValue, Method};
use serde_json::json;

use super::*;
use crate::operations::Operations;

fn operations() -> Operations {
    let document = json!({"openapi": "3.0.3", "paths": {
        "/items/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}},
                {"name": "limit", "in": "query", "schema": {"type": "string"}},
            ],
            "get": {"parameters": [
                {"$ref": "#/components/parameters/limit"},
                {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
                {"name": "ids", "in": "query", "explode": false, "schema": {"type": "array", "items": {"type": "integer"}}},
                {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object", "properties": {"min": {"type": "integer"}}, "additionalProperties": false}},
                {"name": "flag", "in": "query", "allowEmptyValue": true, "schema": {"type": "boolean"}},
                {"name": "either", "in": "query", "schema": {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["all"]}]}},
                {"name": "X-Trace", "in": "header", "required": true, "schema": {"type": "string", "format": "uuid"}},
                {"name": "Accept", "in": "header", "required": true, "schema": {"type": "integer"}},
                {"name": "sid", "in": "cookie", "schema": {"type": "string", "minLength": 3}},
                {"name": "json", "in": "query", "content": {"application/json": {"schema": {"type": "object", "required": ["a"]}}}},
            ]},
            "put": {"requestBody": {"required": true, "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Item"}},
                "application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/Item"}},
                "text/*": {}, "text/csv": {"schema": {"maxLength": 5}}, "text/plain": {"schema": {"type": "integer"}},
            }}},
            "post": {"requestBody": {"content": {"application/json": {}}}},
        },
    }, "components": {
        "parameters": {"limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 10}}},
        "schemas": {"Item": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
            "name": {"type": "string", "maxLength": 5}, "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "integer"}},
        }}},
    }});
    Operations::read(&document.to_string(), &[], true).unwrap()
}

const TRACE: (&str, &str) = ("x-trace", "0197d8f1-b434-7f0b-8a3e-7b2c5d6e7f80");

/// Returns the status of a request, and the paths of what is wrong with it.
async fn checked(
    method: Method,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, Vec<String>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut call: Call = call(method, path, Timestamp(0));
    call.query = query.into();
    call.body = RequestBody::Bytes(body.to_owned().into());
    call.body_limits = BodyLimits::of_bytes(1_000);
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        call.headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    let operations = operations();
    let method = call.method.clone();
    let found = operations.find(&method, path).unwrap();
    match found.check(&mut call).await {
        Ok(()) => {
            let left = call.read_body().await.unwrap();
            assert_eq!(left, body.as_bytes(), "the body is there to be passed on");
            (200, vec![])
        }
        Err(problem) => {
            (problem.kind.status().as_u16(), problem.violations.keys().cloned().collect())
        }
    }
}

#[tokio::test]
async fn parameters_are_checked_where_they_are() {
    for (target, headers, paths) in [
        (
            "/items/7?limit=10&tags=1&tags=2&ids=1,2&filter%5Bmin%5D=3&flag=true&other=x",
            &[TRACE][..],
            &[][..],
        ),
        (
            "/items/7?flag=&either=all&json=%7B%22a%22:1%7D",
            &[TRACE, ("cookie", "a=b; sid=abc")],
            &[],
        ),
        ("/items/x", &[TRACE], &["path.id"]),
        ("/items/0?limit=11", &[TRACE], &["path.id", "query.limit"]),
        ("/items/7?limit=ten&either=some", &[TRACE], &["query.either", "query.limit"]),
        ("/items/7?limit=1&limit=2", &[TRACE], &["query.limit"]),
        ("/items/7?tags=1&tags=x", &[TRACE], &["query.tags[1]"]),
        ("/items/7?tags=1&tags=2&tags=3&ids=1,b", &[TRACE], &["query.ids[1]", "query.tags"]),
        (
            "/items/7?filter[min]=x&filter[max]=1",
            &[TRACE],
            &["query.filter.max", "query.filter.min"],
        ),
        ("/items/7?flag=perhaps&json=%7B", &[TRACE], &["query.flag", "query.json"]),
        ("/items/7?json=%7B%7D", &[TRACE, ("cookie", "sid=a")], &["cookie.sid", "query.json.a"]),
        ("/items/7", &[], &["header.X-Trace"]),
        ("/items/7", &[("x-trace", "1")], &["header.X-Trace"]),
        ("/items/7", &[TRACE, TRACE], &["header.X-Trace"]),
        ("/items/%FF", &[TRACE], &["path.id"]),
    ] {
        let (status, found) = checked(Method::GET, target, headers, "").await;

        let wanted = if paths.is_empty() { 200 } else { 400 };
        assert_eq!(
            (status, &found[..]),
            (wanted, &paths.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{target}"
        );
    }
}

#[tokio::test]
async fn bodies_are_checked_by_their_media_types() {
    const JSON: (&str, &str) = ("content-type", "application/json; charset=UTF-8");
    const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
    for (headers, body, status, paths) in [
        (&[JSON][..], "{\"name\": \"a\", \"price\": 1.50}", 200, &[][..]),
        (
            &[JSON],
            "{\"name\": \"abcdef\", \"price\": \"1\", \"more\": 1}",
            400,
            &["$.more", "$.name", "$.price"],
        ),
        (&[JSON], "{}", 400, &["$.name"]),
        (&[JSON], "{\"name\": \"a\", \"name\": 7}", 400, &["$"]),
        (&[JSON], "{\"name\": ", 400, &["$"]),
        (&[JSON], "", 400, &["$"]),
        (&[], "", 400, &["$"]),
        (&[], "{}", 415, &[]),
        (&[("content-type", "application/xml")], "<a/>", 415, &[]),
        (&[("content-type", "application/json; charset=latin1")], "{}", 415, &[]),
        (&[JSON, ("content-encoding", "gzip")], "{}", 415, &[]),
        (&[("content-type", "text/csv")], "toolong", 400, &["$"]),
        (&[("content-type", "text/csv; charset=latin1")], "a,b", 415, &[]),
        (&[("content-type", "text/plain")], "7", 200, &[]),
        (&[("content-type", "text/plain")], "seven", 400, &["$"]),
        (&[("content-type", "text/html; charset=latin1")], "toolong", 200, &[]),
        (&[("content-type", "text/csv")], "a,b", 200, &[]),
        (&[FORM], "name=7&price=1.5&tags=1&tags=2", 200, &[]),
        (&[FORM], "name=abc&price=x&tags=y", 400, &["$.price", "$.tags[0]"]),
        (&[FORM], "name=a&name=b", 400, &["$"]),
    ] {
        let found = checked(Method::PUT, "/items/7", headers, body).await;

        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        assert_eq!(found, (status, paths), "{headers:?} {body}");
    }
    assert_eq!(checked(Method::POST, "/items/7", &[], "").await.0, 200, "it may be left out");
    assert_eq!(checked(Method::POST, "/items/7", &[JSON], "[1]").await.0, 200, "any JSON");
}

#[test]
fn a_document_by_which_requests_cannot_be_checked_is_refused() {
    let of = |version: &str, parameter: Value| {
        let document =
            json!({"openapi": version, "paths": {"/a/{b}": {"get": {"parameters": [parameter]}}}});
        Operations::read(&document.to_string(), &[], true).unwrap_err().to_string()
    };

    for (parameter, told) in [
        (json!({"in": "query"}), "has no name"),
        (json!({"name": "c", "in": "path"}), "no such placeholder"),
        (json!({"name": "c", "in": "body"}), "it is in path"),
        (json!({"name": "b", "in": "path", "style": "matrix"}), "the style matrix"),
        (json!({"name": "c", "in": "query", "schema": {"type": "x"}}), "no type"),
    ] {
        let error = of("3.1.0", parameter);
        let place = ": #/paths/~1a~1{b}/get/parameters/0";
        assert!(error.starts_with("line 1, column ") && error.contains(place), "{error}");
        assert!(error.contains(": GET /a/{b}: ") && error.contains(told), "{error}");
    }
    let swagger = r#"{"swagger": "2.0", "paths": {}}"#;
    assert!(Operations::read(swagger, &[], true).is_err());
    assert!(Operations::read(swagger, &[], false).is_ok());
}
