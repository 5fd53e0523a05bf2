//! Parts of OpenAPI documents: the operations under some tags, and what these refer to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::nearest::nearest;
use crate::problem::{Kind, Problem};
use crate::query::Query;

/// Most tags of one part.
pub const TAGS_MAX: usize = 50;

/// Returns the tags that a request asks for with `?tags=students,sections`, as indices into `known`
/// in ascending order. Names match in any case. Without the parameter the result is [`None`].
///
/// # Errors
///
/// 400 that names each unknown tag with the nearest known ones; also for no tag at all, or for more
/// than [`TAGS_MAX`].
pub fn asked_tags(query: &Query, known: &[&str]) -> Result<Option<Vec<usize>>, Problem> {
    let lists = query.iter().filter(|(name, _)| name.eq_ignore_ascii_case("tags"));
    let mut lists = lists.map(|(_, list)| list).peekable();
    if lists.peek().is_none() {
        return Ok(None);
    }
    let names = lists.flat_map(|list| list.split(','));
    let names: BTreeSet<&str> = names.map(str::trim).filter(|name| !name.is_empty()).collect();
    let refused = || Problem::of(Kind::ParameterValidationFailed);
    if names.is_empty() {
        return Err(refused()
            .error("tags names no tag.")
            .hint("Name one or more, separated by commas, or leave the parameter out."));
    }
    if names.len() > TAGS_MAX {
        return Err(refused()
            .error(format!("tags names {} tags; at most {TAGS_MAX} are allowed.", names.len()))
            .hint("Ask for the whole document, or for several parts."));
    }
    let (mut found, mut unknown) = (BTreeSet::new(), vec![]);
    for name in names {
        match known.iter().position(|tag| tag.eq_ignore_ascii_case(name)) {
            Some(at) => _ = found.insert(at),
            None => unknown.push(name),
        }
    }
    if unknown.is_empty() {
        return Ok(Some(found.into_iter().collect()));
    }
    let problem = refused().hint("The tags of the whole document are known.");
    Err(unknown.into_iter().fold(problem, |problem, name| {
        let shown: String = name.chars().take(100).collect();
        let near = nearest(name, known.iter().copied());
        problem.error(match near[..] {
            [] => format!("There is no tag {shown}."),
            _ => format!("There is no tag {shown}; did you mean {}?", near.join(", ")),
        })
    }))
}

/// Returns the names of a document's tags, in its order.
pub fn tags_of(document: &Value) -> Vec<&str> {
    let tags = document["tags"].as_array().into_iter().flatten();
    tags.filter_map(|tag| tag["name"].as_str()).collect()
}

/// Returns the part of a document that these tags make up: their operations, and the schemas,
/// parameters, responses, headers and security schemes to which these lead. What no operation of the
/// whole document refers to by its tags (title, servers, `security`) stays.
pub fn part(document: &Value, tags: &[&str]) -> Value {
    let has_tag = |value: &Value| value.as_str().is_some_and(|name| tags.contains(&name));
    let mut part = Map::new();
    for (name, member) in document.as_object().into_iter().flatten() {
        let kept = match name.as_str() {
            "tags" => {
                let all = member.as_array().into_iter().flatten();
                all.filter(|tag| has_tag(&tag["name"])).cloned().collect()
            }
            "paths" => {
                let all = member.as_object().into_iter().flatten();
                let own = all.filter_map(|(path, item)| {
                    let item = operations(item, &has_tag)?;
                    Some((path.clone(), item))
                });
                own.collect::<Map<_, _>>().into()
            }
            "components" => continue,
            _ => member.clone(),
        };
        part.insert(name.clone(), kept);
    }
    let mut part = Value::Object(part);
    if let Some(components) = document.get("components") {
        part["components"] = reachable(&part, document, components);
    }
    part
}

