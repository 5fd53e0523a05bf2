//! Each request of the contract: what it answers, and what is refused.

use homeroom_bulk_api::{CHUNK_BYTES_MAX, FILE_BYTES_MAX, FILES_MAX, OPEN_BYTES_MAX};
use homeroom_store::{Answer, Decision, Plan, Sql, Write};
use homeroom_testkit::FULL_ACCESS;
use homeroom_testkit::documents::on_each_store;
use http::Method;
use serde_json::json;

use crate::support::{
    OPERATIONS, chunk, commit, create, ended, exceptions, file_id, interchange, read, runner,
    statuses, student,
};

#[tokio::test]
async fn an_operation_is_answered_with_its_files_and_can_be_read_again() {
    for client in on_each_store().await {
        let files = json!([
            { "format": "text/xml", "interchangeType": "student", "size": 10 },
            { "format": "application/xml", "interchangeType": "InterchangeDescriptors", "size": "7" },
        ]);

        let body = json!({ "uploadFiles": files, "resetDistrictData": false });
        let answer = client.post(OPERATIONS, &body).await;

        let operation = answer.json();
        let id = |at: usize| operation["uploadFiles"][at]["id"].clone();
        let expected = json!({
            "id": operation["id"],
            "uploadFiles": [
                { "id": id(0), "size": 10, "format": "text/xml", "interchangeType": "Student",
                  "status": "Initialized" },
                { "id": id(1), "size": 7, "format": "application/xml",
                  "interchangeType": "Descriptors", "status": "Initialized" },
            ],
            "resetDistrictData": false,
            "status": "Initialized",
            "schoolYear": 2026,
        });
        assert_eq!((answer.status, &operation), (201, &expected), "{}", client.app);
        assert_eq!(client.get(answer.header("location")).await.json(), expected);
    }
}

#[tokio::test]
async fn an_operation_that_breaks_a_rule_is_refused() {
    for client in on_each_store().await {
        let file = |format: &str, name: &str, size: i64| json!([{ "format": format, "interchangeType": name, "size": size }]);
        for body in [
            json!({}),
            json!([]),
            json!({ "uploadFiles": [] }),
            json!({ "uploadFiles": [{}] }),
            json!({ "uploadFiles": file("text/csv", "Student", 1) }),
            json!({ "uploadFiles": file("text/xml", "Studnet", 1) }),
            json!({ "uploadFiles": file("text/xml", "Student", 0) }),
            json!({ "uploadFiles": file("text/xml", "Student", -1) }),
            json!({ "uploadFiles": file("text/xml", "Student", 1 << 40) }),
            json!({ "uploadFiles": file("text/xml", "Student", 1), "resetDistrictData": true }),
        ] {
            let problem = client.post(OPERATIONS, &body).await.problem(400, "bad-request");
            assert!(problem["errors"][0].is_string(), "{body} {problem}");
        }
        client.send(Method::POST, OPERATIONS, &[], "{").await.problem(400, "bad-request");
        let good = json!({ "uploadFiles": file("text/xml", "Student", 1) });
        for year in ["soon", "1899", "26"] {
            let path = format!("/api/v2.0/{year}/bulkOperations");
            let problem = client.post(&path, &good).await.problem(404, "not-found");
            assert!(problem["detail"].as_str().unwrap().contains("1900 to 2199"), "{problem}");
        }
        assert_eq!(client.get(OPERATIONS).await.json(), json!([]));
    }
}

#[tokio::test]
async fn a_chunk_comes_as_it_is_or_as_a_part_and_says_where_it_belongs() {
    for client in on_each_store().await {
        let text = interchange("Student", &student("1"));
        let (one, two) = text.split_at(20);
        let operation = create(&client, &[("text/xml", "Student", &text)]).await;
        let id = file_id(&operation, 0);

        let raw = chunk(&client, id, 0, one).await;
        let middle = read(&client, &operation).await;
        let media = [("content-type", "multipart/form-data; boundary=\"a b\"")];
        let body = format!(
            "--a b\r\nContent-Disposition: form-data; name=\"x\"; filename=\"y\"\r\n\r\n{two}\r\n--a b--\r\n"
        );
        let path = format!("/api/v2.0/2026/uploads/{id}/chunk?Offset=20&Size={}", two.len());
        let part = client.send(Method::POST, &path, &media, body).await;

        assert_eq!((raw.status, part.status), (201, 201), "{part:?}");
        assert_eq!(statuses(&middle), ["Incomplete", "Incomplete"]);
        let upload = client.get(&format!("/api/v2.0/2026/uploads/{id}")).await.json();
        let expected = json!([{ "offset": 0, "size": 20 }, { "offset": 20, "size": two.len() }]);
        assert_eq!(upload["chunks"], expected);
        assert_eq!(commit(&client, id).await.status, 202);
        assert_eq!(statuses(&read(&client, &operation).await), ["Ready", "Ready"]);
        chunk(&client, id, 0, one).await.problem(400, "bad-request");
        assert_eq!(commit(&client, id).await.status, 202, "a commit can be sent again");
    }
}

