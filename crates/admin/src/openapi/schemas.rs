//! The schemas of requests and answers.

use homeroom_access::Action;
use serde_json::{Map, Value, json};

use super::operations::{SHOWN, Shown};
use super::words;
use super::writer::{id_schema, to};
use crate::api_clients::MEMBERS as API_CLIENT_MEMBERS;
use crate::claim_sets::{COPY_MEMBERS, MEMBERS as CLAIM_SET_MEMBERS};
use crate::form::{ID_MAX, Is, Member};

/// Members that are shown and derived, by schema: name, and the schema of the value.
fn derived(schema: &str) -> Vec<(&'static str, Value)> {
    let list = |schema: &str| json!({ "type": "array", "items": to(schema) });
    match schema {
        "application" => vec![("enabled", json!({ "type": "boolean" }))],
        "odsInstance" => vec![
            ("odsInstanceContexts", list("odsInstanceContext")),
            ("odsInstanceDerivatives", list("odsInstanceDerivative")),
        ],
        _ => vec![],
    }
}

/// Returns every schema by name.
pub(super) fn all() -> Map<String, Value> {
    let mut all = Map::new();
    for shown in &SHOWN {
        all.insert(format!("{}Request", shown.schema), request(shown.resource.members));
        all.insert(shown.schema.to_owned(), answer(shown, shown.resource.only_in_one));
        if !shown.resource.only_in_one.is_empty() {
            all.insert(format!("{}Details", shown.schema), answer(shown, &[]));
        }
    }
    for (name, schema) in of_keys().into_iter().chain(of_claim_sets()).chain(of_what_is_fixed()) {
        all.insert(name.to_owned(), schema);
    }
    words::describe(&mut all);
    all.sort_keys();
    all
}

/// Returns the schema of a request with the members of a table.
fn request(members: &[Member]) -> Value {
    let needed: Vec<&str> = members.iter().filter(|m| m.needed).map(|m| m.name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|member| {
            let mut schema = of_member(member.is);
            if member.needed {
                match member.is {
                    Is::Text(_) | Is::Document(_) | Is::Dropped(_) => {
                        // White space around a text is dropped, and what is left must not be empty.
                        schema["minLength"] = 1.into();
                        schema["pattern"] = r"\S".into();
                    }
                    Is::Ids(..) => schema["minItems"] = 1.into(),
                    Is::Id | Is::Flag => {}
                }
            } else {
                schema["nullable"] = true.into();
            }
            (member.name.to_owned(), schema)
        })
        .collect();
    object_with(&needed, properties)
}

/// Returns the schema of an item as it is shown, without some members.
fn answer(shown: &Shown, without: &[&str]) -> Value {
    let mut properties = Map::new();
    properties.insert("id".into(), id_schema());
    for member in shown.resource.members {
        if matches!(member.is, Is::Dropped(_)) || without.contains(&member.name) {
            continue;
        }
        let mut schema = of_member(member.is);
        if !member.needed || member.null_by_command {
            schema["nullable"] = true.into();
        }
        properties.insert(member.name.to_owned(), schema);
    }
    for (name, schema) in derived(shown.schema) {
        if !without.contains(&name) {
            properties.insert(name.to_owned(), schema);
        }
    }
    object(properties)
}

fn of_member(is: Is) -> Value {
    match is {
        Is::Text(most) | Is::Dropped(most) => json!({ "type": "string", "maxLength": most }),
        Is::Document(most) => json!({
            "type": "string",
            "maxLength": most,
            "description": "A definition in XML or JSON.",
        }),
        Is::Id => id_schema(),
        Is::Flag => json!({ "type": "boolean" }),
        Is::Ids(most, greatest) => {
            let format = if greatest > ID_MAX { "int64" } else { "int32" };
            json!({
                "type": "array",
                "maxItems": most,
                "items": { "type": "integer", "format": format, "minimum": 1 },
            })
        }
    }
}

