//! A reverse proxy that puts a path in front: addresses in answers have it, if the proxy is trusted.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Answer, Client, Place, STUDENTS, Server, Wire, eventually, student};

const FORWARDED: [(&str, &str); 3] = [
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "example.org"),
    ("x-forwarded-prefix", "/ods"),
];
const SEEN: &str = "https://example.org/ods";

fn get(client: &mut Client, path: &str) -> Answer {
    client.send("GET", path, &FORWARDED, None).unwrap()
}

/// Returns every text of a JSON document that is a URL of this server.
fn urls(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("http") => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(urls).collect(),
        Value::Object(members) => members.values().flat_map(urls).collect(),
        _ => vec![],
    }
}

#[test]
fn behind_a_trusted_proxy_every_address_in_answers_begins_with_its_path() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", "true")]);
    let mut client = server.client_of(&key);

    let discovery = get(&mut client, "/").json();
    assert_eq!(discovery["urls"]["dataManagementApi"], format!("{SEEN}/data/v3/"));
    assert_eq!(discovery["urls"]["oauth"], format!("{SEEN}/oauth/token"));
    let listed = get(&mut client, "/metadata").json();
    for url in urls(&discovery["urls"]).iter().chain(&urls(&listed)) {
        assert!(url.starts_with(&format!("{SEEN}/")), "{url}");
    }
    let resources = "/metadata/data/v3/resources/swagger.json";
    let openapi = get(&mut client, resources).json();
    assert_eq!(openapi["servers"][0]["url"], format!("{SEEN}/data/v3"), "{}", openapi["servers"]);
    let token = &openapi["components"]["securitySchemes"]["oauth2_client_credentials"];
    let token = &token["flows"]["clientCredentials"]["tokenUrl"];
    assert_eq!(*token, format!("{SEEN}/oauth/token"));

    let headers = [&FORWARDED[..], &[("content-type", "application/json")]].concat();
    for id in ["1", "2", "3"] {
        let body = student(id, "Ada").to_string();
        let made = client.send("POST", STUDENTS, &headers, Some(body.as_bytes())).unwrap();
        let location = made.header("location").unwrap();
        assert!(location.starts_with(&format!("{SEEN}{STUDENTS}/")), "{location}");
    }
    let page = get(&mut client, "/docs").text();
    for name in ["href=\"", "src=\"", "data-document=\""] {
        let of = |rest: &str| rest.split('"').next().unwrap_or_default().to_owned();
        let targets: Vec<String> = page.split(name).skip(1).map(of).collect();
        assert!(!targets.is_empty(), "{name}");
        assert!(targets.iter().all(|to| !to.starts_with('/')), "relative: {targets:?}");
    }
    let browser = [&FORWARDED[..], &[("accept", "text/html")]].concat();
    let page = client.send("GET", "/", &browser, None).unwrap().text();
    assert!(page.contains(SEEN) && !page.contains("href=\"/"), "{page}");
}

#[test]
fn a_path_that_no_trusted_proxy_sends_counts_for_nothing() {
    let place = Place::new();
    for (trust, prefix) in [("false", "/ods"), ("true", "//evil.example"), ("true", "/a/../b")] {
        let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", trust)]);

        let headers = [("x-forwarded-prefix", prefix)];
        let answer = server.client().send("GET", "/", &headers, None).unwrap().json();

        let expected = format!("http://{}/data/v3/", server.api);
        assert_eq!(answer["urls"]["dataManagementApi"], expected, "{trust} {prefix}");
    }
}

/// nginx in one process, as `deploy/nginx.conf` has it, without TLS.
struct Proxy(Child);

impl Proxy {
    /// Starts it, or says why the test is skipped.
    fn start(place: &Place, listen: SocketAddr, node: SocketAddr) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
        let Some(program) = program.iter().find(|path| Path::new(path).exists()) else {
            println!("skipped: nginx is not installed");
            return None;
        };
        let shipped = include_str!("../../../../deploy/nginx.conf");
        let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("ssl_"));
        let part = lines.collect::<Vec<_>>().join("\n");
        let part = part
            .replace("listen 443 ssl;", &format!("listen {listen};"))
            .replace("server 10.0.0.11:8080", &format!("server {node}"))
            .replace("server 10.0.0.12:8080", &format!("server {node} backup; #"))
            .replace("$server_port", "443");
        let folder = place.path("nginx");
        std::fs::create_dir(&folder).unwrap();
        let folder = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|kind| format!("{kind}_temp_path {folder}/{kind};"));
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n\
             events {{}}\nhttp {{\naccess_log off;\n{}\n{part}\n}}\n",
            temporary.join("\n")
        );
        let file = place.write("nginx.conf", whole);
        let mut command = Command::new(program);
        command.arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let proxy = Self(command.spawn().unwrap());
        eventually("the proxy listens", || Wire::try_open(listen).is_ok());
        Some(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn the_shipped_proxy_serves_the_api_at_the_root_and_below_a_path() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", "true")]);
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let Some(_proxy) = Proxy::start(&place, listen, server.api) else { return };
    let mut client = Client::new(listen);
    client.token = server.client_of(&key).token;

    for path in ["", "/ods"] {
        let seen = format!("http://127.0.0.1:443{path}");
        let smuggled = [("x-forwarded-prefix", "/evil"), ("x-forwarded-host", "evil.example")];
        let discovery = client.send("GET", &format!("{path}/"), &smuggled, None).unwrap().json();
        assert_eq!(discovery["urls"]["oauth"], format!("{seen}/oauth/token"), "{path}");
        let made = client.post(&format!("{path}{STUDENTS}"), &student("1", "Ada"));
        assert!(matches!(made.status, 200 | 201), "{path}: {made:?}");
        assert_eq!(client.get(&format!("{path}/docs")).status, 200, "{path}");
    }
    let made = client.post(&format!("/ods{STUDENTS}"), &student("2", "Ada"));
    let location = made.header("location").unwrap().to_owned();
    let below = location.strip_prefix("http://127.0.0.1:443").unwrap();
    assert!(below.starts_with("/ods/data/v3/"), "{location}");
    assert_eq!(client.get(below).status, 200, "the address leads back through the proxy");
    for path in ["", "/ods"] {
        for probe in ["livez", "readyz", "startupz", "health"] {
            let path = format!("{path}/{probe}");
            assert_eq!(client.get(&path).status, 404, "{path} is for the machines behind it");
        }
    }
}
