//! Tokens of other issuers, which a published API may trust.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use crate::support::{Answer, Answered, Place, Server, Upstream, metric};

pub const ISSUER: &str = "https://login.example.org/";

/// An issuer whose public keys are at an address.
pub struct Issuer {
    published: Arc<Mutex<Value>>,
    pub keys: Upstream,
}

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub fn public(number: u8) -> Value {
    let x = BASE64.encode(key(number).verifying_key().as_bytes());
    json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": number.to_string(), "x": x})
}

impl Issuer {
    pub fn start(keys: Value) -> Self {
        let published = Arc::new(Mutex::new(json!({"keys": keys})));
        let shown = Arc::clone(&published);
        let keys = Upstream::answering(move |_| {
            let body = shown.lock().unwrap().to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            Answered::With(format!("{head}{body}").into_bytes())
        });
        Self { published, keys }
    }
}

fn token_of(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let signed =
        format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
    let signature = BASE64.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

pub fn signed(number: u8, claims: &Value) -> String {
    let header = json!({"alg": "EdDSA", "kid": number.to_string()});
    token_of(&header, claims, |bytes| key(number).sign(bytes).to_bytes().to_vec())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Claims that are accepted, with changes; `null` takes one away.
pub fn claims(changes: &Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "aud": "api", "sub": "s-1", "exp": now() + 600, "scope": "items.read"});
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn published(jwks: &str) -> (Place, Server, Upstream) {
    published_with(jwks, &[])
}

fn published_with(jwks: &str, environment: &[(&str, &str)]) -> (Place, Server, Upstream) {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start_with(&place, environment);
    let operations = json!({"openapi": "3.0.0", "paths": {
        "/items": {"get": {"security": [{"o": ["items.read"]}]}},
        "/admin": {"get": {"security": [{"o": ["items.admin"]}]}}}});
    place.write("items.json", operations.to_string());
    let url = upstream.url();
    let file = format!(
        "[[plans]]\nname = 'few'\nrequests_per_second = 0.001\nburst = 3\n\
         [[apis]]\nname = 'items'\ncontext = 'items'\nversion = 'v1'\nupstream = ['{url}']\n\
         openapi = 'items.json'\n\
         [[apis.issuers]]\nissuer = '{ISSUER}'\njwks = '{jwks}'\naudience = 'api'\n\
         [[apis]]\nname = 'few'\ncontext = 'few'\nversion = 'v1'\nupstream = ['{url}']\nplan = 'few'\n\
         issuers = [{{issuer = '{ISSUER}', jwks = '{jwks}', audience = ['x', 'api'], leeway = '1s'}}]\n\
         [[apis]]\nname = 'own'\ncontext = 'own'\nversion = 'v1'\nupstream = ['{url}']\n\
         [[apis]]\nname = 'ods'\ncontext = 'ods'\nversion = 'v3'\npart = 'data'\n"
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    (place, server, upstream)
}

fn asked(server: &Server, path: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    server.client().send("GET", path, &[("authorization", &bearer)], None).unwrap()
}

#[test]
fn a_token_of_a_trusted_issuer_is_accepted_by_the_api_that_trusts_it_and_by_nothing_else() {
    let issuer = Issuer::start(json!([public(1)]));
    let (_place, server, upstream) = published(&format!("{}/keys", issuer.keys.url()));
    let token = signed(1, &claims(&json!({})));

    let answer = asked(&server, "/apis/items/v1/items", &token);

    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!answer.text().contains(&token), "the token stays here");
    let forbidden = asked(&server, "/apis/items/v1/admin", &token);
    assert_eq!(forbidden.status, 403, "{}", forbidden.text());
    assert!(forbidden.header("www-authenticate").unwrap().contains("insufficient_scope"));
    let admin = signed(1, &claims(&json!({"scope": null, "scp": ["items.admin"]})));
    assert_eq!(asked(&server, "/apis/items/v1/admin", &admin).status, 200);
    for path in [
        "/apis/own/v1/x",
        "/apis/ods/v3/ed-fi/students",
        "/data/v3/ed-fi/students",
        "/adminapi/v2/vendors",
        "/oauth/token_info",
    ] {
        let answer = asked(&server, path, &token);
        assert!(matches!(answer.status, 401 | 405), "{path}: {answer:?}");
    }
    assert_eq!(upstream.take().len(), 2);
    assert_eq!(issuer.keys.take().len(), 1, "the keys are read once");
}

#[test]
fn a_token_that_its_issuer_has_not_signed_so_is_refused() {
    let issuer = Issuer::start(json!([public(1)]));
    let (_place, server, upstream) = published(&issuer.keys.url());
    let evil = Issuer::start(json!([public(2)]));
    let usual = claims(&json!({}));
    let by = |number: u8| move |bytes: &[u8]| key(number).sign(bytes).to_bytes().to_vec();
    let good = signed(1, &usual);
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other = claims(&json!({"sub": "somebody else"}));
    let swapped = format!(
        "{}.{}.{signature}",
        head.split('.').next().unwrap(),
        BASE64.encode(other.to_string())
    );
    let jwk = public(2);

    for (what, token) in [
        ("another key", token_of(&json!({"alg": "EdDSA", "kid": "1"}), &usual, by(2))),
        ("no algorithm", token_of(&json!({"alg": "none"}), &usual, |_| vec![])),
        ("no algorithm, signed", token_of(&json!({"alg": "none", "kid": "1"}), &usual, by(1))),
        ("HS256", token_of(&json!({"alg": "HS256", "kid": "1"}), &usual, by(1))),
        (
            "an algorithm of another key",
            token_of(&json!({"alg": "RS256", "kid": "1"}), &usual, by(1)),
        ),
        ("no signature", format!("{head}.")),
        ("a cut signature", good[..good.len() - 4].to_owned()),
        ("other claims", swapped),
        (
            "an address of keys",
            token_of(&json!({"alg": "EdDSA", "kid": "2", "jku": evil.keys.url()}), &usual, by(2)),
        ),
        (
            "an address of a certificate",
            token_of(&json!({"alg": "EdDSA", "kid": "2", "x5u": evil.keys.url()}), &usual, by(2)),
        ),
        ("a key of its own", token_of(&json!({"alg": "EdDSA", "jwk": jwk}), &usual, by(2))),
        (
            "what must be understood",
            token_of(&json!({"alg": "EdDSA", "kid": "1", "crit": ["x"], "x": 1}), &usual, by(1)),
        ),
        ("another audience", signed(1, &claims(&json!({"aud": "other"})))),
        ("no audience", signed(1, &claims(&json!({"aud": null})))),
        ("another issuer", signed(1, &claims(&json!({"iss": "https://evil.example/"})))),
        ("no issuer", signed(1, &claims(&json!({"iss": null})))),
        ("its end", signed(1, &claims(&json!({"exp": now() - 60})))),
        ("no end", signed(1, &claims(&json!({"exp": null})))),
        ("its beginning", signed(1, &claims(&json!({"nbf": now() + 600})))),
        ("no subject", signed(1, &claims(&json!({"sub": null})))),
        ("a key of its holder", signed(1, &claims(&json!({"cnf": {"jkt": "x"}})))),
    ] {
        let answer = asked(&server, "/apis/items/v1/items", &token);

        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{what}");
        assert!(!answer.text().contains(signature), "{what}");
        let log = server.log();
        assert!(!log.contains(token.rsplit_once('.').unwrap().0), "{what}");
    }
    assert_eq!(upstream.take(), []);
    assert_eq!(evil.keys.take(), [], "an address in a token is not followed");
    assert_eq!(asked(&server, "/apis/items/v1/items", &good).status, 200);
}

#[test]
fn new_keys_of_an_issuer_are_found_and_its_address_is_not_flooded() {
    let issuer = Issuer::start(json!([public(1)]));
    let (_place, server, _upstream) = published(&issuer.keys.url());
    let old = signed(1, &claims(&json!({})));
    assert_eq!(asked(&server, "/apis/items/v1/items", &old).status, 200);

    *issuer.published.lock().unwrap() = json!({"keys": [public(2)]});
    let new = signed(2, &claims(&json!({})));

    assert_eq!(asked(&server, "/apis/items/v1/items", &new).status, 200, "a new key");
    assert_eq!(asked(&server, "/apis/items/v1/items", &old).status, 401, "one that is gone");
    for number in 3..60 {
        let unknown = signed(number, &claims(&json!({})));
        assert_eq!(asked(&server, "/apis/items/v1/items", &unknown).status, 401);
    }
    let reads = issuer.keys.take().len();
    assert!(reads < 10, "{reads} reads");
    assert_eq!(asked(&server, "/apis/items/v1/items", &new).status, 200);
}

#[test]
fn without_the_keys_of_an_issuer_its_tokens_get_503_and_others_go_on() {
    let (place, server, _upstream) = published("http://127.0.0.1:9/keys");
    let made =
        place.json(&["keys", "create", "--json", "--apis", "items", "--api-scopes", "items.read"]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let mut client = server.client_of(&(text("key"), text("secret")));

    let foreign = asked(&server, "/apis/items/v1/items", &signed(1, &claims(&json!({}))));
    let own = client.get("/apis/items/v1/items");

    assert_eq!((foreign.status, foreign.header("retry-after")), (503, Some("5")), "{foreign:?}");
    assert_eq!(own.status, 200, "{}", own.text());
}

/// An issuer whose keys take a second, and the answers to callers who ask for them at the same time.
fn asked_at_once(answer: String, callers: usize, room: &str) -> (Upstream, Server, Vec<Answer>) {
    let keys = Upstream::answering(move |_| {
        std::thread::sleep(Duration::from_secs(1));
        Answered::With(answer.clone().into_bytes())
    });
    let (_place, server, _upstream) =
        published_with(&keys.url(), &[("HOMEROOM_BUDGETS__ISSUER_KEYS", room)]);
    let answers = std::thread::scope(|scope| {
        let asking = (0..callers).map(|number| {
            let token = signed(1, &claims(&json!({"jti": number})));
            let server = &server;
            scope.spawn(move || asked(server, "/apis/items/v1/items", &token))
        });
        let asking: Vec<_> = asking.collect();
        asking.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    (keys, server, answers)
}

#[test]
fn one_reading_of_keys_is_for_all_who_wait_and_after_a_failure_there_is_a_pause() {
    let failing = "HTTP/1.1 500 Sorry\r\ncontent-length: 0\r\n\r\n".to_owned();
    let begun = Instant::now();

    let (keys, server, answers) = asked_at_once(failing, 20, "1000");

    let took = begun.elapsed();
    for answer in &answers {
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
    }
    assert_eq!(keys.take().len(), 1, "after {took:?}");
    let again = asked(&server, "/apis/items/v1/items", &signed(1, &claims(&json!({}))));
    assert_eq!(again.status, 503);
    assert_eq!(keys.take(), [], "it is left alone for a while");
}

#[test]
fn more_callers_than_may_wait_for_keys_are_refused_by_the_budgets_name() {
    let set = json!({"keys": [public(1)]}).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{set}", set.len());

    let (_keys, server, answers) = asked_at_once(answer, 8, "4");

    let (good, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(good.len(), 2, "one issuer has half: {answers:?}");
    for answer in refused {
        assert_eq!(answer.status, 503);
        assert!(answer.text().contains("budget issuer_keys"), "{}", answer.text());
    }
    let figure = |name: &str| metric(&server, &format!("{name}{{budget=\"issuer_keys\"}}"));
    assert_eq!(figure("homeroom_budget_refused_total"), 6);
    assert_eq!((figure("homeroom_budget_used"), figure("homeroom_budget_size")), (0, 4));
}

#[test]
fn each_caller_of_an_issuer_has_the_plan_of_the_api() {
    let issuer = Issuer::start(json!([public(1)]));
    let (_place, server, _upstream) = published(&issuer.keys.url());
    let statuses = |subject: &str| -> Vec<u16> {
        let claims = |number: usize| claims(&json!({"sub": subject, "jti": number}));
        (0..5).map(|n| asked(&server, "/apis/few/v1/x", &signed(1, &claims(n))).status).collect()
    };

    assert_eq!(statuses("a"), [200, 200, 200, 429, 429]);
    assert_eq!(statuses("b"), [200, 200, 200, 429, 429]);
}

#[test]
fn issuers_that_make_no_sense_are_found_by_lint_with_their_line() {
    let place = Place::new();
    let api = "name = 'a'\ncontext = 'a'\nversion = 'v1'\n";
    let good = "jwks = 'https://i/keys', audience = 'x'";
    place.write(
        "wrong.toml",
        format!(
            "\n[[apis]]\n{api}upstream = ['http://a']\nissuers = [{{issuer = '', jwks = 'keys', audience = []}}, \
             {{issuer = 'i', {good}, leeway = '1h'}}, {{issuer = 'i', {good}}}]\n\
             [[apis]]\nname = 'b'\ncontext = 'b'\nversion = 'v1'\npart = 'data'\nsecurity = 'api-key'\n\
             issuers = [{{issuer = 'i', {good}}}]\n"
        ),
    );
    place.write(
        "unknown.toml",
        format!("[[apis]]\n{api}issuers = [{{issuer = 'i', {good}, secret = 'x'}}]\n"),
    );

    let wrong = place.run(&["gateway", "lint", "wrong.toml"]);
    let unknown = place.run(&["gateway", "lint", "unknown.toml"]);

    for text in [
        "wrong.toml:7: apis[0].issuers[0].issuer",
        "wrong.toml:7: apis[0].issuers[0].jwks",
        "wrong.toml:7: apis[0].issuers[0].audience",
        "wrong.toml:7: apis[0].issuers[1].leeway",
        "wrong.toml:7: apis[0].issuers[2].issuer",
        "wrong.toml:14: apis[1].issuers",
    ] {
        assert!(wrong.stderr.contains(text), "{text}: {}", wrong.stderr);
    }
    assert_eq!((wrong.code, unknown.code), (Some(1), Some(1)), "{unknown:?}");
    assert!(unknown.stderr.contains("unknown.toml:"), "{}", unknown.stderr);
}
