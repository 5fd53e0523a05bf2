//! Pages of other origins that call published APIs, as a browser lets them: it asks before, and it reads the
//! answer only if that says so.

use serde_json::json;

use crate::published::{Upstream, subscriber};
use crate::support::{Answer, Client, Place, Server};

const PAGE: &str = "https://app.test";

fn publish(place: &Place, upstream: &Upstream) {
    let api = |name: &str, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\n\
             upstream = ['{}']\n{more}\n",
            upstream.url()
        )
    };
    let file = [
        api(
            "keyed",
            &format!("security = 'api-key'\nopenapi = 'd.json'\ncors_origins = ['{PAGE}']"),
        ),
        api("tokens", &format!("cors_origins = ['{PAGE}', 'https://other.test']")),
        api("open", "security = 'none'\ncors_origins = ['*']"),
        api(
            "cookies",
            &format!("security = 'none'\ncors_origins = ['{PAGE}']\ncors_credentials = true"),
        ),
        api("none", "security = 'none'"),
    ];
    let operations = json!({"openapi": "3.0.0", "paths": {
        "/items": {"get": {}, "post": {}}, "/items/{id}": {"delete": {}}}});
    place.write("d.json", operations.to_string());
    place.write("apis.toml", file.concat());
    place.done(&["gateway", "apply", "apis.toml"]);
}

fn ask(client: &mut Client, origin: &str, method: &str, path: &str) -> Answer {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "content-type,x-api-key"),
    ];
    client.send("OPTIONS", path, &headers, None).unwrap()
}

/// Sends what a page wants to send, as a browser does, and returns what the page may read.
fn browse(
    client: &mut Client,
    origin: &str,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    is_with_credentials: bool,
) -> Option<Answer> {
    let may = |answer: &Answer| {
        let allowed = answer.header("access-control-allow-origin");
        let is_for_credentials = answer.header("access-control-allow-credentials") == Some("true");
        allowed == Some(origin) && (is_for_credentials || !is_with_credentials)
    };
    let granted = ask(client, origin, method, path);
    let list = |name: &str| granted.header(name).unwrap_or_default().to_lowercase();
    let (methods, names) =
        (list("access-control-allow-methods"), list("access-control-allow-headers"));
    let has =
        |list: &str, name: &str| list.split(',').any(|own| own.trim().eq_ignore_ascii_case(name));
    if granted.status != 204 || !may(&granted) || !has(&methods, method) {
        return None;
    }
    assert!(headers.iter().all(|(name, _)| has(&names, name)), "{names}");
    let sent = [&[("origin", origin)], headers].concat();
    Some(client.send(method, path, &sent, Some(b"{}")).unwrap()).filter(may)
}

#[test]
fn a_page_calls_a_published_api_as_a_browser_lets_it() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let key = subscriber(&place, &["--apis", "keyed"]);
    let secret = format!("{}.{}", key.0, key.1);
    let own = [("x-api-key", secret.as_str()), ("content-type", "application/json")];
    let mut client = server.client();

    let posted = browse(&mut client, PAGE, ("POST", "/apis/keyed/v1/items"), &own, false).unwrap();
    let stranger = browse(&mut client, PAGE, ("POST", "/apis/keyed/v1/items"), &[], false).unwrap();
    let unknown = browse(&mut client, PAGE, ("GET", "/apis/keyed/v1/no"), &own, false).unwrap();
    let open =
        browse(&mut client, "https://any.test", ("PUT", "/apis/open/v1/x"), &own[1..], false);

    assert_eq!(posted.status, 200, "{}", posted.text());
    assert_eq!(posted.header("access-control-expose-headers"), Some("*"));
    assert_eq!((stranger.status, unknown.status), (401, 404), "a page can read refusals");
    assert_eq!(open.unwrap().status, 200);
    let asked = upstream.asked();
    let wrong = ("PATCH", "/apis/keyed/v1/items");
    assert_eq!(browse(&mut client, PAGE, wrong, &own, false), None, "it is no operation");
    assert_eq!(browse(&mut client, "https://no.test", ("GET", wrong.1), &own, false), None);
    assert_eq!(ask(&mut client, "https://no.test", "GET", "/apis/open/v1/x").status, 204);
    assert_eq!(ask(&mut client, "https://no.test", "GET", "/apis/tokens/v1/x").status, 403);
    assert_eq!(upstream.asked(), asked, "what a browser asks is not passed on");
    let methods = ask(&mut client, PAGE, "DELETE", "/apis/keyed/v1/items/7");
    assert_eq!(methods.header("access-control-allow-methods"), Some("DELETE"));
    let base = ask(&mut client, PAGE, "GET", "/apis/tokens/v1");
    assert_eq!(base.status, 204);
    assert_eq!(
        ask(&mut client, PAGE, "GET", "/apis/none/v1/x").status,
        200,
        "it is its upstream's"
    );
}

#[test]
fn cookies_are_sent_along_where_an_api_says_so() {
    let (place, upstream) = (Place::new(), Upstream::start());
    let server = Server::start(&place);
    publish(&place, &upstream);
    let mut client = server.client();
    let content = [("content-type", "application/json")];
    let mut with_cookies = |name: &str, origin: &str| {
        browse(&mut client, origin, ("PUT", &format!("/apis/{name}/v1/x")), &content, true)
    };

    let allowed = with_cookies("cookies", PAGE).unwrap();

    assert_eq!(allowed.status, 200);
    let told = allowed.header("access-control-expose-headers").unwrap();
    assert!(told.split(", ").any(|name| name == "x-request-id"), "{told}");
    assert_eq!(with_cookies("open", PAGE), None);
    assert_eq!(with_cookies("cookies", "https://no.test"), None);
    place.write(
        "wrong.toml",
        "[[apis]]\nname = 'a'\ncontext = 'a'\nversion = 'v1'\nupstream = ['http://a']\n\
         cors_origins = ['*', 'https://a.test/path']\ncors_credentials = true\n",
    );
    let refused = place.run(&["gateway", "lint", "wrong.toml"]);
    for told in ["apis[0].cors_credentials", "apis[0].cors_origins[1]"] {
        assert!(refused.stderr.contains(told) || refused.stdout.contains(told), "{refused:?}");
    }
}