#[tokio::test]
async fn a_chunk_that_does_not_fit_is_refused_and_the_upload_goes_on() {
    for client in on_each_store().await {
        let operation = create(&client, &[("text/xml", "Student", "0123456789")]).await;
        let id = file_id(&operation, 0);
        let media = [("content-type", "application/octet-stream")];
        let at = |year: u16, id: &str, query: &str| {
            format!("/api/v2.0/{year}/uploads/{id}/chunk{query}")
        };
        let unknown = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";
        for (path, body) in [
            (at(2026, unknown, "?offset=0&size=4"), "0123"),
            (at(2026, "none", "?offset=0&size=4"), "0123"),
            (at(2025, id, "?offset=0&size=4"), "0123"),
            (at(2026, id, "?offset=7&size=4"), "0123"),
            (at(2026, id, "?offset=0&size=3"), "0123"),
            (at(2026, id, "?offset=0&size=5"), "0123"),
            (at(2026, id, "?offset=0&size=0"), ""),
            (at(2026, id, "?offset=-1&size=4"), "0123"),
            (at(2026, id, "?size=4"), "0123"),
            (at(2026, id, "?offset=0"), "0123"),
            (at(2026, id, ""), "0123"),
            (at(2026, id, "?offset=0&size=157286401"), "0123"),
        ] {
            let answer = client.send(Method::POST, &path, &media, body).await;
            assert_eq!(answer.status, 400, "{path} {answer:?}");
        }
        let part = [("content-type", "multipart/form-data; boundary=x")];
        for body in ["", "--x\r\n\r\n0123", "--x--\r\n"] {
            let path = at(2026, id, "?offset=0&size=4");
            let answer = client.send(Method::POST, &path, &part, body).await;
            assert_eq!(answer.status, 400, "{body} {answer:?}");
        }
        let other = client.app.client(FULL_ACCESS).await;
        assert_eq!(chunk(&other, id, 0, "0123").await.status, 400, "of another key");
        let method = client.delete(&at(2026, id, "?offset=0&size=4")).await;
        method.problem(405, "method-not-allowed");

        assert_eq!(statuses(&read(&client, &operation).await), ["Initialized", "Initialized"]);
        assert_eq!(chunk(&client, id, 0, "0123456789").await.status, 201);
    }
}

#[tokio::test]
async fn a_chunk_may_have_exactly_the_greatest_size() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let size = usize::try_from(CHUNK_BYTES_MAX).unwrap();
        let (mut text, end) = (interchange("Student", &student("1")), "</InterchangeStudent>\n");
        // Blanks before the end of the root make up the rest.
        text.truncate(text.len() - end.len());
        text.push_str(&" ".repeat(size - text.len() - end.len()));
        text.push_str(end);
        let operation = create(&client, &[("text/xml", "Student", &text)]).await;
        let id = file_id(&operation, 0);

        let sent = chunk(&client, id, 0, &text).await;

        assert_eq!((text.len(), sent.status), (157_286_400, 201), "{} {sent:?}", client.app);
        assert_eq!(commit(&client, id).await.status, 202);
        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Completed"; 2], "{ended}");
        assert_eq!(client.ids("/ed-fi/students").await.len(), 1);
    }
}

#[tokio::test]
async fn an_upload_with_a_gap_ends_as_an_error_with_an_exception() {
    for client in on_each_store().await {
        let files = [("text/xml", "Student", "0123456789"), ("text/xml", "Student", "0")];
        let operation = create(&client, &files).await;
        let id = file_id(&operation, 0);
        chunk(&client, id, 0, "0123").await;
        chunk(&client, id, 5, "56789").await;

        let committed = commit(&client, id).await;

        assert_eq!(committed.status, 202);
        let now = read(&client, &operation).await;
        assert_eq!(statuses(&now), ["Error", "Error", "Initialized"], "{}", client.app);
        let found = exceptions(&client, &operation, 0, "").await.json();
        assert_eq!(found[0]["uploadFileId"], id);
        assert!(found[0]["message"].as_str().unwrap().contains("from 4 to 4"), "{found}");
        assert_eq!(commit(&client, file_id(&operation, 1)).await.status, 202);
        assert_eq!(read(&client, &operation).await["status"], "Error");
    }
}

