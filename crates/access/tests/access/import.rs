//! The importer of claims, on a hierarchy of the published form.

use homeroom_access::import::{ExtensionClaims, ImportError, import, import_extension};
use homeroom_access::{Action, Claims, Permission, Rights, Strategy};
use serde_json::{Value, json};

fn hierarchy() -> Value {
    json!({
        "claimSets": [
            {"claimSetName": "Vendor", "isSystemReserved": true},
            {"claimSetName": "E2E-Test", "isSystemReserved": true},
        ],
        "claimsHierarchy": [
            {
                "name": "http://ed-fi.org/identity/claims/domains/people",
                "defaultAuthorization": {"actions": [{
                    "name": "Read", "authorizationStrategies": [{"name": "NamespaceBased"}],
                }]},
                "claimSets": [
                    {"name": "Vendor", "actions": [{"name": "Read"}, {
                        "name": "Create",
                        "authorizationStrategyOverrides": [{"name": "NoFurtherAuthorizationRequired"}],
                    }]},
                    {"name": "E2E-Test", "actions": [{"name": "Delete"}]},
                ],
                "claims": [
                    {"name": "http://ed-fi.org/identity/claims/ed-fi/student"},
                    {"name": "http://ed-fi.org/identity/claims/ed-fi/unicorn"},
                ],
            },
            {"name": "http://ed-fi.org/identity/claims/domains/unicorns", "claims": [
                {"name": "http://ed-fi.org/identity/claims/ed-fi/blackUnicorn"},
            ]},
            {"name": "http://ed-fi.org/identity/claims/services/identity"},
        ],
    })
}

const CURRENT: &str = r#"
own = ["Ours"]
[tree]
"*" = []
[successors]
"ed-fi/parent" = "ed-fi/contact"
[claim-sets.Ours]
"*" = "Read"
[claim-sets.Gone]
"*" = "Read"
"#;

#[test]
fn an_import_takes_resource_and_service_claims_and_keeps_our_own_part() {
    let model = crate::support::model();

    let imported = import(&[&hierarchy().to_string()], &model, CURRENT, "E2E-").unwrap();

    assert_eq!(imported.claim_sets, ["Vendor"]);
    assert_eq!(imported.left_out_sets, ["E2E-Test"]);
    assert_eq!(
        imported.left_out_claims,
        ["ed-fi/unicorn", "ed-fi/blackUnicorn", "domains/unicorns"]
    );
    assert!(imported.text.contains("\"ed-fi/parent\" = \"ed-fi/contact\""));
    let file: toml::Table = imported.text.parse().unwrap();
    let sets: Vec<&String> = file["claim-sets"].as_table().unwrap().keys().collect();
    assert_eq!(sets, ["Ours", "Vendor"]);
    let claims = Claims::read(&imported.text, &model).unwrap();
    let set = claims.shipped().iter().find(|set| set.name == "Vendor").unwrap();
    let rights = Rights::compile(&claims, set);
    let student = model.by_endpoint("ed-fi", "students").unwrap().id;
    assert_eq!(
        *rights.permission(student, Action::Read),
        Permission::Granted(vec![Strategy::NamespaceBased])
    );
    assert_eq!(
        *rights.permission(student, Action::Create),
        Permission::Granted(vec![Strategy::NoFurtherAuthorizationRequired])
    );
    assert_eq!(*rights.permission(student, Action::Delete), Permission::NotGrantedForAction);
}

#[test]
fn set_names_lose_their_blanks_and_a_second_hierarchy_adds_only_missing_sets() {
    let model = crate::support::model();
    let mut first = hierarchy();
    first["claimSets"][0]["claimSetName"] = json!("Ed-Fi Vendor - One");
    first["claimsHierarchy"][0]["claimSets"][0]["name"] = json!("Ed-Fi Vendor - One");
    let others = json!({"name": "https://example.org/spec/scope", "claims": []});
    first["claimsHierarchy"].as_array_mut().unwrap().push(others);
    let actions = json!([{"name": "Read"}]);
    let set = |name: &str| json!({"name": name, "actions": actions});
    let second = json!({
        "claimSets": [{"claimSetName": "EdFiVendorOne"}, {"claimSetName": "Loader"}],
        "claimsHierarchy": [{
            "name": "http://ed-fi.org/ods/identity/claims/domains/people",
            "claimSets": [set("EdFiVendorOne"), set("Loader")],
            "claims": [{"name": "http://ed-fi.org/ods/identity/claims/staff",
                "claimSets": [set("Loader")]}],
        }],
    });

    let both = [first.to_string(), second.to_string()];
    let imported = import(&[&both[0], &both[1]], &model, "", "E2E-").unwrap();

    assert_eq!(imported.claim_sets, ["EdFiVendorOne", "Loader"]);
    assert!(imported.left_out_claims.contains(&"https://example.org/spec/scope".to_owned()));
    let file: toml::Table = imported.text.parse().unwrap();
    let sets = &file["claim-sets"];
    assert_eq!(
        sets["EdFiVendorOne"]["domains/people"].as_str(),
        Some("Create: NoFurtherAuthorizationRequired; Read")
    );
    assert_eq!(sets["Loader"].as_table().unwrap().len(), 1, "the first hierarchy has no staff");
    assert_eq!(sets["Loader"]["domains/people"].as_str(), Some("Read"));
}

