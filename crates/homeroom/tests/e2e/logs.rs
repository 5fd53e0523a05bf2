//! Logs contain ids and never the content of documents, which is about children.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::support::{Place, STUDENTS, Server};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Values that must not appear: distinctive words, so that each match is a leak.
const VALUES: &[&str] = &[
    "Zyxwolf-First",
    "Zyxwolf-Last",
    "Zyxwolf-Middle",
    "zyxwolf-unique-7391",
    "zyxwolf-unknown-member",
    "2011-03-29",
    "29-03-2011",
    "zyxwolf-namespace",
    "zyxwolf-code-value",
    "zyxwolf-in-the-query",
    "zyxwolf-in-the-path",
    "zyxwolf-is-no-json",
    "zyxwolf-correlation",
];

fn student() -> Value {
    json!({
        "studentUniqueId": "zyxwolf-unique-7391",
        "firstName": "Zyxwolf-First",
        "middleName": "Zyxwolf-Middle",
        "lastSurname": "Zyxwolf-Last",
        "birthDate": "2011-03-29",
    })
}

#[test]
fn no_value_of_a_document_and_no_secret_is_ever_logged() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_LOG__LEVEL", "trace")]);
    let mut client = server.client_of(&key);
    let token = client.token.clone().unwrap();

    // Requests that succeed: create, read, list by a value, update, delete.
    let path = client.post(STUDENTS, &student()).location();
    assert_eq!(client.get(&path).status, 200);
    let by_id = format!("{STUDENTS}?studentUniqueId=zyxwolf-unique-7391&lastSurname=Zyxwolf-Last");
    assert_eq!(client.get(&by_id).json().as_array().unwrap().len(), 1);
    let descriptor = json!({
        "namespace": "uri://zyxwolf-namespace/GradeLevelDescriptor",
        "codeValue": "zyxwolf-code-value",
        "shortDescription": "zyxwolf-code-value",
    });
    let descriptors = "/data/v3/ed-fi/gradeLevelDescriptors";
    assert_eq!(client.post(descriptors, &descriptor).status, 201);

    // Requests that fail, at every stage.
    let mut statuses = vec![];
    let mut wrong = student();
    wrong["birthDate"] = "29-03-2011".into();
    statuses.push(client.post(STUDENTS, &wrong).status);
    let mut wrong = student();
    wrong["firstName"] = "Zyxwolf-First ".repeat(20).into();
    wrong["zyxwolf-unknown-member"] = json!({"a": ["Zyxwolf-Last"]});
    statuses.push(client.post(STUDENTS, &wrong).status);
    let association = json!({
        "studentReference": {"studentUniqueId": "zyxwolf-unique-7391"},
        "schoolReference": {"schoolId": 255_901},
        "entryDate": "2011-03-29",
        "entryGradeLevelDescriptor": "uri://zyxwolf-namespace/GradeLevelDescriptor#zyxwolf-code-value",
    });
    statuses.push(client.post("/data/v3/ed-fi/studentSchoolAssociations", &association).status);
    let text = b"{\"firstName\": \"Zyxwolf-First\", zyxwolf-is-no-json";
    statuses.push(client.send("POST", STUDENTS, &JSON, Some(text)).unwrap().status);
    let mut other = student();
    other["studentUniqueId"] = "zyxwolf-unique-7391-b".into();
    statuses.push(client.try_json("PUT", &path, &other).unwrap().status);
    for path in [
        format!("{STUDENTS}?birthDate=zyxwolf-in-the-query"),
        format!("{STUDENTS}?limit=zyxwolf-in-the-query"),
        format!("{STUDENTS}/zyxwolf-in-the-path"),
        "/data/v3/ed-fi/zyxwolf-in-the-path?a=zyxwolf-in-the-query".into(),
        "/oauth/zyxwolf-in-the-path".into(),
    ] {
        statuses.push(client.get(&path).status);
    }
    let headers = [("correlationid", "zyxwolf correlation of a child")];
    assert_eq!(client.send("GET", "/livez", &headers, None).unwrap().status, 200);
    assert_eq!(statuses, [400, 400, 409, 400, 400, 400, 400, 400, 404, 404]);
    assert_eq!(client.send("DELETE", &path, &[], None).unwrap().status, 204);

    // Bytes that never become a request, over HTTP/1 and HTTP/2.
    let mut wire = server.wire();
    wire.send("GET /zyxwolf-in-the-path\x01 HTTP/1.1\r\nx: Zyxwolf-First\r\n\r\n");
    wire.rest();
    let mut wire = server.wire();
    wire.send(client.head("POST", STUDENTS, &JSON, Some(500)));
    wire.send("{\"firstName\": \"Zyxwolf-First\"");
    drop(wire);
    for path in ["/zyxwolf-in-the-path", "zyxwolf-in-the-path", "/zyx\x7fwolf-in-the-path"] {
        let mut wire = server.wire();
        wire.send(http_2_get(path, &token));
        wire.finish();
        wire.rest();
    }
    let refused = server.client().ask_token(&key.0, "zyxwolf-is-no-json");
    assert_eq!(refused.status, 401);
    place.done(&["keys", "rotate", &key.0]);

    let log = server.stop().stderr;
    assert!(log.contains("\"level\":\"DEBUG\""), "there is something to look at: {log}");
    assert!(log.contains("/data/v3/{schema}/{endpoint}"), "{log}");
    for value in VALUES.iter().copied().chain([&*key.1, &token]) {
        let found: Vec<&str> = log.lines().filter(|line| line.contains(value)).collect();
        assert!(found.is_empty(), "{value} was logged: {found:#?}");
    }
    // The values do not appear in another form either.
    assert!(!log.to_lowercase().contains("zyxwolf"), "{log}");
}

/// Returns a whole HTTP/2 connection with one request, whose header block is uncompressed.
///
/// Source: RFC 9113 §3.4, §4.1; RFC 7541 §6.2.2 (literals without indexing).
fn http_2_get(path: &str, token: &str) -> Vec<u8> {
    let mut block = vec![];
    let authorization = format!("Bearer {token}");
    for (name, value) in [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", path),
        ("authorization", &authorization),
        ("x-child", "Zyxwolf-First"),
    ] {
        block.push(0);
        for text in [name, value] {
            // Lengths from 127 on continue in the next bytes, seven bits each.
            match text.len() {
                short @ 0..127 => block.push(u8::try_from(short).unwrap()),
                long => {
                    let (low, high) = ((long - 127) % 128, (long - 127) / 128);
                    let low = u8::try_from(low).unwrap();
                    block.extend([127, low | 128, u8::try_from(high).unwrap()]);
                }
            }
            block.write_all(text.as_bytes()).unwrap();
        }
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let length = u32::try_from(block.len()).unwrap().to_be_bytes();
    bytes.extend(&length[1..]);
    // A HEADERS frame that ends both the header block and stream 1.
    bytes.extend([1, 0x4 | 0x1, 0, 0, 0, 1]);
    bytes.extend(block);
    bytes
}