/// Returns a path's operations under the tags, with what they share; [`None`] where there is none.
fn operations(item: &Value, has_tag: &impl Fn(&Value) -> bool) -> Option<Value> {
    let is_operation = |member: &Value| member.get("responses").is_some();
    let is_own =
        |member: &Value| member["tags"].as_array().is_some_and(|tags| tags.iter().any(has_tag));
    let members = item.as_object()?.iter();
    let kept: Map<String, Value> = members
        .filter(|(_, member)| !is_operation(member) || is_own(member))
        .map(|(name, member)| (name.clone(), member.clone()))
        .collect();
    kept.values().any(is_operation).then(|| kept.into())
}

/// Returns those components to which a part leads, in the document's order. Security schemes are
/// named and not referred to, so all of them stay.
fn reachable(part: &Value, document: &Value, components: &Value) -> Value {
    let mut found = BTreeSet::new();
    let mut open = vec![part];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref")
                    && let Some(pointer) = target.strip_prefix('#')
                    && found.insert(pointer)
                {
                    open.extend(document.pointer(pointer));
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    let kinds = components.as_object().into_iter().flatten();
    let kept = kinds.map(|(kind, all)| {
        let is_kept = |name: &String| {
            kind == "securitySchemes"
                || found.contains(format!("/components/{kind}/{name}").as_str())
        };
        let all = all.as_object().into_iter().flatten();
        let all = all.filter(|(name, _)| is_kept(name));
        (kind.clone(), all.map(|(n, v)| (n.clone(), v.clone())).collect::<Map<_, _>>().into())
    });
    kept.collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(query: &str) -> Result<Option<Vec<usize>>, Vec<String>> {
        let query = Query::read(query).unwrap();
        asked_tags(&query, &["students", "sections", "schools"]).map_err(|p| p.errors.clone())
    }

    #[test]
    fn tags_are_found_in_any_case_and_order() {
        for (query, expected) in [
            ("", None),
            ("limit=5", None),
            ("tags=sections", Some(vec![1])),
            ("Tags=Schools,%20students,", Some(vec![0, 2])),
            ("tags=schools&tags=students,schools", Some(vec![0, 2])),
        ] {
            assert_eq!(asked(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn an_unknown_tag_is_refused_with_the_nearest() {
        assert_eq!(
            asked("tags=student,zebra,schools"),
            Err(vec![
                "There is no tag student; did you mean students?".into(),
                "There is no tag zebra.".into()
            ])
        );
    }

    #[test]
    fn no_tag_and_too_many_tags_are_refused() {
        assert_eq!(asked("tags=,"), Err(vec!["tags names no tag.".into()]));
        let many: Vec<String> = (0..=TAGS_MAX).map(|at| format!("t{at}")).collect();
        let wrong = asked(&format!("tags={}", many.join(","))).unwrap_err();
        assert_eq!(wrong, ["tags names 51 tags; at most 50 are allowed."]);
    }

    #[test]
    fn a_part_has_its_operations_and_all_that_they_lead_to() {
        let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let operation = |tag: &str, schema: &str| json!({ "tags": [tag], "responses": to(schema) });
        let document = json!({
            "openapi": "3.0.1",
            "tags": [{ "name": "a" }, { "name": "b" }],
            "paths": {
                "/a": { "get": operation("a", "one"), "put": operation("b", "two") },
                "/b": { "get": operation("b", "two"), "parameters": [] },
            },
            "components": {
                "schemas": {
                    "one": { "properties": { "inner": to("inner") } },
                    "inner": { "properties": { "again": to("one") } },
                    "two": {},
                },
                "securitySchemes": { "token": {} },
            },
        });

        let part = part(&document, &["a"]);

        assert_eq!(tags_of(&part), ["a"]);
        assert_eq!(part["openapi"], "3.0.1");
        assert_eq!(part["paths"], json!({ "/a": { "get": operation("a", "one") } }));
        let schemas = part["components"]["schemas"].as_object().unwrap();
        assert_eq!(schemas.keys().collect::<Vec<_>>(), ["one", "inner"]);
        assert!(part["components"]["securitySchemes"]["token"].is_object());
    }
}