#[tokio::test]
async fn another_key_another_year_and_an_unknown_id_find_nothing() {
    for client in on_each_store().await {
        let operation = create(&client, &[("text/xml", "Student", "0")]).await;
        let (id, file) = (operation["id"].as_str().unwrap(), file_id(&operation, 0));
        let other = client.app.client(FULL_ACCESS).await;
        let unknown = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";
        for (client, path) in [
            (&other, format!("{OPERATIONS}/{id}")),
            (&other, format!("{OPERATIONS}/{id}/exceptions/{file}")),
            (&other, format!("/api/v2.0/2026/uploads/{file}")),
            (&client, format!("/api/v2.0/2025/bulkOperations/{id}")),
            (&client, format!("/api/v2.0/2025/bulkOperations/{id}/exceptions/{file}")),
            (&client, format!("{OPERATIONS}/{unknown}")),
            (&client, format!("{OPERATIONS}/{id}/exceptions/{unknown}")),
            (&client, format!("{OPERATIONS}/none")),
        ] {
            client.get(&path).await.problem(404, "not-found");
        }
        commit(&other, file).await.problem(404, "not-found");
        for query in ["?limit=0", "?limit=101", "?offset=-1", "?limit=x"] {
            let answer = exceptions(&client, &operation, 0, query).await;
            answer.problem(400, "bad-request:parameter-validation-failed");
        }
        assert_eq!(exceptions(&client, &operation, 0, "").await.json(), json!([]));
    }
}

#[tokio::test]
async fn a_file_an_operation_and_a_key_have_limits_of_bytes_and_files() {
    let files = |number: u64, bytes: u64| {
        let file = json!({ "format": "text/xml", "interchangeType": "Student", "size": bytes });
        json!({ "uploadFiles": vec![file; usize::try_from(number).unwrap()] })
    };
    for client in on_each_store().await {
        let one_more = files(FILES_MAX as u64 + 1, 1);
        let all =
            [files(FILES_MAX as u64, 1), files(OPEN_BYTES_MAX / FILE_BYTES_MAX, FILE_BYTES_MAX)];

        let too_many = client.post(OPERATIONS, &one_more).await.problem(400, "bad-request");
        let too_long = client.post(OPERATIONS, &files(1, FILE_BYTES_MAX + 1)).await;
        let first = client.post(OPERATIONS, &all[0]).await;
        let beyond = client.post(OPERATIONS, &all[1]).await;
        let other = client.app.client(FULL_ACCESS).await;
        let whole = other.post(OPERATIONS, &all[1]).await;
        let full = other.post(OPERATIONS, &files(1, 1)).await;

        assert!(
            too_many["errors"][0].as_str().unwrap().contains("at most 1000 files"),
            "{too_many}"
        );
        too_long.problem(400, "bad-request");
        assert_eq!((first.status, whole.status), (201, 201), "{} {whole:?}", client.app);
        for refused in [beyond, full] {
            assert!(refused.headers.contains_key("retry-after"));
            let problem = refused.problem(429, "too-many-requests");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("68719476736 is the most"), "{detail}");
        }
        // What has ended does not count.
        let id = whole.json()["uploadFiles"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(commit(&other, &id).await.status, 202);
        assert_eq!(other.post(OPERATIONS, &files(1, 1)).await.status, 201);
    }
}

#[tokio::test]
async fn an_operation_has_a_limit_of_chunks() {
    // As if they had been sent: all chunks but one.
    const CHUNKS: &str = "INSERT INTO bulk_chunk (file, first_byte, bytes, blob) \
         WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9999) \
         SELECT CAST(?1 AS text), x, 1, '0197d8f1b4347f0b8a3e7b2c5d6e7f80' FROM n";
    for client in on_each_store().await {
        let files = [("text/xml", "Student", &*"x".repeat(20_000)), ("text/xml", "Student", "0")];
        let operation = create(&client, &files).await;
        let sql = Sql::new(CHUNKS, vec![file_id(&operation, 0).into()]);
        let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Part(sql.clone())], ())
        };
        client.app.data.store.run(Plan { ask: vec![], decide }).await.unwrap();

        let last = chunk(&client, file_id(&operation, 0), 0, "0").await;
        let over = chunk(&client, file_id(&operation, 0), 10_000, "0").await;
        let of_another_file = chunk(&client, file_id(&operation, 1), 0, "0").await;
        let again = chunk(&client, file_id(&operation, 0), 0, "01").await;

        assert_eq!((last.status, again.status), (201, 201), "{} {again:?}", client.app);
        for refused in [over, of_another_file] {
            let problem = refused.problem(400, "bad-request");
            assert!(problem["errors"][0].as_str().unwrap().contains("at most 10000"), "{problem}");
        }
    }
}

#[tokio::test]
async fn a_key_has_a_limit_of_open_operations() {
    for client in on_each_store().await {
        for _ in 0..homeroom_bulk_api::OPEN_MAX {
            create(&client, &[("text/xml", "Student", "0")]).await;
        }

        let files = json!([{ "format": "text/xml", "interchangeType": "Student", "size": 1 }]);
        let over = client.post(OPERATIONS, &json!({ "uploadFiles": files })).await;

        assert!(over.headers.contains_key("retry-after"));
        over.problem(429, "too-many-requests");
        let other = client.app.client(FULL_ACCESS).await;
        create(&other, &[("text/xml", "Student", "0")]).await;
    }
}
