//! Every route that is not public refuses an unknown caller, and the public ones are listed.

use homeroom_data::composites::Segment;
use homeroom_http::{Guard, RequestBody, Timestamp};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::app::failures::Failures;
use crate::app::{FULL_ACCESS, TestApp};

/// What anybody may call. A new line here is a decision.
const PUBLIC: [&str; 34] = [
    "* /adminapi/v1/{*rest}",
    "GET /",
    "GET /.well-known/jwks.json",
    "GET /.well-known/oauth-authorization-server",
    "GET /adminapi",
    "GET /docs",
    "GET /docs/reference.css",
    "GET /docs/reference.js",
    "GET /metadata",
    "GET /metadata/adminapi/gateway/v1/swagger.json",
    "GET /metadata/adminapi/v2/swagger.json",
    "GET /metadata/batch/v1/swagger.json",
    "GET /metadata/bulk/v2/swagger.json",
    "GET /metadata/changequeries/v1/swagger.json",
    "GET /metadata/composites/v1/{organization}/{category}/swagger.json",
    "GET /metadata/data/v3/dependencies",
    "GET /metadata/data/v3/descriptors/swagger.json",
    "GET /metadata/data/v3/resources/swagger.json",
    "GET /metadata/data/v3/swagger.json",
    "GET /metadata/data/v3/{schema}/swagger.json",
    "GET /metadata/dependencies",
    "GET /metadata/specifications",
    "GET /metadata/specifications/change-queries-spec.json",
    "GET /metadata/specifications/descriptors-spec.json",
    "GET /metadata/specifications/discovery-spec.json",
    "GET /metadata/specifications/resources-spec.json",
    "GET /metadata/xsd",
    "GET /metadata/xsd/{schema}/files",
    "GET /metadata/xsd/{schema}/{file}",
    "POST /adminapi/connect/register",
    "POST /adminapi/connect/token",
    "POST /oauth/introspect",
    "POST /oauth/revoke",
    "POST /oauth/token",
];

/// A day, in seconds.
const DAY: i64 = 86_400;

/// Returns a token that was issued at `now` by the API's own route.
async fn token_of(app: &TestApp, now: Timestamp) -> String {
    token_for(app, app.key(FULL_ACCESS, &[]).await, now).await
}

/// Returns a token of a key for one scope.
pub async fn token_of_scope(app: &TestApp, scope: &str, now: Timestamp) -> String {
    let asked = homeroom_access::Manage::CreateKey {
        claim_set: (scope == "data").then(|| FULL_ACCESS.into()),
        name: None,
        scopes: vec![scope.into()],
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    };
    let made = app.access.manage(asked, now).await.unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    token_for(app, (text("key"), text("secret")), now).await
}

async fn token_for(app: &TestApp, (key, secret): (String, String), now: Timestamp) -> String {
    let routes = homeroom_access::routes(&app.access);
    let route = routes.iter().find(|route| route.template == "/oauth/token").unwrap();
    let body = json!({
        "grant_type": "client_credentials", "client_id": key, "client_secret": secret
    });
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let call = homeroom_access::Call {
        headers,
        body: RequestBody::Bytes(body.to_string().into()),
        body_limits: route.body,
        ..homeroom_testkit::call(Method::POST, "/oauth/token", now)
    };
    let response = (route.handler)(call).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    body["access_token"].as_str().unwrap().to_owned()
}

/// Returns paths that match a composite's template: lists, items and routes of each category, and
/// one that does not exist.
fn composite_paths(app: &TestApp, template: &str) -> Vec<String> {
    const ID: &str = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";
    let root = "/composites/v1";
    let mut all = vec![];
    for category in &app.composites.categories {
        let own = format!("{root}/{}/{}", category.organization, category.name);
        for composite in &category.composites {
            all.push(format!("{own}/{}", composite.plural));
            all.push(format!("{own}/{}/{ID}", composite.plural));
            for route in category.routes.iter().filter(|route| route.leads_to(composite)) {
                let segments = route.segments.iter().map(|segment| match segment {
                    Segment::Fixed(text) => text.as_str(),
                    Segment::Parameter(_) => ID,
                    Segment::Composite => composite.plural.as_str(),
                });
                all.push(format!("{own}/{}", segments.collect::<Vec<_>>().join("/")));
            }
        }
    }
    let length = template.split('/').count();
    all.retain(|path| path.split('/').count() == length);
    all.push(template.replace(['{', '}'], "").replace("s1", "thereIsNoSuchThing"));
    all
}

/// The paths that a template stands for: of each resource or composite, or the template itself.
pub fn paths(app: &TestApp, template: &str) -> Vec<String> {
    if template.starts_with("/composites/") {
        return composite_paths(app, template);
    }
    if !template.contains("{endpoint}") {
        let other = template.replace("{schema}", "ed-fi").replace("{file}", "x.xsd");
        let other = other.replace("{id}", "999").replace("{resourceClaimId}", "999");
        let other = other.replace("{tenantName}", "default").replace("{organization}", "ed-fi");
        let other = other.replace("{category}", "enrollment");
        let other = other.replace("{schoolYear}", "2026").replace("{uploadId}", "999");
        let other = other.replace("{name}", "999").replace("{*rest}", "vendors");
        assert!(!other.contains('{'), "{template}: say what its placeholders stand for");
        return vec![other];
    }
    let id = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";
    let resources = app.model().resources.iter();
    let of = |schema: &str, endpoint: &str| {
        let path = template.replace("{schema}", schema).replace("{endpoint}", endpoint);
        path.replace("{id}", id)
    };
    resources
        .map(|resource| of(&resource.schema, &resource.endpoint))
        .chain([of("ed-fi", "thereIsNoSuchThing")])
        .collect()
}

