//! Broken extensions: each is reported with its place, the fault and a remedy.

use homeroom_model::import::{Text, import_extension};
use homeroom_model::{Source, format, link};
use serde_json::{Value, json};

/// A standard to extend.
const CORE: &str = "\
standard Ed-Fi ed-fi 5.2.0

descriptors
  @ codeValue text(1..50)
  @ namespace text(1..255)

abstract Organization
  @ organizationId int64

descriptor GradeDescriptor gradeDescriptors

resource School schools
  base Organization organizationId=schoolId
  @ schoolId int64

resource Student students
  @ studentUniqueId text(1..32)
  ? addresses []
    @ city text(1..30)
";

fn core() -> Vec<Source> {
    vec![format::read(CORE).unwrap()]
}

fn text(max: u32) -> Value {
    json!({"type": "string", "maxLength": max})
}

/// Returns an extension without faults.
fn right() -> Value {
    json!({ "projectSchema": {
        "isExtensionProject": true,
        "projectName": "Mine", "projectEndpointName": "mine", "projectVersion": "1.0.0",
        "compatibleDsRange": "5.2.0",
        "resourceSchemas": {
            "colorDescriptors": {
                "resourceName": "ColorDescriptor", "isDescriptor": true,
                "jsonSchemaForInsert": {
                    "properties": {"codeValue": text(50), "namespace": text(255)},
                    "required": ["codeValue", "namespace"],
                },
            },
            "buses": {
                "resourceName": "Bus", "identityJsonPaths": ["$.busId"],
                "jsonSchemaForInsert": {
                    "properties": {"busId": text(60)}, "required": ["busId"],
                },
            },
            "rides": {
                "resourceName": "Ride",
                "identityJsonPaths": ["$.busReference.busId", "$.studentReference.studentUniqueId"],
                "arrayUniquenessConstraints": [{"paths": ["$.stops[*].stop"]}],
                "decimalPropertyValidationInfos": [
                    {"path": "$.distance", "totalDigits": 5, "decimalPlaces": 2}
                ],
                "documentPathsMapping": {
                    "Bus": {
                        "isReference": true, "projectName": "Mine", "resourceName": "Bus",
                        "referenceJsonPaths": [{
                            "identityJsonPath": "$.busId",
                            "referenceJsonPath": "$.busReference.busId",
                        }],
                    },
                    "Student": {
                        "isReference": true, "projectName": "Ed-Fi", "resourceName": "Student",
                        "referenceJsonPaths": [{
                            "identityJsonPath": "$.studentUniqueId",
                            "referenceJsonPath": "$.studentReference.studentUniqueId",
                        }],
                    },
                    "Color": {
                        "isReference": true, "isDescriptor": true, "path": "$.colorDescriptor",
                        "projectName": "Mine", "resourceName": "ColorDescriptor",
                    },
                },
                "jsonSchemaForInsert": {
                    "properties": {
                        "busReference": {"type": "object", "properties": {"busId": text(60)}},
                        "colorDescriptor": text(306),
                        "distance": {"type": "number"},
                        "stops": {"type": "array", "items": {
                            "type": "object",
                            "properties": {"note": text(20), "stop": {"type": "integer"}},
                        }},
                        "studentReference": {
                            "type": "object", "properties": {"studentUniqueId": text(32)},
                        },
                    },
                    "required": ["busReference", "studentReference"],
                },
            },
            "students": {
                "resourceName": "Student", "isResourceExtension": true,
                "jsonSchemaForInsert": {"properties": {
                    "_ext": {"properties": {"mine": {"properties": {
                        "nickname": text(20),
                    }}}},
                    "addresses": {"type": "array", "items": {"type": "object", "properties": {
                        "_ext": {"properties": {"mine": {
                            "properties": {"onBusRoute": {"type": "boolean"}},
                            "required": ["onBusRoute"],
                        }}},
                    }}},
                }},
            },
        },
    } })
}

