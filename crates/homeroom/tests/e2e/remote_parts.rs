//! A part of this server answers the same whether it is published as a target in this process or as an upstream.

use crate::published::subscriber;
use crate::support::{Answer, Place, STUDENTS, Server, student};

/// What belongs to one request, or to one connection.
const OWN: [&str; 6] =
    ["date", "x-request-id", "correlationid", "connection", "keep-alive", "transfer-encoding"];

/// A method, a path below the part, headers and a body.
type Asked<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);

fn compared(answer: &Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let own = answer.headers.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    // What is at an API is told with the API's path.
    let mut headers: Vec<_> = own
        .map(|(name, value)| (name.clone(), value.replace("/apis/near-", "/apis/far-")))
        .collect();
    headers.sort();
    (answer.status, headers, answer.body.clone())
}

/// Publishes each part as a target in this process, and as an upstream.
fn near_and_far(server: &Server) -> String {
    let url = format!("http://{}", server.api);
    let api = |name: &str, target: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nmax_body = '1MiB'\n{target}\n"
        )
    };
    // What the part decides on by its token is decided there again, so the token goes on.
    let near = |part: &str| api(&format!("near-{part}"), &format!("part = '{part}'"));
    let far = |part: &str, path: &str| {
        let target = format!("upstream = ['{url}{path}']\nsecurity = 'none'");
        api(&format!("far-{part}"), &target)
    };
    [
        near("data"),
        far("data", "/data/v3"),
        near("metadata"),
        far("metadata", "/metadata"),
        near("change-queries"),
        far("change-queries", "/changeQueries/v1"),
        near("composites"),
        far("composites", "/composites/v1"),
        near("learning"),
        far("learning", "/learning/api/v2"),
    ]
    .concat()
}