#[tokio::test]
async fn the_public_routes_are_these() {
    for app in TestApp::on_each_store().await {
        let mut public: Vec<String> = app
            .front_door
            .routes()
            .filter(|(_, route)| route.guard == Guard::Public)
            .map(|(method, route)| format!("{method} {}", route.template))
            .collect();

        public.sort_unstable();
        assert_eq!(public, PUBLIC);
    }
}

#[tokio::test]
async fn every_other_route_refuses_a_stranger() {
    for app in TestApp::on_each_store().await {
        let valid = token_of(&app, Timestamp::now()).await;
        let expired = token_of(&app, Timestamp::now().plus_seconds(-DAY)).await;
        let (claims, signature) = valid.rsplit_once('.').unwrap();
        let forged = format!("{claims}.{}", signature.chars().rev().collect::<String>());
        let strangers = [
            None,
            Some(String::new()),
            Some("Bearer".into()),
            Some("Bearer ".into()),
            Some("Bearer nonsense".into()),
            Some(format!("Basic {valid}")),
            Some(valid.clone()),
            Some(format!("Bearer {expired}")),
            Some(format!("Bearer {forged}")),
            Some(format!("Bearer {}", "x".repeat(10_000))),
            Some("Bearer é".into()),
        ];
        let mut failures = Failures::of("a stranger is refused");
        for (method, route) in
            app.front_door.routes().filter(|(_, route)| route.guard != Guard::Public)
        {
            for path in paths(&app, &route.template) {
                for authorization in &strangers {
                    let headers: Vec<(&str, &str)> =
                        authorization.iter().map(|a| ("authorization", a.as_str())).collect();
                    let answer = app.send(method.clone(), &path, &headers, "{}").await;
                    let outcome =
                        answer.try_problem(401, "security:authentication").and_then(|_| {
                            let challenge = answer.headers.get("www-authenticate");
                            let challenge = challenge.and_then(|value| value.to_str().ok());
                            match challenge.filter(|value| value.starts_with("Bearer")) {
                                Some(_) => Ok(()),
                                None => Err(format!("challenged with {challenge:?}")),
                            }
                        });
                    failures.check(format!("{method} {path} as {authorization:?}"), outcome);
                }
            }
        }
        failures.assert_none(30_000);
    }
}

#[tokio::test]
async fn every_other_route_admits_a_caller_with_a_token() {
    for app in TestApp::on_each_store().await {
        let token = format!("Bearer {}", token_of(&app, Timestamp::now()).await);
        let admin_token =
            format!("Bearer {}", token_of_scope(&app, "admin", Timestamp::now()).await);
        for (method, route) in
            app.front_door.routes().filter(|(_, route)| route.guard != Guard::Public)
        {
            let path = &paths(&app, &route.template)[0];
            let is_admin = route.guard == Guard::Token { scope: "admin" };
            let token = if is_admin { &admin_token } else { &token };
            let headers = [("authorization", token.as_str()), ("content-type", "application/json")];

            let answer = app.send(method.clone(), path, &headers, "{}").await;

            assert!(![401, 403, 500].contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_token_of_one_scope_is_refused_in_every_other() {
    for app in TestApp::on_each_store().await {
        let mut tokens = vec![];
        for scope in homeroom_access::Scope::SERVED {
            let token = token_of_scope(&app, scope.name(), Timestamp::now()).await;
            tokens.push((scope.name(), format!("Bearer {token}")));
        }
        let mut failures = Failures::of("a token of one scope is useless for every other");
        for (method, route) in app.front_door.routes() {
            let Guard::Token { scope } = route.guard else { continue };
            let path = &paths(&app, &route.template)[0];
            for (own, token) in &tokens {
                let headers =
                    [("authorization", token.as_str()), ("content-type", "application/json")];

                let answer = app.send(method.clone(), path, &headers, "{}").await;

                let outcome = if scope == *own || scope == homeroom_access::ANY_SCOPE {
                    match answer.status {
                        401 | 403 | 500 => Err(format!("{answer:?}")),
                        _ => Ok(()),
                    }
                } else {
                    answer.try_problem(403, "security:authorization").map(|_| ())
                };
                failures.check(format!("{method} {path} with {own}"), outcome);
            }
        }
        failures.assert_none(200);
    }
}

#[tokio::test]
async fn a_revoked_key_is_a_stranger_at_once() {
    for app in TestApp::on_each_store().await {
        let client = app.client(FULL_ACCESS).await;
        assert_eq!(client.get("/ed-fi/students").await.status, 200);
        let asked =
            homeroom_access::Manage::RevokeKey { key: client.key.clone(), old_secrets_only: false };

        app.access.manage(asked, Timestamp::now()).await.unwrap();

        client.get("/ed-fi/students").await.problem(401, "security:authentication");
    }
}
