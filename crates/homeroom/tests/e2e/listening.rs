//! How the API listens, as the configuration says: TLS, parts, origins, limits, the log of requests.

use homeroom_client::{BlockingClient, Request, Settings, Trust, Url};
use homeroom_testkit::tls::Authority;
use serde_json::Value;

use crate::support::{PATIENCE, Place, Server};

#[test]
fn the_api_listens_with_tls_when_it_has_a_certificate() {
    let place = Place::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    place.write("api.pem", made.cert.pem());
    place.write("api.key", made.signing_key.serialize_pem());
    let file = "[[server.tls]]\ncertificate = 'api.pem'\nkey = 'api.key'\nnames = ['localhost']\n";
    place.write("homeroom.toml", file);

    let server = Server::start(&place);

    let trust = Trust::Bundle(made.cert.pem().into_bytes());
    let settings = Settings { trust, ..Settings::for_operator(PATIENCE) };
    let url = format!("https://localhost:{}/", server.api.port());
    let request = Request::get(Url::parse(&url).unwrap()).header("accept", "application/json");
    let client = BlockingClient::new(settings).unwrap();
    let answer = client.send(request.unwrap(), 1 << 20).unwrap();
    assert_eq!(answer.status, 200);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let links = body["urls"]["dataManagementApi"].as_str().unwrap();
    assert!(links.starts_with("https://localhost:"), "{links}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_client_gets_a_token_by_a_certificate_that_is_registered_with_its_key() {
    let place = Place::new();
    let authority = Authority::new();
    let (own, client) = (authority.certify("localhost"), authority.certify("client"));
    for (name, text) in [
        ("api.pem", &own.certificate),
        ("api.key", &own.key),
        ("clients.pem", &authority.pem),
        ("client.pem", &client.certificate),
    ] {
        place.write(name, text);
    }
    let file = "[server]\nclient_authorities = 'clients.pem'\n\
                [[server.tls]]\ncertificate = 'api.pem'\nkey = 'api.key'\n";
    place.write("homeroom.toml", file);
    let (key, _) = place.key("FullAccess");
    let server = Server::start(&place);
    let body = format!("grant_type=client_credentials&client_id={key}");
    let request = format!(
        "POST /oauth/token HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let ask = || authority.ask(server.api, Some(&client), &request).unwrap();
    assert!(ask().starts_with("HTTP/1.1 401 "));

    let added = place.done(&["keys", "add-certificate", &key, "client.pem"]);

    let issued = ask();
    assert!(issued.starts_with("HTTP/1.1 200 ") && issued.contains("access_token"), "{issued}");
    let listed = place.json(&["keys", "list", "--json"]);
    let certificates = listed["keys"][0]["certificates"].as_array().unwrap();
    let [sha256] = &certificates[..] else { panic!("{listed}") };
    assert!(added.contains(sha256.as_str().unwrap()), "{added}");
    place.done(&["keys", "remove-certificate", &key, sha256.as_str().unwrap()]);
    assert!(ask().starts_with("HTTP/1.1 401 "));
    assert_eq!(server.stop().code, Some(0));
    let unknown = place.run(&["keys", "add-certificate", &key, "none.pem"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("none.pem"), "{unknown:?}");
}

#[test]
fn a_certificate_that_cannot_be_used_keeps_the_server_from_starting() {
    let place = Place::new();
    place.write("api.pem", "nothing");
    place.write("homeroom.toml", "[[server.tls]]\ncertificate = 'api.pem'\nkey = 'api.pem'\n");

    let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);

    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("server.tls") && ran.stderr.contains("api.pem"), "{ran:?}");
    assert!(!place.data().exists(), "nothing is made");
}

#[test]
fn only_the_named_parts_are_served() {
    let place = Place::new();
    for (parts, data, admin, bulk) in [
        ("", 200, 200, 200),
        ("data", 200, 404, 404),
        ("admin", 404, 200, 404),
        ("bulk", 404, 404, 200),
    ] {
        let server = Server::start_with(&place, &[("HOMEROOM_SERVER__PARTS", parts)]);
        let status = |path: &str| server.client().get(path).status;

        assert_eq!(status("/metadata/data/v3/dependencies"), data, "{parts}");
        assert_eq!(status("/adminapi"), admin, "{parts}");
        assert_eq!(status("/metadata/bulk/v2/swagger.json"), bulk, "{parts}");
        assert_eq!(status("/readyz"), 200, "{parts}");
    }
    let wrong = place.run(&["serve", "--parts", "courses"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn a_correlation_id_leads_to_who_what_and_when() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let environment = [
        ("HOMEROOM_LOG__REQUESTS", "errors"),
        ("HOMEROOM_LOG__REQUESTS_FILE", "requests.jsonl"),
        ("HOMEROOM_SERVER__CORS_ORIGINS", "https://app.test"),
    ];
    let server = Server::start_with(&place, &environment);
    let mut client = server.client_of(&key);
    let path = "/data/v3/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";
    let headers = [("correlationid", "find-me"), ("origin", "https://app.test")];

    let answer = client.send("GET", path, &headers, None).unwrap();
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.test"));
    assert_eq!(server.stop().code, Some(0));

    let text = std::fs::read_to_string(place.path("requests.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [line] = &lines[..] else { panic!("{text}") };
    assert_eq!(line["correlation_id"], "find-me");
    assert_eq!(line["key"], *key.0);
    assert_eq!(line["resource"], "ed-fi/students");
    assert_eq!(line["status"], 404);
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
    assert!(!text.contains("0197d8f1b4347f0b"), "{text}");
}

#[test]
fn each_key_has_as_many_live_tokens_as_are_set() {
    let place = Place::new();
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__CLIENT_TOKENS_MAX", "2")]);
    let (key, secret) = place.key("FullAccess");
    let (other, its_secret) = place.key("FullAccess");
    let mut client = server.client();
    let mut ask = |key: &str, secret: &str| {
        let form = format!("grant_type=client_credentials&client_id={key}&client_secret={secret}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        client.send("POST", "/oauth/token", &headers, Some(form.as_bytes())).unwrap().status
    };

    let statuses: Vec<u16> = (0..3).map(|_| ask(&key, &secret)).collect();

    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(ask(&other, &its_secret), 200);
}

#[test]
fn each_client_has_a_limit_where_one_is_set() {
    let place = Place::new();
    let environment =
        [("HOMEROOM_SERVER__CLIENT_RATE", "0.001"), ("HOMEROOM_SERVER__CLIENT_BURST", "2")];
    let server = Server::start_with(&place, &environment);
    let mut client = server.client();

    let statuses: Vec<u16> = (0..3).map(|_| client.get("/version").status).collect();

    assert_eq!(statuses, [200, 200, 429]);
    for probe in ["/livez", "/readyz", "/startupz", "/health"] {
        let statuses: Vec<u16> = (0..3).map(|_| client.get(probe).status).collect();
        assert_eq!(statuses, [200; 3], "{probe}");
    }
    assert_eq!(client.get("/version").status, 429);
}
