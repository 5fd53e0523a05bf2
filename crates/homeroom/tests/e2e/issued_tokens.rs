//! Tokens that are asked for with scopes of published APIs, and tokens of one server at another.

use serde_json::{Value, json};

use crate::published::subscriber;
use crate::support::{Place, STUDENTS, Server, Upstream, eventually};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Asks for a token; returns the answer.
fn issued(server: &Server, (key, secret): &(String, String), scope: &str) -> Value {
    let scope = scope.replace(' ', "+");
    let form = format!(
        "grant_type=client_credentials&client_id={key}&client_secret={secret}&scope={scope}"
    );
    let answer = server.client().send("POST", "/oauth/token", &[FORM], Some(form.as_bytes()));
    answer.unwrap().json()
}

fn token(server: &Server, key: &(String, String), scope: &str) -> String {
    let answer = issued(server, key, scope);
    answer["access_token"].as_str().unwrap_or_else(|| panic!("{scope}: {answer}")).to_owned()
}

fn status(server: &Server, method: &str, path: &str, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let sent = server.client().send(method, path, &[("authorization", &bearer)], None);
    sent.unwrap().status
}

/// An API `items` whose operations ask for the scopes `items.read` and `items.write`.
fn items(place: &Place, upstream: &Upstream, more: &str) -> String {
    let operations = json!({"openapi": "3.0.0", "paths": {"/items": {
        "get": {"security": [{"o": ["items.read"]}]},
        "post": {"security": [{"o": ["items.write"]}]}}}});
    place.write("items.json", operations.to_string());
    format!(
        "[[apis]]\nname = 'items'\ncontext = 'items'\nversion = 'v1'\nopenapi = 'items.json'\n\
         upstream = ['{}']\n{more}\n",
        upstream.url()
    )
}

fn apply(place: &Place, file: &str) {
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
}

#[test]
fn a_token_is_for_the_scopes_that_it_was_asked_for_with() {
    Place::on_each_store(|place| {
        let upstream = Upstream::echo();
        let server = Server::start(place);
        let part = "[[apis]]\nname = 'ods'\ncontext = 'ods'\nversion = 'v3'\npart = 'data'\n\
                    scopes = ['items.read']\n";
        apply(place, &(items(place, &upstream, "") + part));
        let apis = ["--apis", "items,ods", "--api-scopes", "items.read,items.write"];
        let data = ["--scope", "data", "--claim-set", "FullAccess"];
        let key = subscriber(place, &[&data[..], &apis].concat());
        eventually("the key, its scopes and its APIs are known", || {
            let issued = issued(&server, &key, "");
            issued["access_token"].as_str().is_some_and(|token| {
                ["/apis/items/v1/items", "/apis/ods/v3/ed-fi/students"]
                    .iter()
                    .all(|path| status(&server, "GET", path, token) == 200)
            })
        });

        for (scope, get, post, data, part) in [
            ("", 200, 200, 200, 200),
            ("items.read", 200, 403, 403, 403),
            ("items.write", 403, 200, 403, 403),
            ("items.read data", 200, 403, 200, 200),
            ("data", 403, 403, 200, 403),
            ("apis", 403, 403, 403, 403),
        ] {
            let token = token(&server, &key, scope);
            let status = |method: &str, path: &str| status(&server, method, path, &token);

            assert_eq!(status("GET", "/apis/items/v1/items"), get, "GET, {scope}");
            assert_eq!(status("POST", "/apis/items/v1/items"), post, "POST, {scope}");
            assert_eq!(status("GET", STUDENTS), data, "data, {scope}");
            assert_eq!(status("GET", "/apis/ods/v3/ed-fi/students"), part, "the part, {scope}");
        }
        assert_eq!(issued(&server, &key, "items.read items.admin")["error"], "invalid_scope");
        assert_eq!(issued(&server, &key, "items.read")["scope"], "items.read");
        let held = token(&server, &key, "items.read");
        let bearer = format!("Bearer {held}");
        let refused = server.client().send(
            "POST",
            "/apis/items/v1/items",
            &[("authorization", &bearer)],
            None,
        );
        let refused = refused.unwrap();
        assert!(refused.header("www-authenticate").unwrap().contains("insufficient_scope"));
        place.done(&[
            "keys",
            "subscribe",
            &key.0,
            "--apis",
            "items",
            "--api-scopes",
            "items.write",
        ]);
        eventually("the key has lost the scope, and so has its token", || {
            status(&server, "GET", "/apis/items/v1/items", &held) == 403
        });
    });
}

#[test]
fn one_server_accepts_tokens_of_another_by_issuer_and_audience() {
    let (upstream, own) = (Upstream::echo(), Upstream::echo());
    let (here, there) = (Place::new(), Place::new());
    let server = Server::start(&there);
    let other = "[[apis]]\nname = 'other'\ncontext = 'other'\nversion = 'v1'\n";
    let other = format!("{other}upstream = ['{}']\n", own.url());
    apply(&there, &(items(&there, &own, "") + &other));
    let metadata = server.client().get("/.well-known/oauth-authorization-server").json();
    let text = |member: &str| metadata[member].as_str().unwrap().to_owned();
    let (issuer, keys) = (text("issuer"), text("jwks_uri"));
    let trusting = Server::start(&here);
    let trusts =
        format!("issuers = [{{issuer = '{issuer}', jwks = '{keys}', audience = 'items'}}]");
    apply(&here, &items(&here, &upstream, &trusts));
    let of = |apis: &str| {
        subscriber(&there, &["--apis", apis, "--api-scopes", "items.read,items.write"])
    };
    let (meant, not_meant) = (of("items,other"), of("other"));
    let asked =
        |method: &str, token: &str| status(&trusting, method, "/apis/items/v1/items", token);

    let good = token(&server, &meant, "items.read");

    assert_eq!((asked("GET", &good), asked("POST", &good)), (200, 403));
    assert_eq!(asked("GET", &token(&server, &meant, "")), 403, "it names no scopes");
    assert_eq!(asked("GET", &token(&server, &not_meant, "items.read")), 401, "another audience");
    assert_eq!(status(&trusting, "GET", STUDENTS, &good), 401);
    assert_eq!(own.take(), [], "the issuer is not asked");
    server.stop();
    let renamed = [("HOMEROOM_SERVER__PUBLIC_URL", "https://there.example")];
    let server = Server::start_with(&there, &renamed);
    let metadata = server.client().get("/.well-known/oauth-authorization-server").json();
    assert_eq!(metadata["token_endpoint"], "https://there.example/oauth/token");
    let renamed = token(&server, &meant, "items.read");
    assert_eq!(asked("GET", &renamed), 401, "another issuer");
    assert_eq!(
        status(&server, "GET", "/apis/items/v1/items", &renamed),
        200,
        "its own is good there"
    );
    assert_eq!(
        status(&server, "GET", "/apis/items/v1/items", &good),
        200,
        "so is that of its old name"
    );
}