#[test]
fn a_valid_extension_becomes_a_model_file() {
    let document = right().to_string();

    let imported = import_extension(Text { file: "mine.json", text: &document }, &core()).unwrap();

    assert_eq!(
        format::write(&imported.source),
        "\
standard Mine mine 1.0.0
extends ed-fi 5.2.0

descriptor ColorDescriptor colorDescriptors

resource Bus buses
  @ busId text(1..60)

resource Ride rides
  @ busReference -> Bus(busId)
  ? colorDescriptor descriptor ColorDescriptor
  ? distance decimal(5,2)
  ? stops []
    ? note text(0..20)
    @ stop int32
  @ studentReference -> Student(studentUniqueId)

extension Student
  ? nickname text(0..20)
  in addresses
    ! onBusRoute boolean
"
    );
}

/// A change to [`right`]: a JSON pointer and the new value; null removes the member.
type Edit = (&'static str, Value);

/// Returns [`right`] with the value at a pointer below `/projectSchema` replaced.
fn edited((pointer, value): &Edit) -> Value {
    let mut document = right();
    let (owner, name) = pointer.rsplit_once('/').unwrap();
    let owner = document.pointer_mut(&format!("/projectSchema{owner}")).unwrap();
    match (owner, name.parse::<usize>()) {
        (Value::Array(items), Ok(at)) => items[at] = value.clone(),
        (Value::Object(members), _) if value.is_null() => _ = members.remove(name).unwrap(),
        (owner, _) => owner[name] = value.clone(),
    }
    document
}

/// An edit, the place that the message must name, and words that it must contain.
type Row = (Edit, &'static str, &'static str);

/// Faults in the project, its resources' names and bases.
fn projects() -> Vec<Row> {
    let subclass = |name: &str| {
        json!({
            "resourceName": "Bus", "identityJsonPaths": ["$.busId"], "isSubclass": true,
            "superclassProjectName": "Ed-Fi", "superclassResourceName": name,
            "jsonSchemaForInsert": {"properties": {"busId": text(60)}, "required": ["busId"]},
        })
    };
    vec![
        (
            ("/isExtensionProject", json!(false)),
            "$.projectSchema.isExtensionProject",
            "must be true",
        ),
        (("/projectName", json!(null)), "$.projectSchema.projectName", "must be a string"),
        (("/projectName", json!("My ext")), "$.projectSchema.projectName", "letters, digits"),
        (("/projectEndpointName", json!("ed-fi")), "projectEndpointName", "one of its own"),
        (("/projectEndpointName", json!("Mine")), "projectEndpointName", "lower-case letters"),
        (("/projectEndpointName", json!("services")), "projectEndpointName", "taken"),
        (("/projectEndpointName", json!("-mine")), "projectEndpointName", "a letter"),
        (("/projectVersion", json!("one two")), "projectVersion", "such as 1.0.0"),
        (("/compatibleDsRange", json!("4.0.0")), "compatibleDsRange", "the model is of 5.2.0"),
        (("/resourceSchemas", json!([])), "$.projectSchema.resourceSchemas", "must be an object"),
        (
            ("/resourceSchemas/buses/resourceName", json!(null)),
            "resourceSchemas.buses.resourceName",
            "needs a name",
        ),
        (
            ("/resourceSchemas/rides/resourceName", json!("bus")),
            "resourceName",
            "name of two resources",
        ),
        (
            ("/resourceSchemas/buses/resourceName", json!("My Bus")),
            "resourceSchemas.buses.resourceName",
            "not a name",
        ),
        (
            ("/resourceSchemas/my-buses", json!({"resourceName": "My"})),
            "resourceSchemas.my-buses",
            "not an endpoint",
        ),
        (
            ("/resourceSchemas/buses", subclass("Vehicle")),
            "resourceSchemas.buses.superclassResourceName",
            "there are Organization",
        ),
        (
            ("/resourceSchemas/buses", subclass("Student")),
            "resourceSchemas.buses.superclassResourceName",
            "not an abstract base",
        ),
        (("/resourceSchemas/buses", subclass("Organization")), "mine/Bus", "organizationId"),
        (
            ("/resourceSchemas/students/resourceName", json!("Pupil")),
            "resourceSchemas.students.resourceName",
            "isResourceExtension",
        ),
    ]
}

/// Faults in the targets of references and descriptors.
fn references() -> Vec<Row> {
    vec![
        (
            ("/resourceSchemas/rides/documentPathsMapping/Bus/resourceName", json!("Train")),
            "documentPathsMapping.Bus.resourceName",
            "add the resource",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Bus/resourceName", json!(null)),
            "documentPathsMapping.Bus.resourceName",
            "say what is referred to",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Bus/projectName", json!("TPDM")),
            "documentPathsMapping.Bus.resourceName",
            "not loaded",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Bus/projectName", json!("Ed-Fi")),
            "documentPathsMapping.Bus.resourceName",
            "correct projectName",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Student/projectName", json!("Mine")),
            "documentPathsMapping.Student.resourceName",
            "ed-fi/Student has",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Bus", json!(null)),
            "properties.busReference",
            "documentPathsMapping needs an entry",
        ),
        (
            (
                "/resourceSchemas/rides/documentPathsMapping/Bus/referenceJsonPaths/0/identityJsonPath",
                json!("$.number"),
            ),
            "documentPathsMapping.Bus.referenceJsonPaths",
            "that is $.busId",
        ),
        (
            (
                "/resourceSchemas/rides/documentPathsMapping/Bus/referenceJsonPaths/0/referenceJsonPath",
                json!("$.busId"),
            ),
            "referenceJsonPaths[0].referenceJsonPath",
            "member of a reference",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Color/resourceName", json!("Hue")),
            "documentPathsMapping.Color.resourceName",
            "has no `Hue`",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Color", json!(null)),
            "properties.colorDescriptor",
            "its descriptor",
        ),
        (
            ("/resourceSchemas/rides/documentPathsMapping/Color/path", json!("$.hueDescriptor")),
            "documentPathsMapping.Color",
            "no member",
        ),
    ]
}

/// Faults in members, types, keys, and additions of an extension.
fn members() -> Vec<Row> {
    let circle = json!({"buses": {
        "resourceName": "Bus", "identityJsonPaths": ["$.busReference.busId"],
        "documentPathsMapping": {"Bus": {
            "isReference": true, "projectName": "Mine", "resourceName": "Bus",
            "referenceJsonPaths": [{
                "identityJsonPath": "$.busReference.busId",
                "referenceJsonPath": "$.busReference.busId",
            }],
        }},
        "jsonSchemaForInsert": {
            "properties": {"busReference": {"type": "object"}}, "required": ["busReference"],
        },
    }});
    vec![
        (
            ("/resourceSchemas/buses/jsonSchemaForInsert/properties/a'b", text(1)),
            "resourceSchemas.buses.jsonSchemaForInsert.properties.a'b",
            "not a name",
        ),
        (
            ("/resourceSchemas/buses/queryFieldMapping", json!({"a;b": [{"path": "$.busId"}]})),
            "resourceSchemas.buses.queryFieldMapping.a;b",
            "not a name",
        ),
        (
            ("/resourceSchemas/buses/jsonSchemaForInsert/required", json!(null)),
            "resourceSchemas.buses.identityJsonPaths[0]",
            "must be required",
        ),
        (
            ("/resourceSchemas/buses/identityJsonPaths/0", json!("$.number")),
            "resourceSchemas.buses.identityJsonPaths[0]",
            "no member `number`",
        ),
        (
            ("/resourceSchemas/buses/identityJsonPaths", json!([])),
            "resourceSchemas.buses.identityJsonPaths",
            "at least one value",
        ),
        (
            ("/resourceSchemas/rides/identityJsonPaths/0", json!("$.stops[*].stop")),
            "resourceSchemas.rides.identityJsonPaths[0]",
            "nothing else",
        ),
        (
            ("/resourceSchemas/buses/jsonSchemaForInsert/properties/busId/type", json!("float")),
            "properties.busId.type",
            "there are string, integer",
        ),
        (
            ("/resourceSchemas/buses/jsonSchemaForInsert", json!({})),
            "resourceSchemas.buses.jsonSchemaForInsert.properties",
            "object of members",
        ),
        (
            (
                "/resourceSchemas/rides/jsonSchemaForInsert/properties/stops/items",
                json!({"type": "string"}),
            ),
            "properties.stops.items.type",
            "must be objects",
        ),
        (
            ("/resourceSchemas/rides/decimalPropertyValidationInfos", json!([])),
            "properties.distance",
            "totalDigits",
        ),
        (
            ("/resourceSchemas/rides/decimalPropertyValidationInfos/0/totalDigits", json!(99)),
            "properties.distance",
            "maximum is 38",
        ),
        (
            ("/resourceSchemas/rides/arrayUniquenessConstraints/0/paths/0", json!("$.stops[*].no")),
            "properties.stops.items.properties",
            "has no `no`",
        ),
        (
            ("/resourceSchemas/buses/jsonSchemaForInsert/properties/busId/maxLength", json!(0)),
            "properties.busId.maxLength",
            "correct one of the two",
        ),
        (
            (
                "/resourceSchemas/students/jsonSchemaForInsert/properties/_ext/properties",
                json!({"yours": {"properties": {"a": {"type": "boolean"}}}}),
            ),
            "properties._ext.properties.yours",
            "stand under `mine`",
        ),
        (
            ("/resourceSchemas/students/jsonSchemaForInsert/properties", json!({})),
            "resourceSchemas.students.jsonSchemaForInsert.properties",
            "adds nothing",
        ),
        (
            ("/resourceSchemas/students/identityJsonPaths", json!(["$._ext.mine.nickname"])),
            "resourceSchemas.students.identityJsonPaths[0]",
            "leave it out",
        ),
        (
            (
                "/resourceSchemas/students/jsonSchemaForInsert/properties/houses",
                json!({"properties": {"_ext": {"properties": {"mine": {
                    "properties": {"a": {"type": "boolean"}}}}}}}),
            ),
            "mine/Student",
            "`houses` is not an object or collection",
        ),
        (("/resourceSchemas", circle), "mine/Bus", "cycle"),
    ]
}

#[test]
fn a_fault_is_reported_with_its_place_and_a_remedy() {
    let mut wrong = vec![];
    for (edit, place, part) in projects().into_iter().chain(references()).chain(members()) {
        let document = edited(&edit).to_string();

        let problems = import_extension(Text { file: "mine.json", text: &document }, &core());

        let lines: Vec<String> =
            problems.err().unwrap_or_default().iter().map(ToString::to_string).collect();
        let is_said = lines.iter().any(|line| {
            line.starts_with("mine.json: ") && line.contains(place) && line.contains(part)
        });
        if !is_said {
            wrong.push(format!("{edit:?}: {lines:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_was_cut_off_is_named_with_its_line() {
    let document = serde_json::to_string_pretty(&right()).unwrap();
    let cut = &document[..document.len() / 2];

    let problems = import_extension(Text { file: "mine.json", text: cut }, &core()).unwrap_err();

    let line = problems[0].to_string();
    assert!(line.starts_with("mine.json: line ") && line.contains("cut off"), "{line}");
    let nothing = import_extension(Text { file: "mine.json", text: "{}" }, &core()).unwrap_err();
    assert!(nothing[0].to_string().contains("projectSchema"), "{}", nothing[0]);
}

#[test]
fn a_model_file_that_contradicts_the_standard_is_refused_with_the_resource() {
    let head = "standard Mine mine 1.0.0\nextends ed-fi 5.2.0\n";
    for (text, resource, part) in [
        ("standard Mine mine 1.0.0\n", "mine", "extends ed-fi 5.2.0"),
        ("standard Mine mine 1.0.0\nextends ed-fi 4.0.0\n", "mine", "the standard is ed-fi 5.2.0"),
        ("standard Mine ed-fi 1.0.0\nextends ed-fi 5.2.0\n", "ed-fi", "loaded once"),
        ("extension Pupil\n  ? a boolean\n", "mine/Pupil", "nothing is named"),
        ("extension Organization\n  ? a boolean\n", "mine/Organization", "subclasses"),
        ("extension Student\n  @ a boolean\n", "mine/Student", "write ! or ?"),
        ("extension Student\n  in houses\n    ? a boolean\n", "mine/Student", "houses"),
        ("extension Student\n  ? a boolean\n  ? A boolean\n", "mine/Student", "twice"),
        (
            "extension Student\n  ? _ext {}\n    ? a boolean\n",
            "mine/Student",
            "reserved for extensions",
        ),
        (
            "extension Student\n  ? a boolean\nextension Student\n  ? b boolean\n",
            "mine/Student",
            "join the two",
        ),
        ("resource A as\n  @ a boolean\nextension mine/A\n  ? b boolean\n", "mine/A", "its own"),
        ("resource A as\n  @ a boolean\nresource A bs\n  @ a boolean\n", "mine/A", "twice"),
        ("resource A as\n  @ bReference -> B(b)\n", "mine/A", "nothing is named `B`"),
        ("resource A as\n  @ sReference -> ed-fi/student(s)\n", "mine/A", "ed-fi/Student"),
        ("resource A as\n  ? a boolean\n", "mine/A", "no key"),
        ("resource A as\n  @ aReference -> A(a)\n", "mine/A", "cycle"),
        ("resource A as\n  @ sReference -> Student(a, b)\n", "mine/A", "2 members"),
        ("resource A as\n  @ a descriptor Student\n", "mine/A", "not a descriptor"),
        ("resource A as\n  base Student\n  @ a boolean\n", "mine/A", "not an abstract base"),
        ("resource A as\n  base Organization\n  @ a int64\n", "mine/A", "organizationId"),
        ("resource A as\n  subject Student b\n  @ a boolean\n", "mine/A", "no root column"),
        ("resource A as\n  unified a b\n  @ a boolean\n", "mine/A", "not a place"),
        ("resource A.B as\n  @ a boolean\n", "mine/A.B", "not a name of a resource"),
        ("resource A ../as\n  @ a boolean\n", "mine/A", "endpoint"),
        ("resource A as\n  element <A\n  @ a boolean\n", "mine/A", "element"),
        ("resource A as\n  interchanges ../I\n  @ a boolean\n", "mine/A", "interchange"),
        ("resource A as\n  @ a boolean\n  ? b' boolean\n", "mine/A", "not a name of a property"),
        ("resource A as\n  @ a boolean\n  ? b []\n    ? c\" boolean\n", "mine/A", "property"),
        (
            "resource A as\n  @ sReference -> Student(s'=studentUniqueId)\n",
            "mine/A",
            "reference's member",
        ),
        (
            "resource A as\n  @ sReference -> Student(studentUniqueId as s')\n",
            "mine/A",
            "reference's member",
        ),
        ("extension Student\n  ? a.b boolean\n", "mine/Student", "not a name of a property"),
        ("standard Mine domains 1\nextends ed-fi 5.2.0\n", "domains", "taken"),
        ("standard Mine ../mine 1\nextends ed-fi 5.2.0\n", "../mine", "not a schema"),
        ("standard <Mine mine 1\nextends ed-fi 5.2.0\n", "mine", "not a name of a project"),
        ("resource A as\n  @ a int32(0..2147483648)\n", "mine/A", "does not fit an int32"),
        ("resource A as\n  @ a int32(-2147483649..)\n", "mine/A", "does not fit an int32"),
    ] {
        let whole =
            if text.starts_with("standard") { text.into() } else { format!("{head}{text}") };
        let mut sources = core();
        sources.push(format::read(&whole).unwrap());

        let error = link(&sources).unwrap_err();

        assert_eq!(error.resource, resource, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn too_many_resources_for_a_model_are_refused() {
    let mut sources = core();
    let resources = (0..10_001).map(|at| format!("resource A{at} as{at}\n  @ a boolean\n"));
    let whole: String = ["standard Mine mine 1.0.0\nextends ed-fi 5.2.0\n".to_owned()]
        .into_iter()
        .chain(resources)
        .collect();
    sources.push(format::read(&whole).unwrap());

    let error = link(&sources).unwrap_err();

    assert!(error.message.contains("more than 10000 resources"), "{error}");
}
