//! Profiles are not enforced yet, so a key with a profile is refused.

use homeroom_access::{ANY_SCOPE, Access, ItemKind};
use homeroom_http::{Guard, Timestamp};
use http::Method;
use serde_json::json;

use super::strangers::paths;
use crate::app::FULL_ACCESS;
use crate::app::documents::{on_each_store, student};
use crate::app::failures::Failures;

/// Assigns a profile to a key's application, as a version that enforces profiles would.
async fn give_profile(access: &Access, key: &str) {
    let mut change = access.begin_change(Timestamp::now()).await.unwrap();
    let definition = json!({"name": "Small", "definition": "<Profile name=\"Small\"/>"});
    let profile = change.put(ItemKind::Profile, None, definition).unwrap();
    let (id, mut application, client) = change
        .look_up(|registry| {
            let mut applications = registry.items(ItemKind::Application);
            applications.find_map(|(id, application)| {
                let client = registry.clients_of(id).find(|client| client.client.key == key)?;
                Some((id, application.clone(), client.client))
            })
        })
        .unwrap();
    application["profileIds"] = json!([profile]);
    change.put(ItemKind::Application, Some(id), application).unwrap();
    change.grant(key, &(&client).into());
    change.commit().await.unwrap();
}

#[tokio::test]
async fn a_key_with_a_profile_is_refused_on_every_data_route() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let stored = owner.create("/ed-fi/students", &student("1")).await;
        let before = owner.newest().await;
        let client = app.client(FULL_ACCESS).await;
        assert_eq!(client.get(&stored).await.status, 200);
        give_profile(&app.access, &client.key).await;
        let media = |kind: &str| format!("application/vnd.ed-fi.student.{kind}+json");
        let medias = [
            None,
            Some("*/*".into()),
            Some("application/json".into()),
            Some(media("small.readable")),
            Some(media("small.writable")),
            Some(media("other.readable")),
            Some("application/vnd.ed-fi.student.SMALL.readable+json".into()),
        ];
        let mut failures = Failures::of("a key with a profile is refused");
        let mut addresses: Vec<(Method, String)> = vec![(Method::GET, stored.clone())];
        for (method, route) in app.front_door.routes() {
            if matches!(route.guard, Guard::Token { scope } if !["admin", ANY_SCOPE].contains(&scope))
            {
                let path = &paths(app, &route.template)[0];
                addresses.push((method.clone(), path.clone()));
                addresses.push((method.clone(), format!("{path}/")));
                if *method == Method::GET {
                    addresses.push((Method::HEAD, path.clone()));
                }
            }
        }
        for method in [Method::PUT, Method::DELETE, Method::HEAD] {
            addresses.push((method, stored.clone()));
        }
        for (method, path) in addresses {
            for media in &medias {
                let named = |name| media.as_deref().map(|media| (name, media));
                let headers: Vec<(&str, &str)> = [named("accept"), named("content-type")]
                    .into_iter()
                    .flatten()
                    .chain([("authorization", client.authorization.as_str())])
                    .collect();
                let path = if path.starts_with("/ed-fi") {
                    format!("/data/v3{path}")
                } else {
                    path.clone()
                };
                let answer =
                    app.send(method.clone(), &path, &headers, student("1").to_string()).await;
                failures
                    .check(format!("{method} {path} {media:?}"), answer.expect(501).map(|_| ()));
            }
        }
        failures.assert_none(150);
        assert_eq!(owner.newest().await, before);
        assert_eq!(owner.get(&stored).await.status, 200);
    }
}
