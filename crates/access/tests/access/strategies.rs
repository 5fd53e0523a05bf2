//! Custom views: put, listed, shown and removed, and their effect on authorization.

use crate::support::{NOW, access, create, new_key, open, store, text};
use homeroom_access::{Access, Explain, Manage};
use serde_json::{Value, json};

fn put(name: &str, rule: Value) -> Manage {
    Manage::PutStrategy { name: name.into(), definition: json!({ "where": rule }) }
}

fn title_i() -> Manage {
    put("StudentWithTitleI", json!({"exists": "studentTitleIPartAProgramAssociations"}))
}

fn remove(name: &str) -> Manage {
    Manage::RemoveStrategy { name: name.into() }
}

async fn put_set(access: &Access, strategies: &[&str]) -> Value {
    let claim = "http://ed-fi.org/identity/claims/domains/educationOrganizations";
    let all = json!({"name": "Read", "authorizationStrategies": strategies});
    let claims = json!([
        {"claim": "http://ed-fi.org/identity/claims/ed-fi/student", "actions": [all]},
        {"claim": claim, "actions": [all]},
    ]);
    let definition = json!({ "resourceClaims": claims });
    access.manage(Manage::PutClaimSet { name: "Ours".into(), definition }, NOW).await.unwrap()
}

/// Explains reading a resource with a key.
async fn reading(access: &Access, key: &str, resource: &str) -> Value {
    let explain = Manage::Explain(Explain {
        key: key.into(),
        method: "Read".into(),
        resource: resource.into(),
    });
    access.manage(explain, NOW).await.unwrap()["decisions"][0].clone()
}

/// Returns the first error of a decision that is a problem.
fn error(decision: &Value) -> String {
    assert_eq!(decision["problem"]["status"], 500, "{decision}");
    assert_eq!(decision["problem"]["type"], "urn:ed-fi:api:system:configuration:security");
    text(&decision["problem"]["errors"][0])
}

#[tokio::test]
async fn a_view_applies_once_defined_and_only_to_resources_that_reach_its_basis() {
    let access = access().await;
    let set = put_set(&access, &["StudentWithTitleI"]).await;
    let key = create(&access, new_key("Ours")).await.key;

    let undefined = reading(&access, &key, "students").await;
    let put = access.manage(title_i(), NOW).await.unwrap();
    let defined = reading(&access, &key, "students").await;
    let elsewhere = reading(&access, &key, "schools").await;

    assert_eq!(set["undefinedStrategies"], json!(["StudentWithTitleI"]));
    assert!(error(&undefined).contains("it is not defined"), "{undefined}");
    assert_eq!(
        put,
        json!({
            "name": "StudentWithTitleI",
            "replaced": false,
            "basis": "Student",
            "asks": "a 'Student' with a 'StudentTitleIPartAProgramAssociation'",
        })
    );
    assert_eq!(defined["allowed"], true, "{defined}");
    let nothing = "The strategy StudentWithTitleI is configured for 'schools', none of whose \
                   references leads to a Student.";
    assert_eq!(error(&elsewhere), nothing);
}

#[tokio::test]
async fn a_view_is_listed_shown_replaced_in_any_case_and_removed_once_no_set_names_it() {
    let access = access().await;
    put_set(&access, &["StudentWithTitleI"]).await;
    access.manage(title_i(), NOW).await.unwrap();
    let changed = put("studentWITHTitleI", json!({"member": "firstName", "present": true}));
    let refused = access.manage(changed, NOW).await.unwrap_err();

    let again = access.manage(title_i(), NOW).await.unwrap();
    let list = access.manage(Manage::ListStrategies {}, NOW).await.unwrap();
    let show = Manage::ShowStrategy { name: "studentwithtitlei".into() };
    let shown = access.manage(show.clone(), NOW).await.unwrap();
    let used = access.manage(remove("StudentWithTitleI"), NOW).await.unwrap_err();
    put_set(&access, &[]).await;
    let removed = access.manage(remove("StudentWithTitleI"), NOW).await.unwrap();
    let gone = access.manage(remove("StudentWithTitleI"), NOW).await.unwrap_err();
    let unknown = access.manage(show, NOW).await.unwrap_err();

    assert!(refused.to_string().contains("does not begin with the name of a resource"));
    assert_eq!(again["replaced"], true);
    let strategies = list["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 14, "13 published ones and this");
    assert_eq!(strategies[13]["claimSets"], json!(["Ours"]));
    let resources = shown["resources"].as_array().unwrap();
    assert!(resources.contains(&json!("/ed-fi/courseTranscripts")), "{shown}");
    assert!(!resources.contains(&json!("/ed-fi/schools")), "{shown}");
    assert!(used.to_string().contains("claim sets use the strategy"), "{used}");
    assert_eq!(removed["removed"], true);
    assert!(gone.to_string().contains("there is no strategy `StudentWithTitleI`"), "{gone}");
    assert!(unknown.to_string().contains("there is no strategy"), "{unknown}");
}

#[tokio::test]
async fn a_faulty_definition_changes_nothing_and_every_fault_is_reported() {
    let access = access().await;
    let rule = json!({"all": [{"member": "x", "present": true}, {"exists": "y"}]});

    let refused = access.manage(put("StudentWithTitleI", rule), NOW).await.unwrap_err();

    let message = refused.to_string();
    assert!(message.contains("where.all[0].member") && message.contains("where.all[1].exists"));
    assert!(access.look_up(|registry| registry.views().iter().next().is_none()));
}

#[tokio::test]
async fn another_process_on_the_store_sees_a_view_after_a_refresh() {
    let store = store();
    let (one, other) = (open(&store).await, open(&store).await);
    put_set(&one, &["StudentWithTitleI"]).await;
    let key = create(&one, new_key("Ours")).await.key;

    one.manage(title_i(), NOW).await.unwrap();
    other.refresh().await.unwrap();

    assert_eq!(reading(&other, &key, "students").await["allowed"], true);
}
