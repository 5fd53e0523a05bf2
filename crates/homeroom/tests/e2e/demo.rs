//! Tests who gets to see the demonstration's key and secret.

use std::io::{BufRead, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{Answer, Client, Place, Wire};

/// Paths that can be read without a token.
const PUBLIC: [&str; 16] = [
    "/",
    "/docs",
    "/metadata",
    "/metadata/data/v3/resources/swagger.json",
    "/metadata/data/v3/descriptors/swagger.json",
    "/metadata/data/v3/dependencies",
    "/metadata/changequeries/v1/swagger.json",
    "/metadata/xsd",
    "/metadata/xsd/ed-fi/files",
    "/.well-known/jwks.json",
    "/.well-known/oauth-authorization-server",
    "/livez",
    "/readyz",
    "/startupz",
    "/version",
    "/nowhere",
];

/// A running demonstration, which is killed when the value is dropped.
struct Demo {
    child: Child,
    told: Value,
    address: SocketAddr,
}

impl Demo {
    fn start(place: &Place, listen: &str, more: &[&str]) -> Self {
        let arguments = ["demo", "--json", "--students", "2", "--listen", listen, "--admin-listen"];
        let arguments = [&arguments[..], &["127.0.0.1:0"], more].concat();
        let mut command = place.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut said = String::new();
            _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("{line:?} {said}")
        });
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        Self { child, address: address.parse().unwrap(), told }
    }

    fn get(&self, path: &str, host: &str, headers: &[&str]) -> Answer {
        let port = self.address.port();
        let mut wire = Wire::open(SocketAddr::from(([127, 0, 0, 1], port)));
        let own = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\naccept: text/html");
        let mut lines = vec![own.as_str()];
        lines.extend(headers);
        wire.send(format!("{}\r\n\r\n", lines.join("\r\n")));
        wire.answer()
    }

    /// Returns whether an answer contains the key or the secret, in its header or its body.
    fn is_told_by(&self, answer: &Answer) -> bool {
        let whole = format!("{:?} {}", answer.headers, answer.text());
        ["key", "secret"].iter().any(|name| whole.contains(self.told[*name].as_str().unwrap()))
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn a_demo_shows_its_secret_only_on_the_same_machine() {
    let place = Place::new();
    let demo = Demo::start(&place, "127.0.0.1:0", &[]);
    let port = demo.address.port();

    for host in ["127.0.0.1", "localhost", "[::1]"] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let own = demo.get("/", &host, &["sec-fetch-site: none"]);
            assert!(demo.is_told_by(&own), "{host}: {own:?}");
            assert_eq!(own.header("cache-control"), Some("no-store"));
            assert_eq!(own.header("access-control-allow-origin"), None);
            assert_eq!(own.header("cross-origin-resource-policy"), Some("same-origin"));
            assert!(
                own.header("content-security-policy").unwrap().contains("frame-ancestors 'none'")
            );
        }
    }
    // A foreign host name that resolves to this server, and the headers that a site can make a
    // browser send.
    for host in ["rebound.example", &format!("rebound.example:{port}"), "127.0.0.1.example"] {
        for path in PUBLIC {
            for more in [&[][..], &["x-forwarded-host: localhost"], &["origin: http://localhost"]] {
                let foreign = demo.get(path, host, more);
                assert!(!demo.is_told_by(&foreign), "{path} {host}: {foreign:?}");
            }
        }
        let page = demo.get("/", host, &[]).text();
        assert!(page.contains("are not shown, because") && page.contains("localhost"), "{page}");
    }
    // The host is this machine, but the request comes from elsewhere.
    for line in
        ["sec-fetch-site: cross-site", "origin: http://a.example", "x-forwarded-for: 192.0.2.1"]
    {
        let foreign = demo.get("/", "localhost", &[line]);
        assert!(!demo.is_told_by(&foreign), "{line}: {foreign:?}");
    }
}

#[test]
fn a_demo_publishes_an_api_and_prints_how_to_call_it() {
    let place = Place::new();
    for _ in ["a new store", "the same store again"] {
        let demo = Demo::start(&place, "127.0.0.1:0", &[]);
        let curls = demo.told["curl"].as_array().unwrap().iter();
        let curls: Vec<&str> = curls.map(|curl| curl.as_str().unwrap()).collect();
        let port = demo.address.port();
        let path = curls[3].split(&format!(":{port}")).nth(1).unwrap().trim_end_matches('\'');
        let mut client = Client::new(demo.address);
        let told = |name: &str| demo.told[name].as_str().unwrap();
        client.authorize(told("key"), told("secret"));

        let published = client.get(path);
        let own = client.get(&path.replace("/apis/district/v1", "/data/v3"));
        let stranger = demo.get(path, "localhost", &[]);

        assert_eq!(curls.len(), 4, "{curls:?}");
        assert_eq!((published.status, published.text()), (200, own.text()));
        assert_eq!(published.json().as_array().unwrap().len(), 2);
        assert_eq!(published.header("x-published-by"), Some("homeroom demo"));
        assert_eq!(stranger.status, 401);
        assert!(demo.told["publishedApi"].as_str().unwrap().ends_with("/apis/district/v1"));
        // The sample course is there, too.
        let course = told("course").split(&format!(":{port}")).nth(1).unwrap();
        let page = client.get(course);
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8"))
        );
        let boot = client.get(&format!("{course}/boot")).json();
        assert_eq!(boot["course"]["title"], "Finding a book in the library", "{boot}");
    }
}

#[test]
fn a_demo_that_others_can_reach_shows_no_secret_on_any_page() {
    let place = Place::new();
    let demo = Demo::start(&place, "0.0.0.0:0", &["--allow-remote"]);

    for host in ["localhost", &format!("0.0.0.0:{}", demo.address.port())] {
        let page = demo.get("/", host, &[]);
        assert!(!demo.is_told_by(&page), "{host}: {page:?}");
        assert!(page.text().contains("other machines reach this server"), "{page:?}");
    }
}