#[test]
fn a_part_answers_byte_for_byte_the_same_in_this_process_and_as_an_upstream() {
    let place = Place::new();
    let server = Server::start(&place);
    place.write("apis.toml", near_and_far(&server));
    place.done(&["gateway", "apply", "apis.toml"]);
    let names = "near-data,near-metadata,near-change-queries,near-composites,near-learning";
    let of = |claim_set: &str, scopes: &str| {
        let arguments = ["--scope", scopes, "--claim-set", claim_set, "--apis", names];
        server.client_of(&subscriber(&place, &arguments))
    };
    let mut client = of("FullAccess", "data,learning");
    for number in 0..300 {
        let made = student(&number.to_string(), "Ada \u{e9}");
        assert_eq!(client.post(STUDENTS, &made).status, 201);
    }
    let one = client.get(&format!("{STUDENTS}?studentUniqueId=7"));
    let id = one.json()[0]["id"].as_str().unwrap().to_owned();
    let tag = client.get(&format!("{STUDENTS}/{id}"));
    let tag = tag.header("etag").unwrap().to_owned();
    let same = student("7", "Ada \u{e9}").to_string();
    let json = ("content-type", "application/json");
    let by_id = format!("/ed-fi/students/{id}");
    let gone = "/ed-fi/students/00000000000000000000000000000001";

    let of_data: &[Asked<'_>] = &[
        ("GET", "/ed-fi/students", &[], ""),
        ("GET", "/ed-fi/students?limit=300&totalCount=true", &[], ""),
        ("GET", "/ed-fi/students?limit=300", &[("accept-encoding", "gzip")], ""),
        ("GET", "/ed-fi/students?limit=2&offset=3&pageToken=", &[], ""),
        ("GET", "/ed-fi/students?limit=x", &[], ""),
        ("GET", "/ed-fi/students?firstName=Ada%20%C3%A9&limit=1", &[], ""),
        ("GET", "/ED-FI/Students/?limit=1", &[], ""),
        ("HEAD", "/ed-fi/students", &[], ""),
        ("OPTIONS", "/ed-fi/students", &[], ""),
        ("PATCH", "/ed-fi/students", &[json], "{}"),
        ("GET", &by_id, &[], ""),
        ("HEAD", &by_id, &[], ""),
        ("GET", &by_id, &[("if-none-match", &tag)], ""),
        ("GET", &by_id, &[("accept", "text/html")], ""),
        ("GET", gone, &[], ""),
        ("GET", "/ed-fi/nothing", &[], ""),
        ("POST", "/ed-fi/students", &[json], &same),
        ("POST", "/ed-fi/students", &[json], "{\"studentUniqueId\": 7, \"x\": []}"),
        ("POST", "/ed-fi/students", &[json], "{"),
        ("POST", "/ed-fi/students", &[("content-type", "text/plain")], "a"),
        ("PUT", &by_id, &[json, ("if-match", "\"0\"")], &same),
        ("DELETE", gone, &[], ""),
    ];
    let of_metadata: &[Asked<'_>] = &[
        ("GET", "", &[], ""),
        ("GET", "/data/v3/resources/swagger.json", &[], ""),
        ("GET", "/data/v3/dependencies", &[("accept-encoding", "gzip, br")], ""),
        ("GET", "/data/v3/dependencies", &[("accept", "application/graphml")], ""),
        ("GET", "/xsd", &[], ""),
        ("GET", "/nothing", &[], ""),
    ];
    let of_composites: &[Asked<'_>] = &[
        ("GET", "/ed-fi/enrollment/students", &[], ""),
        ("GET", "/ed-fi/enrollment/students?limit=x", &[], ""),
        ("GET", "/ed-fi/nothing/students", &[], ""),
        ("POST", "/ed-fi/enrollment/students", &[json], "{}"),
    ];
    let of_learning: &[Asked<'_>] = &[
        ("GET", "/courses", &[], ""),
        ("GET", "/courses/none", &[], ""),
        ("GET", "/registrations?more=x", &[], ""),
        ("POST", "/registrations", &[json], "{}"),
        ("DELETE", "/registrations/none", &[], ""),
        ("PATCH", "/courses", &[json], "{}"),
    ];
    let of_changes: &[Asked<'_>] =
        &[("GET", "/availableChangeVersions", &[], ""), ("POST", "/x", &[json], "{}")];
    let mut statuses = std::collections::BTreeSet::new();
    for (part, all) in [
        ("data", of_data),
        ("metadata", of_metadata),
        ("change-queries", of_changes),
        ("composites", of_composites),
        ("learning", of_learning),
    ] {
        for (method, path, headers, body) in all {
            let headers = [headers, &[("correlationid", "c-1")][..]].concat();
            let mut ask = |place: &str| {
                let path = format!("/apis/{place}-{part}/v1{path}");
                client.send(method, &path, &headers, Some(body.as_bytes())).unwrap()
            };

            let (near, far) = (compared(&ask("near")), compared(&ask("far")));

            assert_eq!(near.0, far.0, "{method} {part} {path}");
            assert_eq!(near.1, far.1, "{method} {part} {path}");
            assert!(near.2 == far.2, "{method} {part} {path}: bodies differ");
            statuses.insert(near.0);
        }
    }
    let all = statuses.into_iter().collect::<Vec<_>>();
    assert!([200, 304, 400, 404, 405, 412].iter().all(|status| all.contains(status)), "{all:?}");

    // What is made or removed once is so for each of both.
    let [near, far] = ["near", "far"].map(|place| {
        let students = format!("/apis/{place}-data/v1/ed-fi/students");
        let body = student("made", "Ada").to_string();
        let headers = [json, ("correlationid", "c-1")];
        let made = client.send("POST", &students, &headers, Some(body.as_bytes())).unwrap();
        let (_, id) =
            made.location().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let path = format!("{students}/{id}");
        let kept = client.send("GET", &path, &headers[1..], None).unwrap();
        let gone = client.send("DELETE", &path, &headers[1..], None).unwrap();
        let (mut made, mut kept) = (compared(&made), compared(&kept));
        made.1.retain(|(name, _)| name != "location" && name != "etag");
        kept.1.retain(|(name, _)| name != "etag" && name != "last-modified");
        let text = String::from_utf8(kept.2).unwrap().replace(&id, "ID");
        let text = text.split("\"_lastModifiedDate\"").next().unwrap().to_owned();
        let text = text.split("\"_etag\"").next().unwrap().to_owned();
        assert_eq!((made.0, kept.0, gone.status), (201, 200, 204), "{place}");
        kept.1.retain(|(name, _)| name != "content-length");
        (made, kept.1, text, compared(&gone))
    });
    assert_eq!(near, far);

    // Nor does it make a difference what a caller may not do.
    let restricted = of("Bootstrap Descriptors and EdOrgs", "data");
    let mut refusals = std::collections::BTreeSet::new();
    for (mut caller, is_known) in [(restricted, true), (server.client(), false)] {
        for (part, method, path, body) in [
            ("data", "GET", "/ed-fi/students", ""),
            ("data", "GET", by_id.as_str(), ""),
            ("data", "POST", "/ed-fi/students", same.as_str()),
            ("data", "PUT", by_id.as_str(), same.as_str()),
            ("data", "DELETE", by_id.as_str(), ""),
            ("data", "GET", "/ed-fi/schools", ""),
            ("composites", "GET", "/ed-fi/enrollment/students", ""),
            ("learning", "GET", "/courses", ""),
        ] {
            // What is published asks a stranger for a token, and courses for a key and its secret.
            if part == "learning" && !is_known {
                continue;
            }
            let [near, far] = ["near", "far"].map(|place| {
                let path = format!("/apis/{place}-{part}/v1{path}");
                let headers = [json, ("correlationid", "c-1")];
                compared(&caller.send(method, &path, &headers, Some(body.as_bytes())).unwrap())
            });
            assert_eq!(near, far, "{method} {part} {path}");
            refusals.insert(near.0);
        }
    }
    assert!([401, 403].iter().all(|status| refusals.contains(status)), "{refusals:?}");
}
