//! Laws that hold for whatever a caller sends.

use std::sync::OnceLock;

use crate::support::{BASE, Client, manager, vendor};
use homeroom_testkit::{TestApp, USUAL};
use http::Method;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Members and values that the routes know, so that requests get past the first checks.
const WORDS: [&str; 34] = [
    "company",
    "namespacePrefixes",
    "contactName",
    "contactEmailAddress",
    "applicationName",
    "vendorId",
    "claimSetName",
    "profileIds",
    "educationOrganizationIds",
    "odsInstanceIds",
    "enabled",
    "name",
    "definition",
    "instanceType",
    "connectionString",
    "odsInstanceId",
    "contextKey",
    "contextValue",
    "derivativeType",
    "isApproved",
    "applicationId",
    "originalId",
    "resourceClaims",
    "resourceClaimId",
    "resourceClaimActions",
    "actions",
    "children",
    "authorizationStrategyOverridesForCRUD",
    "actionName",
    "authorizationStrategies",
    "authStrategyName",
    "student",
    "people",
    "Read",
];

/// Returns a server with one of every item, and a client that manages it.
fn served() -> &'static (tokio::runtime::Runtime, Client) {
    static SERVED: OnceLock<(tokio::runtime::Runtime, Client)> = OnceLock::new();
    SERVED.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let store = homeroom_testkit::trial::on_one(&[]).unwrap();
        let admin = runtime.block_on(async {
            let app = TestApp::on("laws", USUAL, store).await;
            let admin = manager(&app).await;
            admin.create("/vendors", &vendor()).await;
            admin.create("/claimSets", &json!({"name": "Own"})).await;
            admin
        });
        (runtime, admin)
    })
}

fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(&WORDS[..]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![0_i64..4, any::<i64>()].prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(Value::from("x".repeat(70_000))),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let members = prop::collection::vec((word.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            members.prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_body_makes_the_server_fail(
        route in 0_usize..1_000,
        ids in prop::collection::vec(prop_oneof![1_i64..4, any::<i64>()], 2),
        query in "(limit|offset|id|ids|orderBy|direction|name|applicationid)=[a-z0-9,-]{0,6}",
        members in prop::collection::vec((prop::sample::select(&WORDS[..]), value()), 0..8),
    ) {
        let (runtime, admin) = served();
        let own = |template: &str| template.starts_with(BASE);
        let routes = admin.app.front_door.routes();
        let routes: Vec<_> = routes.filter(|(_, route)| own(&route.template)).collect();
        let (method, route) = routes[route % routes.len()];
        let path = route.template.replace("{id}", &ids[0].to_string());
        let path = path.replace("{resourceClaimId}", &ids[1].to_string());
        let path = path.replace("{tenantName}", "default");
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        let body = Value::Object(members.collect::<Map<_, _>>()).to_string();
        let body = if *method == Method::GET { String::new() } else { body };

        let path = format!("{path}?{query}");
        let answer = runtime.block_on(admin.send(method.clone(), &path, &body));

        prop_assert!(answer.status < 500 || answer.status == 501, "{answer:?}");
        prop_assert!(answer.body.is_empty() || answer.json().is_object() || answer.json().is_array());
        prop_assert!(answer.body.len() < 4 << 20, "an answer does not repeat all that was sent");
    }
}
