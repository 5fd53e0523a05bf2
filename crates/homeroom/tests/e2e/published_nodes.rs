//! Versions of an API beside each other, several nodes, and rules of an API together on a part of the server.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::published::{send, subscriber};
use crate::support::{Database, Place, Server, Upstream, eventually, student};
use crate::upstreams::publish;

fn version(name: &str, version: &str, upstream: &Upstream) -> String {
    format!(
        "[[apis]]\nname = '{name}'\ncontext = 'shop'\nversion = '{version}'\nsecurity = 'none'\n\
         upstream = ['{}']\n",
        upstream.url()
    )
}

#[test]
fn versions_of_an_api_are_served_beside_each_other() {
    let place = Place::new();
    let server = Server::start(&place);
    let (old, new) = (Upstream::echo(), Upstream::echo());
    publish(&place, &(version("shop-1", "v1", &old) + &version("shop-2", "v2", &new)));
    let mut client = server.client();
    let mut status = |version: &str| client.get(&format!("/apis/shop/{version}/x")).status;

    assert_eq!(["v1", "v2", "v2", "v3"].map(&mut status), [200, 200, 200, 404]);
    assert_eq!((old.take().len(), new.take().len()), (1, 2));
    place.write("twice.toml", version("shop-3", "v2", &old));
    let twice = place.run(&["gateway", "apply", "twice.toml"]);
    assert_eq!(twice.code, Some(1), "the address is another API's: {twice:?}");

    place.write("only.toml", version("shop-2", "v2", &new));
    place.done(&["gateway", "apply", "only.toml", "--prune"]);

    assert_eq!(["v1", "v2"].map(&mut status), [404, 200]);
}

#[test]
fn what_is_applied_at_one_node_is_soon_served_by_the_other() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let upstream = Upstream::echo();
        let (first, second) = (Server::start(&place), Server::start(&place));
        let mut admin = first.client_of(&subscriber(&place, &["--scope", "admin"]));
        let base = "/adminapi/gateway/v1";
        let api = |name: &str| {
            json!({"name": name, "context": name, "version": "v1", "security": "none",
                "upstream": [upstream.url()]})
        };
        let mut other = second.client();
        let mut follows = |name: &str, status: u16| {
            let begun = Instant::now();
            let path = format!("/apis/{name}/v1/x");
            eventually("the other node follows", || other.get(&path).status == status);
            // It looks twice a second; the rest is time for a machine that compiles meanwhile.
            assert!(begun.elapsed() < Duration::from_secs(4), "{name}: {:?}", begun.elapsed());
        };

        for name in ["a", "b", "c"] {
            let applied = admin.post(&format!("{base}/apply"), &json!({"apis": [api(name)]}));
            assert_eq!(applied.status, 200, "{}", applied.text());
            follows(name, 200);
        }
        let gone = admin.send("DELETE", &format!("{base}/apis/b"), &[], None).unwrap();
        assert_eq!(gone.status, 204);
        follows("b", 404);
        follows("a", 200);
        let both = [&first, &second].map(|node| {
            let key = subscriber(&place, &["--scope", "admin"]);
            eventually("the key is known", || {
                node.client_of(&key).get(&format!("{base}/export")).status == 200
            });
            node.client_of(&key).get(&format!("{base}/export")).text()
        });
        assert_eq!(both[0], both[1]);
    }
}

#[test]
fn a_part_is_published_with_another_path_a_document_and_a_limit_together() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let pupil = json!({"type": "object", "required": ["studentUniqueId"], "properties": {
            "studentUniqueId": {"type": "string", "maxLength": 3}}});
        let operations = json!({"openapi": "3.0.0", "paths": {
            "/pupils": {
                "get": {"parameters": [{"name": "limit", "in": "query",
                    "schema": {"type": "integer", "maximum": 10}}]},
                "post": {"requestBody": {"required": true, "content": {
                    "application/json": {"schema": pupil}}}}}}});
        place.write("pupils.json", operations.to_string());
        let file = "[[apis]]\nname = 'pupils'\ncontext = 'pupils'\nversion = 'v1'\npart = 'data'\n\
                    openapi = 'pupils.json'\nvalidate = true\n\
                    request_path = [{from = '/pupils', to = '/ed-fi/students'}]\n\
                    limits = {requests_per_second = 0.001, burst = 6}\n";
        publish(place, file);
        let scopes = ["--scope", "data", "--claim-set", "FullAccess", "--apis", "pupils"];
        let key = subscriber(place, &scopes);
        let mut client = server.client_of(&key);
        let mut asked = |method: &str, path: &str, body: &str| {
            let answer = send(&mut client, method, &format!("/apis/pupils/v1{path}"), body);
            (answer.status, answer.text())
        };
        let long = student("1234", "Ada").to_string();

        eventually("it is served, the key is known, and the document is asked", || {
            let (status, text) = asked("POST", "/pupils", &long);
            status == 400 && text.contains("$.studentUniqueId")
        });
        assert_eq!(asked("GET", "/pupils", "").1, "[]", "and it has not reached the part");
        assert_eq!(asked("POST", "/pupils", &student("123", "Ada").to_string()).0, 201);
        assert_eq!(asked("GET", "/pupils?limit=11", "").0, 400);
        let (status, all) = asked("GET", "/pupils?limit=10", "");
        assert!(status == 200 && all.contains("\"123\""), "{all}");
        for (method, path, status) in
            [("GET", "/ed-fi/students", 404), ("DELETE", "/pupils", 405), ("GET", "/pupils/1", 404)]
        {
            assert_eq!(asked(method, path, "").0, status, "{method} {path}");
        }
        assert_eq!(asked("GET", "/pupils", "").0, 200, "what is no operation did not count");
        assert_eq!(asked("GET", "/pupils", "").0, 429);
    });
}
