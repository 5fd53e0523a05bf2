//! `POST /data/v3/batch`: documents in lines, an answer for each.

use http::Method;
use serde_json::{Value, json};

use crate::app::documents::{enrolment, on_each_store, school, student, with};
use crate::app::{Answer, Client};

const PATH: &str = "/data/v3/batch";
const MEDIA: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];

fn line(resource: &str, document: &Value) -> String {
    json!({"resource": resource, "document": document}).to_string()
}

async fn send(client: &Client, lines: &[String]) -> Answer {
    client.send(Method::POST, PATH, &MEDIA, lines.join("\n")).await
}

fn answers(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn statuses(answers: &[Value]) -> Vec<(u64, u64)> {
    let number = |answer: &Value, name: &str| answer[name].as_u64().unwrap();
    answers.iter().map(|answer| (number(answer, "line"), number(answer, "status"))).collect()
}

#[tokio::test]
async fn each_line_is_answered_in_order_as_a_post_would_be() {
    for client in on_each_store().await {
        let kept = client.create("/ed-fi/students", &student("1")).await;
        let lines = [
            line("ed-fi/schools", &school(1)),
            line("ed-fi/students", &student("1")),
            line("ed-fi/students", &student("2")),
            line("ed-fi/studentSchoolAssociations", &enrolment("2", 1, "2025-08-20")),
            line("ed-fi/students", &with(student("1"), "firstName", "Augusta")),
            line("ed-fi/studentSchoolAssociations", &enrolment("3", 1, "2025-08-20")),
            line("ed-fi/students", &with(student("4"), "birthDate", "yesterday")),
        ];

        let answer = send(&client, &lines).await;

        assert_eq!(answer.header("content-type"), "application/x-ndjson");
        assert_eq!(answer.status, 200, "{answer:?}");
        let lines = answers(&answer);
        let expected = [(1, 201), (2, 200), (3, 201), (4, 201), (5, 200), (6, 409), (7, 400)];
        assert_eq!(statuses(&lines), expected, "{}", client.app);
        let location = lines[4]["location"].as_str().unwrap();
        assert_eq!(location, format!("http://homeroom.test/data/v3{kept}"));
        let found = client.get(location).await;
        assert_eq!(found.json()["firstName"], "Augusta");
        assert_eq!(found.header("etag"), lines[4]["etag"]);
        for (line, path, body) in [
            (&lines[5], "/ed-fi/studentSchoolAssociations", enrolment("3", 1, "2025-08-20")),
            (&lines[6], "/ed-fi/students", with(student("4"), "birthDate", "yesterday")),
        ] {
            let mut posted = client.post(path, &body).await.json();
            let mut batched = line["problem"].clone();
            for problem in [&mut posted, &mut batched] {
                assert!(problem["correlationId"].take().is_string(), "{problem}");
            }
            assert_eq!(batched, posted);
        }
    }
}

#[tokio::test]
async fn a_malformed_line_is_answered_in_its_place_and_the_rest_goes_on() {
    for client in on_each_store().await {
        let id = with(student("9"), "id", "0197d8f1b4347f0b8a3e7b2c5d6e7f80");
        let lines = [
            line("ed-fi/students", &student("1")),
            "{\"resource\": \"ed-fi/students\", \"document\": {".into(),
            String::new(),
            "[1]".into(),
            json!({"document": student("2")}).to_string(),
            json!({"resource": 5, "document": student("2")}).to_string(),
            json!({"resource": "ed-fi/students"}).to_string(),
            line("ed-fi/students", &json!([])),
            line("ed-fi/studnets", &student("2")),
            line("ed-fi/students", &id),
            format!("  {}\r", line("ed-fi/students", &student("2"))),
        ];

        let answer = send(&client, &lines).await;

        let lines = answers(&answer);
        let expected = [
            (1, 201),
            (2, 400),
            (4, 400),
            (5, 400),
            (6, 400),
            (7, 400),
            (8, 400),
            (9, 404),
            (10, 400),
            (11, 201),
        ];
        assert_eq!(statuses(&lines), expected, "{answer:?}");
        let not_json = lines[1]["problem"]["errors"][0].as_str().unwrap();
        assert!(not_json.starts_with("The line is not JSON at column 45: "), "{not_json}");
        let unknown = lines[7]["problem"]["detail"].as_str().unwrap();
        assert!(unknown.contains("ed-fi/students"), "{unknown}");
        assert_eq!(client.ids("/ed-fi/students").await.len(), 2);
    }
}

#[tokio::test]
async fn a_resource_is_named_as_in_urls() {
    for client in on_each_store().await {
        let names =
            ["ed-fi/students", "/ed-fi/students", "students", "/data/v3/ed-fi/students", "Student"];
        let lines = names.iter().enumerate();
        let lines: Vec<String> =
            lines.map(|(at, name)| line(name, &student(&at.to_string()))).collect();

        let answer = send(&client, &lines).await;

        assert_eq!(answers(&answer).len(), names.len());
        assert_eq!(client.ids("/ed-fi/students").await.len(), names.len(), "{answer:?}");
    }
}

#[tokio::test]
async fn each_record_is_authorized_as_a_post_of_the_same_key() {
    for client in on_each_store().await {
        let own = client.app.client_of("SISVendor", &[1]).await;
        client.create("/ed-fi/schools", &school(1)).await;
        client.create("/ed-fi/schools", &school(2)).await;
        client.create("/ed-fi/students", &student("1")).await;
        let records = [
            ("ed-fi/studentSchoolAssociations", enrolment("1", 1, "2025-08-20")),
            ("ed-fi/studentSchoolAssociations", enrolment("1", 2, "2025-08-20")),
            ("ed-fi/gradeLevelDescriptors", json!({"codeValue": "x"})),
            ("ed-fi/schools", school(2)),
        ];
        let lines: Vec<String> = records.iter().map(|(name, body)| line(name, body)).collect();

        let batched = answers(&send(&own, &lines).await);

        for ((name, body), answer) in records.iter().zip(&batched).skip(1) {
            let posted = own.post(&format!("/{name}"), body).await;
            assert_eq!(posted.status, 403, "{name} {body}");
            let (mut one, mut other) = (posted.json(), answer["problem"].clone());
            assert_eq!(answer["status"], 403, "{answer}");
            (one["correlationId"], other["correlationId"]) = (Value::Null, Value::Null);
            assert_eq!(one, other, "{}", client.app);
        }
        assert_eq!(batched[0]["status"], 201, "{batched:?}");
        assert_eq!(client.ids("/ed-fi/studentSchoolAssociations").await.len(), 1);
    }
}

#[tokio::test]
async fn lines_beyond_the_limit_are_refused_and_those_before_are_answered() {
    for client in on_each_store().await {
        let max = homeroom_data::BATCH_LINES_MAX;
        let lines = |count: usize| {
            let students = (0..count).map(|at| line("ed-fi/students", &student(&at.to_string())));
            students.collect::<Vec<String>>()
        };

        let blank = vec![String::new(); max];

        let exact = send(&client, &[&blank[..], &lines(max), &["  ".into()]].concat()).await;
        let over = send(&client, &lines(max + 5)).await;

        assert_eq!((exact.status, over.status), (200, 200));
        assert_eq!(answers(&exact).len(), max);
        assert!(answers(&exact).iter().all(|line| line["status"] == 201));
        let over = answers(&over);
        assert_eq!(over.len(), max + 1);
        assert!(over[..max].iter().all(|line| line["status"] == 200));
        assert_eq!((&over[max]["line"], &over[max]["status"]), (&json!(max + 1), &json!(413)));
        let total = client.get("/ed-fi/students?limit=0&totalCount=true").await;
        assert_eq!(total.header("total-count"), max.to_string());
    }
}

#[tokio::test]
async fn a_line_longer_than_a_document_may_be_is_refused_alone() {
    for client in on_each_store().await {
        let long =
            with(student("1"), "firstName", "x".repeat(homeroom_document::DOCUMENT_BYTES_MAX));
        let lines = [line("ed-fi/students", &long), line("ed-fi/students", &student("2"))];

        let answer = send(&client, &lines).await;

        assert_eq!(statuses(&answers(&answer)), [(1, 413), (2, 201)]);
    }
}

#[tokio::test]
async fn strict_handling_refuses_unknown_members_of_documents_and_lines() {
    for client in on_each_store().await {
        let mut other = serde_json::from_str::<Value>(&line("students", &student("2"))).unwrap();
        other["op"] = "delete".into();
        let lines = [
            line("students", &with(student("1"), "shoeSize", 38)),
            other.to_string(),
            line("students", &student("3")),
        ];
        let headers = [MEDIA[0], ("prefer", "handling=strict")];

        let answer = client.send(Method::POST, PATH, &headers, lines.join("\n")).await;

        assert_eq!(answer.header("preference-applied"), "handling=strict");
        assert_eq!(statuses(&answers(&answer)), [(1, 400), (2, 400), (3, 201)]);
    }
}

#[tokio::test]
async fn other_media_other_methods_and_empty_bodies_have_their_answers() {
    for client in on_each_store().await {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body = line("students", &student("1"));

        let media = client.send(Method::POST, PATH, &form, body).await;
        let method = client.get(PATH).await;
        let empty = client.send(Method::POST, PATH, &MEDIA, "").await;
        let packed = [MEDIA[0], ("content-encoding", "gzip")];
        let packed = client.send(Method::POST, PATH, &packed, "{}").await;

        packed.problem(415, "unsupported-media-type");
        media.problem(415, "unsupported-media-type");
        assert_eq!(method.header("allow"), "POST");
        method.problem(405, "method-not-allowed");
        assert_eq!((empty.status, empty.text()), (200, ""));
    }
}
