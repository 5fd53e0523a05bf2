use serde_json::{Value, json};

use super::*;

/// Returns paths of the faults of a value.
fn faults_of(version: &str, schema: &Value, value: &Value) -> Vec<String> {
    let document = json!({"openapi": version, "components": {"schemas": {
        "Tree": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        }},
        "Loop": {"$ref": "#/components/schemas/Loop"},
    }}});
    let mut compiler = Compiler::new(&document);
    let at = compiler.schema(schema).unwrap();
    let schemas = compiler.done();
    let mut faults = Faults::of(0);
    let fits = schemas.check(at, value, &mut "$".to_owned(), &mut faults);
    assert_eq!(fits, faults.is_empty(), "{schema} {value}: {faults:?}");
    faults.found.into_iter().map(|(path, _)| path).collect()
}

#[test]
fn each_keyword_is_checked() {
    for (schema, fits, not) in [
        (json!({"type": "integer"}), json!([1, -1, 2.0]), json!([1.5, "1", null, true])),
        (json!({"type": "number"}), json!([1, 1.5]), json!(["1", null])),
        (json!({"type": ["string", "null"]}), json!(["", null]), json!([1])),
        (json!({"enum": [1, "a", null]}), json!([1, 1.0, "a", null]), json!([2, "b"])),
        (json!({"const": {"a": [1]}}), json!([{"a": [1.0]}]), json!([{"a": []}])),
        (json!({"minimum": 1, "maximum": 3}), json!([1, 3, "x"]), json!([0, 3.1])),
        (json!({"exclusiveMinimum": 1, "exclusiveMaximum": 3}), json!([2]), json!([1, 3])),
        (json!({"multipleOf": 0.01}), json!([0.07, 19.99, 3]), json!([0.075, 12_345_678_901.005])),
        (
            json!({"multipleOf": 5}),
            json!([0, -10, 15.0, 1_663_645_858_815_410_i64, 18_446_744_073_709_551_610_u64]),
            json!([3, 2.5, 1_663_645_858_815_411_i64, 18_446_744_073_709_551_611_u64, 1e-9]),
        ),
        (json!({"minLength": 2, "maxLength": 3}), json!(["éé", "abc", 1]), json!(["é", "abcd"])),
        (json!({"pattern": "^a+$"}), json!(["aa", 1]), json!(["b", ""])),
        (json!({"format": "date"}), json!(["2026-01-01", 1]), json!(["2026"])),
        (json!({"items": {"type": "string"}}), json!([["a"], [], 1]), json!([[1]])),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!([["a"], []]),
            json!([[1], ["a", 1]]),
        ),
        (json!({"minItems": 1, "maxItems": 2}), json!([[1], [1, 2]]), json!([[], [1, 2, 3]])),
        (
            json!({"uniqueItems": true}),
            json!([[1, 2, "1"]]),
            json!([[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]),
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            json!([[1, 2]]),
            json!([[2], [1, 1]]),
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!([{"a": ""}, {}]),
            json!([{"a": 1}, {"b": 1}]),
        ),
        (
            json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            json!([{"x-a": ""}]),
            json!([{"x-a": 1}, {"y": ""}]),
        ),
        (json!({"propertyNames": {"maxLength": 1}}), json!([{"a": 1}]), json!([{"ab": 1}])),
        (json!({"required": ["a"]}), json!([{"a": null}, 1]), json!([{}])),
        (
            json!({"minProperties": 1, "maxProperties": 1}),
            json!([{"a": 1}]),
            json!([{}, {"a": 1, "b": 1}]),
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!([{"a": 1, "b": 1}, {}]),
            json!([{"a": 1}]),
        ),
        (
            json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
            json!([{"b": 1}]),
            json!([{"a": 1}]),
        ),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!([1]), json!([0, 3])),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), json!(["a", 6]), json!([4])),
        (json!({"oneOf": [{"minimum": 1}, {"maximum": 2}]}), json!([0, 3]), json!([1])),
        (json!({"not": {"type": "string"}}), json!([1]), json!(["a"])),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
            json!([{"a": 1, "b": 1}, {"c": 1}]),
            json!([{"a": 1}, {}]),
        ),
        (
            json!({"$ref": "#/components/schemas/Tree"}),
            json!([{"name": "a", "children": [{"name": "b"}]}]),
            json!([{}, {"name": "a", "children": [{}]}]),
        ),
        (json!(false), json!([]), json!([1])),
        (json!(true), json!([1, null]), json!([])),
        (
            json!({"required": ["id"], "properties": {"id": {"readOnly": true}}}),
            json!([{}]),
            json!([]),
        ),
    ] {
        for value in fits.as_array().unwrap() {
            assert_eq!(faults_of("3.1.0", &schema, value), [""; 0], "{schema} {value}");
        }
        for value in not.as_array().unwrap() {
            assert!(!faults_of("3.1.0", &schema, value).is_empty(), "{schema} {value}");
        }
    }
}

