//! A small standard of a few resources, described as servers describe theirs.

use serde_json::{Map, Value, json};

/// A member of a resource: its name and its type. After the name, `!` means required and `*` also
/// part of the identity.
type Member<'m> = (&'m str, Value);

pub fn text(max: u32) -> Value {
    json!({"type": "string", "maxLength": max})
}

pub fn integer() -> Value {
    json!({"type": "integer", "format": "int64"})
}

pub fn date() -> Value {
    json!({"type": "string", "format": "date"})
}

pub fn to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/edFi_{name}Reference")})
}

/// Builds a description from resources (path, schema name, members, names of the identity) and
/// references (name, members).
pub fn description(
    resources: &[(&str, &str, &[Member<'_>], &[&str])],
    references: &[(&str, &[Member<'_>])],
) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for (name, schema, members, identity) in resources {
        let schema = format!("edFi_{schema}");
        let body = json!({"$ref": format!("#/components/schemas/{schema}")});
        let query: Vec<Value> = identity
            .iter()
            .map(|name| json!({"name": name, "in": "query", "x-Ed-Fi-isIdentity": true}))
            .collect();
        let post = json!({"requestBody": {"content": {"application/json": {"schema": body}}}});
        paths.insert(format!("/ed-fi/{name}"), json!({"get": {"parameters": query}, "post": post}));
        let item = json!({"get": {}, "put": {}, "delete": {}});
        paths.insert(format!("/ed-fi/{name}/{{id}}"), item);
        schemas.insert(schema, object(members));
    }
    for (name, members) in references {
        schemas.insert(format!("edFi_{name}Reference"), object(members));
    }
    json!({"openapi": "3.0.1", "paths": paths, "components": {"schemas": schemas}})
}

fn object(members: &[Member<'_>]) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = vec![];
    properties.insert("id".into(), json!({"type": "string"}));
    for (name, form) in members {
        let plain = name.trim_end_matches(['!', '*']);
        let mut form = form.clone();
        if name.contains('*') && form["$ref"].is_null() {
            form["x-Ed-Fi-isIdentity"] = true.into();
        }
        if name.contains('!') {
            required.push(plain);
        }
        properties.insert(plain.to_owned(), form);
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// Converts the description into the form that older servers write.
pub fn swagger(new: Value) -> Value {
    let text = new.to_string().replace("#/components/schemas/", "#/definitions/");
    let mut old: Value = serde_json::from_str(&text).unwrap();
    old["swagger"] = "2.0".into();
    old["definitions"] = old["components"]["schemas"].take();
    for (_, path) in old["paths"].as_object_mut().unwrap() {
        if let Some(post) = path.get_mut("post").and_then(Value::as_object_mut) {
            let body = post.remove("requestBody").unwrap();
            let schema = body["content"]["application/json"]["schema"].clone();
            let body = json!([{"name": "body", "in": "body", "schema": schema}]);
            post.insert("parameters".into(), body);
        }
    }
    old
}

/// Describes schools and a few related resources; the year of a session is described nowhere.
pub fn small_standard() -> Value {
    let descriptor = || text(306);
    let code =
        || [("namespace*!", text(255)), ("codeValue*!", text(50)), ("description", text(75))];
    let (grade_level, entry_type) = (code(), code());
    let inline_level = json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["gradeLevelDescriptor"],
            "properties": {"gradeLevelDescriptor": {"type": "string"}, "note": {"type": "string"}}
        }
    });
    let session = ["schoolId", "schoolYear", "sessionName"];
    let section = ["schoolId", "schoolYear", "sessionName", "sectionIdentifier"];
    let section_members = [
        ("schoolId*!", integer()),
        ("schoolYear*!", integer()),
        ("sessionName*!", text(60)),
        ("sectionIdentifier*!", text(60)),
    ];
    let account = [("accountNumber*!", text(60)), ("fiscalYear*!", integer())];
    description(
        &[
            (
                "schools",
                "school",
                &[
                    ("schoolId*!", integer()),
                    ("nameOfInstitution!", text(75)),
                    ("gradeLevels!", inline_level),
                    ("website", text(255)),
                    ("agencyReference", to("agency")),
                ],
                &["schoolId"],
            ),
            (
                "agencies",
                "agency",
                &[("agencyId*!", integer()), ("nameOfInstitution!", text(75))],
                &["agencyId"],
            ),
            ("gradeLevelDescriptors", "gradeLevelDescriptor", &grade_level, &[]),
            ("entryTypeDescriptors", "entryTypeDescriptor", &entry_type, &[]),
            (
                "students",
                "student",
                &[("studentUniqueId*!", text(32)), ("birthDate!", date()), ("name", text(75))],
                &["studentUniqueId"],
            ),
            (
                "enrolments",
                "enrolment",
                &[
                    ("schoolReference!", to("school")),
                    ("studentReference!", to("student")),
                    ("entryDate*!", date()),
                    ("entryGradeLevelDescriptor!", descriptor()),
                    ("entryTypeDescriptor!", descriptor()),
                ],
                &["schoolId", "studentUniqueId", "entryDate"],
            ),
            (
                "sessions",
                "session",
                &[
                    ("schoolReference!", to("school")),
                    ("schoolYearTypeReference!", to("schoolYearType")),
                    ("sessionName*!", text(60)),
                    ("totalDays", json!({"type": "number", "format": "double"})),
                ],
                &session,
            ),
            (
                "sections",
                "section",
                &[
                    ("sessionReference!", to("session")),
                    ("sectionIdentifier*!", text(60)),
                    ("title", text(75)),
                ],
                &section,
            ),
            (
                "memberships",
                "membership",
                &[("sectionReference!", to("section")), ("studentReference!", to("student"))],
                &["schoolId", "schoolYear", "sessionName", "sectionIdentifier", "studentUniqueId"],
            ),
            (
                "attendances",
                "attendance",
                &[
                    ("sectionReference!", to("section")),
                    ("enrolmentReference!", to("enrolment")),
                    ("eventDate*!", date()),
                ],
                &[],
            ),
            (
                "feeders",
                "feeder",
                &[
                    ("schoolReference!", to("school")),
                    ("feederSchoolReference!", to("school")),
                    ("beginDate*!", date()),
                ],
                &["schoolId", "feederSchoolId", "beginDate"],
            ),
            (
                "ratings",
                "rating",
                &[
                    ("educationOrganizationReference!", to("educationOrganization")),
                    ("ratingTitle*!", text(60)),
                ],
                &["educationOrganizationId", "ratingTitle"],
            ),
            ("accounts", "account", &account, &["accountNumber", "fiscalYear"]),
            (
                "budgets",
                "budget",
                &[
                    ("accountReference!", to("account")),
                    ("asOfDate*!", date()),
                    ("fiscalYear!", integer()),
                ],
                &["accountNumber", "fiscalYear", "asOfDate"],
            ),
        ],
        &[
            ("school", &[("schoolId*!", integer())]),
            ("agency", &[("agencyId*!", integer())]),
            ("educationOrganization", &[("educationOrganizationId*!", integer())]),
            ("schoolYearType", &[("schoolYear*!", integer())]),
            ("student", &[("studentUniqueId*!", text(32))]),
            ("session", &section_members[..3]),
            ("section", &section_members),
            (
                "enrolment",
                &[
                    ("schoolId*!", integer()),
                    ("studentUniqueId*!", text(32)),
                    ("entryDate*!", date()),
                ],
            ),
            ("account", &account),
        ],
    )
}