#[test]
fn an_extension_import_takes_its_claims_and_the_grants_on_them() {
    let [_, model] = crate::support::models();
    let read = |name: &str| json!({"name": name, "actions": [{"name": "Read"}]});
    let standard = import(&[&hierarchy().to_string()], &model, "", "E2E-").unwrap().text;
    let reference = json!({"resourceClaims": [
        {"name": "domains/people", "claimSets": [read("Vendor")], "children": [
            {"name": "http://ed-fi.org/identity/claims/tpdm/candidate",
                "claimSets": [read("Vendor"), read("Nobody")]},
            {"name": "http://ed-fi.org/identity/claims/ed-fi/student", "claimSets": [read("Vendor")]},
        ]},
        {"name": "http://ed-fi.org/identity/claims/domains/tpdm",
            "_defaultAuthorizationStrategiesForCrud": [{"actionName": "Read",
                "authorizationStrategies": [{"name": "NoFurtherAuthorizationRequired"}]}],
            "children": [
                {"name": "http://ed-fi.org/identity/claims/tpdm/rubricDimension"},
                {"name": "http://ed-fi.org/identity/claims/tpdm/unicorn"},
            ]},
        {"name": "http://ed-fi.org/identity/claims/domains/unicorns", "children": []},
    ]});
    let made = |whole_sets: &[String]| {
        let asked = ExtensionClaims {
            reference: &reference.to_string(),
            model: &model,
            standard: &standard,
            schema: "tpdm",
            whole_sets,
        };
        import_extension(&asked).unwrap()
    };

    let imported = made(&[]);
    let whole = made(&["Vendor".into()]);

    assert_eq!(imported.left_out_claims, ["tpdm/unicorn"]);
    let file: toml::Table = imported.text.parse().unwrap();
    let tree: Vec<(&str, String)> =
        file["tree"].as_table().unwrap().iter().map(|(k, v)| (k.as_str(), v.to_string())).collect();
    assert_eq!(
        tree,
        [
            ("*", "[\"domains/tpdm\"]".to_owned()),
            ("domains/people", "[\"tpdm/candidate\"]".into()),
            ("domains/tpdm", "[\"tpdm/rubricDimension\"]".into()),
        ]
    );
    let default = file["defaults"]["domains/tpdm"].as_str();
    assert_eq!(default, Some("Read: NoFurtherAuthorizationRequired"));
    let sets = file["claim-sets"].as_table().unwrap();
    assert_eq!(sets.keys().collect::<Vec<_>>(), ["Vendor"]);
    assert_eq!(sets["Vendor"].as_table().unwrap().keys().collect::<Vec<_>>(), ["tpdm/candidate"]);
    let whole: toml::Table = whole.text.parse().unwrap();
    let claims = whole["claim-sets"]["Vendor"].as_table().unwrap();
    assert_eq!(
        claims.keys().collect::<Vec<_>>(),
        ["domains/people", "ed-fi/student", "tpdm/candidate"]
    );
}

#[test]
fn importing_again_changes_nothing() {
    let model = crate::support::model();
    let once = import(&[&hierarchy().to_string()], &model, CURRENT, "E2E-").unwrap();

    let twice = import(&[&hierarchy().to_string()], &model, &once.text, "E2E-").unwrap();

    assert_eq!(twice, once);
}

#[test]
fn an_unknown_name_is_refused_with_its_claim() {
    let model = crate::support::model();
    for (pointer, value, message) in [
        ("/claimsHierarchy/0/name", json!("people"), "is not the URI of a claim"),
        (
            "/claimsHierarchy/0/claimSets/0/actions/0/name",
            json!("Write"),
            "`Write` is not an action",
        ),
        (
            "/claimsHierarchy/0/defaultAuthorization/actions/0/authorizationStrategies/0/name",
            json!("Namespace"),
            "`Namespace` is not a strategy",
        ),
        ("/claimsHierarchy/0/claimSets/0/actions/0/name", json!("Create"), "appears twice"),
    ] {
        let mut hierarchy = hierarchy();
        *hierarchy.pointer_mut(pointer).unwrap() = value;

        let error = import(&[&hierarchy.to_string()], &model, "", "E2E-").unwrap_err();

        let ImportError::Claim { message: found, .. } = error else { panic!("{error}") };
        assert!(found.contains(message), "{found}");
    }
    assert!(matches!(import(&["{}"], &model, "", "E2E-"), Err(ImportError::Reference(_))));
}