#[test]
fn a_number_beside_a_bound_is_on_its_own_side() {
    for (schema, text, fits) in [
        (json!({"exclusiveMaximum": 100}), "99.99999999999999", true),
        (json!({"maximum": 100}), "100.00000000000001", false),
        (json!({"exclusiveMinimum": 100}), "100.00000000000001", true),
        (json!({"minimum": 100}), "99.99999999999999", false),
    ] {
        let value = crate::unique_json::read(text.as_bytes()).unwrap();

        assert_eq!(faults_of("3.1.0", &schema, &value).is_empty(), fits, "{schema} {text}");
    }
}

#[test]
fn openapi_3_0_has_rules_of_its_own() {
    let nullable = json!({"type": "string", "nullable": true});
    let exclusive = json!({"minimum": 1, "exclusiveMinimum": true});
    let beside = json!({"$ref": "#/components/schemas/Tree", "maxProperties": 0});
    let of = |version, schema: &Value, value| faults_of(version, schema, &value).is_empty();

    assert!(of("3.0.3", &nullable, json!(null)) && !of("3.1.0", &nullable, json!(null)));
    assert!(!of("3.0.3", &exclusive, json!(1)) && of("3.0.3", &exclusive, json!(1.5)));
    let tree = json!({"name": "a"});
    assert!(of("3.0.3", &beside, tree.clone()) && !of("3.1.0", &beside, tree));
}

#[test]
fn faults_have_the_path_of_what_is_wrong() {
    let schema = json!({"properties": {"list": {"items": {"$ref": "#/components/schemas/Tree"}}, "a b": {"type": "string"}}});
    let value = json!({"list": [{"name": "a"}, {"children": [{"name": 1}]}], "a b": 7});

    let paths = faults_of("3.1.0", &schema, &value);

    assert_eq!(paths, ["$.list[1].name", "$.list[1].children[0].name", "$[\"a b\"]"]);
}

#[test]
fn what_would_take_for_ever_is_refused() {
    let paths = faults_of("3.1.0", &json!({"$ref": "#/components/schemas/Loop"}), &json!(1));
    assert_eq!(paths, ["$"]);

    // Each level asks the next one twice.
    let mut levels = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/levels/{}", level + 1)});
        levels.insert(level.to_string(), json!({"anyOf": [next, next]}));
    }
    levels.insert("40".into(), json!({"type": "string"}));
    let document = json!({"openapi": "3.1.0", "levels": levels});
    let first = json!({"$ref": "#/levels/0"});
    let mut compiler = Compiler::new(&document);
    let at = compiler.schema(&first).unwrap();
    let mut faults = Faults::of(0);
    assert!(!compiler.done().check(at, &json!(1), &mut "$".to_owned(), &mut faults));
    assert!(faults.found.iter().any(|(_, told)| told.contains("too large")), "{faults:?}");
}

#[test]
fn what_cannot_be_checked_is_told_when_it_is_compiled() {
    for (schema, told) in [
        (json!({"$ref": "other.json"}), "leads out of the document"),
        (json!({"$ref": "#/components/schemas/None"}), "leads to nothing"),
        (json!({"type": "text"}), "no type"),
        (json!({"pattern": "(?=a)"}), "cannot be checked"),
        (json!({"unevaluatedProperties": false}), "unevaluatedProperties"),
        (json!({"properties": {"a": 7}}), "a schema is an object"),
        (json!({"allOf": 7}), "allOf is a list"),
    ] {
        let document = json!({"openapi": "3.1.0"});
        let error = Compiler::new(&document).schema(&schema).unwrap_err().into_message();
        assert!(error.contains(told), "{schema}: {error}");
    }
}
