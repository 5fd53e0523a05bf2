//! Tokens of one scope are useless for another.

use crate::support::{BASE, DATA, client_of, manager};
use homeroom_testkit::TestApp;
use http::Method;
use serde_json::json;

#[tokio::test]
async fn a_key_for_management_gets_a_token_in_the_words_of_the_admin_api() {
    for app in TestApp::empty_on_each_store().await {
        let (key, secret) = app.key_for(None, &["admin"]).await;

        for more in ["", "&scope=", "&scope=edfi_admin_api/full_access"] {
            let answer = app.ask_token("/adminapi/connect/token", &key, &secret, more).await;

            assert_eq!(answer.status, 200, "{app} {more}: {answer:?}");
            assert_eq!(answer.json()["expires_in"], 1_800);
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
    }
}

#[tokio::test]
async fn the_token_endpoint_refuses_in_the_words_of_rfc_6749() {
    for app in TestApp::empty_on_each_store().await {
        let (key, secret) = app.key_for(None, &["admin"]).await;
        let (data_key, data_secret) = app.key_for(Some("FullAccess"), &[]).await;
        for (key, secret, more, status, error) in [
            (&*key, "wrong", "", 401, "invalid_client"),
            ("nobody", &*secret, "", 401, "invalid_client"),
            (&*data_key, "wrong", "", 401, "invalid_client"),
            (&*data_key, &*data_secret, "", 400, "unauthorized_client"),
            (&*key, &*secret, "&scope=edfi_admin_api/other", 400, "invalid_scope"),
            (&*key, &*secret, "&scope=255901", 400, "invalid_scope"),
        ] {
            let answer = app.ask_token("/adminapi/connect/token", key, secret, more).await;

            let got = (answer.status, answer.json()["error"].clone());
            assert_eq!(got, (status, json!(error)), "{app} {key} {more}");
        }
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body = format!("grant_type=password&client_id={key}&client_secret={secret}");
        let other = app.send(Method::POST, "/adminapi/connect/token", &form, body).await;
        assert_eq!(other.json()["error"], "unsupported_grant_type", "{app}");
    }
}

#[tokio::test]
async fn a_token_of_one_scope_is_refused_in_another() {
    for app in TestApp::empty_on_each_store().await {
        let (key, secret) = app.key_for(Some("FullAccess"), &[]).await;
        let data = client_of(&app, &key, &secret).await;
        let admin = manager(&app).await;

        assert_eq!(data.get(DATA).await.status, 200, "{app}");
        assert_eq!(admin.get(DATA).await.status, 403, "{app}");
        assert_eq!(admin.get("/vendors").await.status, 200, "{app}");
        for (method, route) in
            app.front_door.routes().filter(|(_, route)| route.template.starts_with(BASE))
        {
            let path = route.template.replace(['{', '}'], "");
            let refused = data.send(method.clone(), &path, "{}").await;
            assert_eq!(refused.status, 403, "{app} {route:?}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn a_stranger_reaches_the_public_routes_only() {
    for app in TestApp::empty_on_each_store().await {
        let public = [
            "* /adminapi/v1/{*rest}",
            "GET /adminapi",
            "POST /adminapi/connect/register",
            "POST /adminapi/connect/token",
        ];
        for (method, route) in
            app.front_door.routes().filter(|(_, route)| route.template.starts_with("/adminapi"))
        {
            let name = format!("{method} {}", route.template);
            let path = route.template.replace(['{', '}'], "");
            let json = [("content-type", "application/json")];
            let answer = app.send(method.clone(), &path, &json, "{}").await;

            let is_refused =
                answer.status == 401 || answer.json()["error"] == "unsupported_grant_type";
            assert_eq!(is_refused, !public.contains(&&*name) || name.ends_with("token"), "{name}");
        }
        let information = app.send(Method::GET, "/adminapi/", &[], "").await;
        assert_eq!(information.status, 200);
        assert!(
            information.json()["version"].is_string() && information.json()["build"].is_string()
        );
    }
}

#[tokio::test]
async fn a_stranger_cannot_register() {
    for app in TestApp::empty_on_each_store().await {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body = "ClientId=me&ClientSecret=x&DisplayName=me";

        let answer = app.send(Method::POST, "/adminapi/connect/register", &form, body).await;

        assert_eq!(answer.status, 403, "{answer:?}");
        assert!(answer.json()["hint"].as_str().unwrap().contains("--scope admin"), "{answer:?}");
    }
}
