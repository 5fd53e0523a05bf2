//! `/oauth/token_info`: what a token stands for.

use std::sync::Arc;

use crate::support::{Answer, FORM, NOW, access, call_route, create, new_key, token};
use homeroom_access::{
    ANY_SCOPE, Access, Call, EducationOrganization, Manage, TOKEN_REQUEST_BYTES_MAX, TokenInfo,
};
use homeroom_http::{BodyLimits, Route, handler};
use http::Method;
use serde_json::{Value, json};

/// Returns those of the organizations that have documents, which is one school.
fn one_school(ids: &[i64]) -> Vec<EducationOrganization> {
    let school = EducationOrganization {
        id: 255_901_001,
        name_of_institution: "Grand Bend High School".into(),
        kind: "edfi.School".into(),
        ancestors: vec![("local_education_agency_id".into(), 255_901)],
    };
    ids.contains(&school.id).then_some(school).into_iter().collect()
}

async fn ask(access: &Arc<Access>, bearer: &str, header: (&str, &str), body: &str) -> Answer {
    let bearer = format!("Bearer {bearer}");
    let headers = [header, ("authorization", bearer.as_str())];
    let answer = handler(access, |access: Arc<Access>, mut call: Call| async move {
        let info = TokenInfo::asked(&access, &mut call).await?;
        Ok(info.answer(&access, &one_school(info.education_organizations())))
    });
    let guard = homeroom_http::Guard::Token { scope: ANY_SCOPE };
    let route = Route::new(Method::POST, "/oauth/token_info", guard, answer)
        .with_body(BodyLimits::of_bytes(TOKEN_REQUEST_BYTES_MAX));
    call_route(access, route, "/oauth/token_info", &headers, body, NOW).await
}

fn operations<'a>(body: &'a Value, list: &str, member: &str, name: &str) -> Option<&'a Value> {
    let items = body[list].as_array().unwrap();
    Some(&items.iter().find(|item| item[member] == name)?["operations"])
}

#[tokio::test]
async fn token_info_lists_the_claim_sets_grants_on_the_whole_model() {
    let access = access().await;
    let asked = Manage::CreateKey {
        claim_set: Some("Ed-Fi Sandbox".into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![255_901_001, 7],
        namespace_prefixes: vec!["uri://ed-fi.org".into()],
        ownership_tokens: vec![],
        creator_token: None,
    };
    let credentials = create(&access, asked).await;
    let token = token(&access, &credentials, NOW).await;

    let answer = ask(&access, &token, FORM, &format!("token={token}")).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let body = &answer.body;
    assert_eq!(body["active"], true);
    assert_eq!(body["exp"], NOW.seconds() + 1_800);
    assert_eq!(body["client_id"], credentials.key);
    assert_eq!(body["namespace_prefixes"], json!(["uri://ed-fi.org"]));
    assert_eq!(body["student_identification_system"], Value::Null);
    assert_eq!(body["assigned_profiles"], json!([]));
    assert_eq!(body["claim_set"], json!({"name": "EdFiSandbox"}));
    assert_eq!(
        body["education_organizations"],
        json!([
            {"education_organization_id": 7, "name_of_institution": null, "type": null},
            {
                "education_organization_id": 255_901_001,
                "name_of_institution": "Grand Bend High School",
                "type": "edfi.School",
                "local_education_agency_id": 255_901,
            },
        ])
    );
    assert_eq!(body["resources"].as_array().unwrap().len(), 349);
    assert_eq!(
        operations(body, "resources", "resource", "/ed-fi/students"),
        Some(&json!(["Create", "Read", "Update", "Delete", "ReadChanges"]))
    );
    assert_eq!(
        operations(body, "resources", "resource", "/ed-fi/schoolYearTypes"),
        Some(&json!(["Read"]))
    );
    // The claim set has the identity service, which this server does not serve.
    assert_eq!(body["services"], json!([]));
}

#[tokio::test]
async fn resources_without_a_grant_are_left_out() {
    let access = access().await;
    let credentials = create(&access, new_key("RosterVendor")).await;
    let token = token(&access, &credentials, NOW).await;

    let body = json!({ "token": token }).to_string();
    let answer = ask(&access, &token, ("content-type", "application/json"), &body).await;

    assert_eq!(answer.body["resources"].as_array().unwrap().len(), 21);
    assert_eq!(answer.body["services"], json!([]));
    assert_eq!(
        operations(&answer.body, "resources", "resource", "/ed-fi/students"),
        Some(&json!(["Read"]))
    );
}

#[tokio::test]
async fn a_body_without_the_callers_own_token_gets_400() {
    let access = access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let ours = token(&access, &credentials, NOW).await;
    let other = token(&access, &credentials, NOW).await;

    for (media, body) in [
        (FORM, format!("token={other}")),
        (FORM, "token=".to_owned()),
        (FORM, String::new()),
        (FORM, "token=%ff".to_owned()),
        (("content-type", "application/json"), "{".to_owned()),
        (("content-type", "application/json"), r#"{"token": {}}"#.to_owned()),
        (("content-type", "text/xml"), "<token/>".to_owned()),
    ] {
        let answer = ask(&access, &ours, media, &body).await;

        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.body["type"], "urn:ed-fi:api:bad-request");
        assert_eq!(answer.body["errors"].as_array().unwrap().len(), 1, "{body}");
    }
}

#[tokio::test]
async fn a_caller_without_a_token_gets_401_for_any_body() {
    let access = access().await;
    let credentials = create(&access, new_key("FullAccess")).await;
    let good = token(&access, &credentials, NOW).await;

    let answer = ask(&access, "nonsense", FORM, &format!("token={good}")).await;

    assert_eq!(answer.status, 401);
    assert_eq!(answer.body["type"], "urn:ed-fi:api:security:authentication");
}
