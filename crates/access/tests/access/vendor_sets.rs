//! The grants of each shipped claim set on each resource, as a table that people review.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use homeroom_access::{
    Action, ApiClient, ClaimSet, Claims, Permission, Rights, Scope, Status, Strategy, authorize,
};
use homeroom_model::{Model, Resource};

/// Widest line of a table.
const COLUMNS_MAX: usize = 100;

/// Grants of the published sets that no request can use, because the resource lacks what the
/// strategy checks: set, endpoint, action.
const NOT_USABLE: [(&str, &str, &str); 0] = [];

/// Returns a client that satisfies whatever a strategy may require of a client.
fn client(claims: &Claims, set: &ClaimSet) -> ApiClient {
    ApiClient {
        key: "k".into(),
        application: "a".into(),
        claim_set: Some(set.name.clone()),
        rights: Arc::new(Rights::compile(claims, set)),
        views: Arc::default(),
        education_organizations: [1].into(),
        namespace_prefixes: ["uri://example.org".to_owned()].into(),
        profiles: [].into(),
        ownership_tokens: [1].into(),
        creator_token: Some(1),
        scopes: vec![Scope::Data],
        held_to: None,
        status: Status::Active,
        created: crate::support::NOW,
    }
}

/// Returns a set's grants on some resources, with resources of equal grants grouped.
fn table(model: &Model, rights: &Rights, shown: impl Fn(&Resource) -> bool) -> String {
    let mut rows: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let count = model.resources.iter().filter(|resource| shown(resource)).count();
    for resource in model.resources.iter().filter(|resource| shown(resource)) {
        let cells = Action::ALL.map(|action| match rights.permission(resource.id, action) {
            Permission::Granted(strategies) => {
                strategies.iter().map(Strategy::name).collect::<Vec<_>>().join(" + ")
            }
            Permission::NotGrantedOnResource | Permission::NotGrantedForAction => "-".into(),
            Permission::NoStrategyConfigured => "(no strategy)".into(),
        });
        let endpoint = format!("{}/{}", resource.schema, resource.endpoint);
        rows.entry(cells.to_vec()).or_default().push(endpoint);
    }
    let mut text = String::new();
    for (cells, mut endpoints) in rows {
        endpoints.sort_unstable();
        _ = writeln!(text, "{} of {count} resources", endpoints.len());
        for (action, cell) in Action::ALL.iter().zip(cells) {
            _ = writeln!(text, "    {:12} {cell}", action.name());
        }
        let mut line = String::from(" ");
        for endpoint in endpoints {
            if line.len() + endpoint.len() >= COLUMNS_MAX {
                text.push_str(&line);
                line = String::from("\n ");
            }
            line.push(' ');
            line.push_str(&endpoint);
        }
        text.push_str(&line);
        text.push_str("\n\n");
    }
    text
}

#[test]
fn each_shipped_set_has_the_reviewed_grants_on_each_resource() {
    let model = crate::support::model();
    let claims = Claims::of(&model).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);

    for set in claims.shipped() {
        let table = table(&model, &Rights::compile(&claims, set), |_| true);

        settings.bind(|| insta::assert_snapshot!(set.name.as_str(), table));
    }
}

#[test]
fn each_shipped_set_has_the_reviewed_grants_on_extension_resources() {
    let [_, model] = crate::support::models();
    let claims = Claims::of(&model).unwrap();
    let mut text = String::new();

    for set in claims.shipped().iter().filter(|set| set.name != "FullAccess") {
        let is_extensions = |resource: &Resource| resource.project > 0;
        _ = writeln!(text, "{}\n", set.name);
        text.push_str(&table(&model, &Rights::compile(&claims, set), is_extensions));
    }

    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("extensions", text));
}

#[test]
fn a_client_with_the_required_attributes_can_use_each_grant() {
    for model in crate::support::models() {
        let claims = Claims::of(&model).unwrap();
        let mut refused = vec![];
        for set in claims.shipped() {
            let client = client(&claims, set);
            for resource in &model.resources {
                for action in Action::ALL {
                    let granted = client.rights.permission(resource.id, action);
                    let usable = authorize(&client, resource, action).is_ok();
                    let exception = (set.name.as_str(), resource.endpoint.as_str(), action.name());
                    if matches!(granted, Permission::Granted(_)) && !usable {
                        refused.push(exception);
                    }
                }
            }
        }

        assert_eq!(refused, NOT_USABLE);
    }
}