fn of_keys() -> Vec<(&'static str, Value)> {
    let text = || json!({ "type": "string" });
    let ids =
        |format: &str| json!({ "type": "array", "items": { "type": "integer", "format": format } });
    let credentials = |more: &[(&str, Value)]| {
        let mut properties: Vec<(&str, Value)> = vec![
            ("id", id_schema()),
            ("key", text()),
            ("secret", json!({ "type": "string", "description": "Shown this once." })),
        ];
        properties.extend(more.iter().cloned());
        all_of(&properties)
    };
    vec![
        ("applicationCredentials", credentials(&[])),
        ("apiClientCredentials", credentials(&[("name", text()), ("applicationId", id_schema())])),
        ("apiClientRequest", request(API_CLIENT_MEMBERS)),
        (
            "apiClient",
            all_of(&[
                ("id", id_schema()),
                ("key", text()),
                ("name", text()),
                ("isApproved", json!({ "type": "boolean" })),
                ("useSandbox", json!({ "type": "boolean" })),
                ("sandboxType", json!({ "type": "integer", "format": "int32" })),
                ("applicationId", id_schema()),
                (
                    "keyStatus",
                    json!({ "type": "string", "enum": ["Active", "Suspended", "Revoked"] }),
                ),
                ("educationOrganizationIds", ids("int64")),
                ("odsInstanceIds", ids("int32")),
            ]),
        ),
    ]
}

fn of_claim_sets() -> Vec<(&'static str, Value)> {
    let text = || json!({ "type": "string" });
    let flag = || json!({ "type": "boolean" });
    let list = |schema: &str| json!({ "type": "array", "items": to(schema) });
    let name_of_action = || {
        let names = Action::ALL.map(Action::name);
        json!({ "type": "string", "enum": names })
    };
    let summary = [
        ("id", json!({ "type": "integer", "format": "int32" })),
        ("name", text()),
        ("_isSystemReserved", flag()),
        ("_applications", list("applicationOfClaimSet")),
    ];
    let overrides = json!({
        "type": "boolean",
        "description": "Whether it takes the place of a set that is system reserved.",
    });
    let mut set = all_of(&summary);
    let mut details = all_of(&[&summary[..], &[("resourceClaims", list("claimOfSet"))]].concat());
    for schema in [&mut set, &mut details] {
        schema["properties"]["_overridesSystemReserved"] = overrides.clone();
    }
    let mut import = request(CLAIM_SET_MEMBERS);
    import["properties"]["resourceClaims"] = list("claimOfImport");
    import["required"] = json!(["name", "resourceClaims"]);
    let granted = json!({ "type": "array", "maxItems": 20, "items": to("grantedAction") });
    let strategies = json!({ "type": "array", "minItems": 1, "maxItems": 20, "items": text() });
    vec![
        ("claimSet", set),
        ("claimSetDetails", details),
        ("claimSetRequest", request(CLAIM_SET_MEMBERS)),
        ("claimSetCopy", request(COPY_MEMBERS)),
        ("claimSetImport", import),
        ("applicationOfClaimSet", all_of(&[("applicationName", text())])),
        (
            "claimOfSet",
            all_of(&[
                ("id", id_schema()),
                ("name", text()),
                ("actions", list("enabledAction")),
                ("_defaultAuthorizationStrategiesForCRUD", list("strategiesOfAction")),
                ("authorizationStrategyOverridesForCRUD", list("strategiesOfAction")),
                ("children", list("claimOfSet")),
            ]),
        ),
        (
            "claimOfImport",
            object_with(
                &["name", "actions"],
                members(&[
                    ("name", text()),
                    ("actions", list("grantedAction")),
                    ("authorizationStrategyOverridesForCRUD", list("overrideOfImport")),
                    ("children", list("claimOfImport")),
                ]),
            ),
        ),
        (
            "overrideOfImport",
            object_with(
                &["actionName", "authorizationStrategies"],
                members(&[
                    ("actionName", name_of_action()),
                    (
                        "authorizationStrategies",
                        json!({ "type": "array", "items": to("namedStrategy") }),
                    ),
                ]),
            ),
        ),
        (
            "namedStrategy",
            object_with(&["authStrategyName"], members(&[("authStrategyName", text())])),
        ),
        ("enabledAction", all_of(&[("name", name_of_action()), ("enabled", flag())])),
        (
            "grantedAction",
            object_with(
                &["name"],
                members(&[
                    ("name", name_of_action()),
                    ("enabled", json!({ "type": "boolean", "default": true })),
                ]),
            ),
        ),
        ("claimActions", all_of(&[("resourceClaimActions", granted.clone())])),
        (
            "claimGrant",
            all_of(&[("resourceClaimId", id_schema()), ("resourceClaimActions", granted)]),
        ),
        (
            "claimStrategies",
            all_of(&[("actionName", name_of_action()), ("authorizationStrategies", strategies)]),
        ),
        (
            "strategiesOfAction",
            all_of(&[
                ("actionId", id_schema()),
                ("actionName", name_of_action()),
                ("authorizationStrategies", list("inheritedStrategy")),
            ]),
        ),
        (
            "inheritedStrategy",
            all_of(&[
                ("authStrategyId", strategy_id()),
                ("authStrategyName", text()),
                ("isInheritedFromParent", flag()),
            ]),
        ),
    ]
}

fn of_what_is_fixed() -> Vec<(&'static str, Value)> {
    let text = || json!({ "type": "string" });
    let list = |schema: &str| json!({ "type": "array", "items": to(schema) });
    let of_claim = |name: &'static str, items: Value| {
        all_of(&[
            ("resourceClaimId", id_schema()),
            ("resourceName", text()),
            ("claimName", text()),
            (name, items),
        ])
    };
    vec![
        ("information", all_of(&[("version", text()), ("build", text())])),
        ("tenant", all_of(&[("tenantName", text())])),
        ("deleted", all_of(&[("title", text())])),
        (
            "resourceClaim",
            all_of(&[
                ("id", id_schema()),
                ("name", text()),
                (
                    "parentId",
                    json!({ "type": "integer", "format": "int32", "description": "0 at the top." }),
                ),
                ("parentName", json!({ "type": "string", "nullable": true })),
                ("children", list("resourceClaim")),
            ]),
        ),
        ("actionsOfClaim", of_claim("actions", list("actionName"))),
        ("actionName", all_of(&[("name", text())])),
        (
            "strategiesOfClaim",
            of_claim("authorizationStrategiesForActions", list("usualStrategies")),
        ),
        (
            "usualStrategies",
            all_of(&[
                ("actionId", id_schema()),
                ("actionName", text()),
                ("authorizationStrategies", list("strategy")),
            ]),
        ),
        ("strategy", all_of(&[("authStrategyId", strategy_id()), ("authStrategyName", text())])),
        ("action", all_of(&[("id", id_schema()), ("name", text()), ("uri", text())])),
        (
            "authorizationStrategy",
            all_of(&[("id", strategy_id()), ("name", text()), ("displayName", text())]),
        ),
        ("tokenRequest", of_token_request()),
        (
            "token",
            object_with(
                &["access_token", "token_type", "expires_in"],
                members(&[
                    ("access_token", text()),
                    ("token_type", text()),
                    (
                        "expires_in",
                        json!({ "type": "integer", "description": "Seconds until it ends." }),
                    ),
                    ("scope", text()),
                ]),
            ),
        ),
        (
            "tokenRefusal",
            object_with(&["error"], members(&[("error", text()), ("error_description", text())])),
        ),
        (
            "registrationRequest",
            object(members(&[
                ("clientId", text()),
                ("clientSecret", text()),
                ("displayName", text()),
            ])),
        ),
    ]
}

fn of_token_request() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    object_with(
        &["grant_type"],
        members(&[
            ("grant_type", json!({ "type": "string", "enum": ["client_credentials"] })),
            ("client_id", text("The key, unless Authorization has it.")),
            ("client_secret", text("The secret, unless Authorization has it.")),
            ("scope", text("edfi_admin_api/full_access, or nothing.")),
        ]),
    )
}

/// The id of a strategy, which may be one of the operator's own.
fn strategy_id() -> Value {
    json!({ "type": "integer", "format": "int32" })
}

fn members(all: &[(&str, Value)]) -> Map<String, Value> {
    all.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect()
}

/// Returns the schema of an object that has all of these members.
fn all_of(all: &[(&str, Value)]) -> Value {
    object(members(all))
}

/// Returns the schema of an object in which no member is missing.
fn object(properties: Map<String, Value>) -> Value {
    let names: Vec<String> = properties.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    object_with(&names, properties)
}

fn object_with(required: &[&str], properties: Map<String, Value>) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
