//! What an operation stores, what it rejects, and with whose rights.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use homeroom_bulk::LoadOptions;
use homeroom_district::{DistrictPlan, Document, Format, documents, write_documents};
use homeroom_export::{ExportOptions, export};
use homeroom_model::Model;
use homeroom_store::{ChangedAt, SnapshotOptions, Sql};
use homeroom_testkit::documents::{on_each_store, school};
use homeroom_testkit::samples::{Extent, Sample, Samples};
use homeroom_testkit::{Client, Folder, edges};
use http::Method;
use serde_json::{Value, json};

use crate::support::{
    ended, enrolment, exceptions, interchange, runner, statuses, student, upload,
};

const XML: &str = "text/xml";

#[tokio::test]
async fn files_are_loaded_together_in_the_order_of_their_dependencies() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        client.create("/ed-fi/schools", &school(1)).await;
        let enrolments = interchange("StudentEnrollment", &enrolment("1", 1));
        let students = interchange("Student", &(student("1") + &student("2")));

        let files = [(XML, "StudentEnrollment", &*enrolments), (XML, "Student", &*students)];
        let operation = upload(&client, &files).await;

        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Completed"; 3], "{} {ended}", client.app);
        assert_eq!(ended["summary"]["loaded"], 3, "{ended}");
        assert_eq!(client.ids("/ed-fi/students").await.len(), 2);
        assert_eq!(client.ids("/ed-fi/studentSchoolAssociations").await.len(), 1);
        assert_eq!(exceptions(&client, &operation, 0, "").await.json(), json!([]));
        let blobs = client
            .app
            .data
            .store
            .query(homeroom_store::Sql::new("SELECT id FROM blob WHERE removed IS NULL", vec![]));
        assert!(blobs.await.unwrap().is_empty(), "the chunks are removed");
    }
}

#[tokio::test]
async fn records_that_cannot_be_loaded_are_exceptions_of_their_file_page_by_page() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let broken: String =
            (0..60).map(|at| student(&format!("{at}{}", "x".repeat(40)))).collect();
        let bad = interchange("Student", &(broken + &student("good")));
        let good = interchange("Student", &student("fine"));
        let empty = interchange("Student", "");

        let files = [(XML, "Student", &*bad), (XML, "Student", &*good), (XML, "Student", &*empty)];
        let operation = upload(&client, &files).await;

        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Error", "Error", "Completed", "Error"], "{}", client.app);
        assert_eq!(client.ids("/ed-fi/students").await.len(), 2);
        assert_eq!(ended["summary"]["rejected"], 60);
        let page = |query| exceptions(&client, &operation, 0, query);
        let first = page("").await.json();
        assert_eq!(first.as_array().unwrap().len(), 25);
        let one = &first[0];
        assert_eq!((&one["id"], &one["element"]), (&json!(1), &json!("Student")), "{one}");
        assert_eq!(one["uploadFileId"], operation["uploadFiles"][0]["id"]);
        assert_eq!(one["type"], "urn:ed-fi:api:bad-request:data-validation-failed");
        assert!(one["message"].as_str().unwrap().contains("tudentUniqueId"), "{one}");
        let last = page("?offset=50&limit=100").await.json();
        let ids: Vec<&Value> = last.as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, (51..=60).map(Value::from).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        assert_eq!(page("?offset=60").await.json(), json!([]));
        assert_eq!(exceptions(&client, &operation, 1, "").await.json(), json!([]));
        let none = exceptions(&client, &operation, 2, "").await.json();
        assert!(none[0]["message"].as_str().unwrap().contains("no record"), "{none}");
        let text = format!("{ended}{first}");
        assert!(!text.contains("homeroom-test"), "no path of the server: {text}");
    }
}

/// Returns all documents by kind and key, and all edges between their keys.
async fn contents(client: &Client) -> Vec<Vec<Vec<homeroom_store::Value>>> {
    let mut all = vec![];
    for sql in [
        "SELECT kind, key, body FROM doc ORDER BY kind, key",
        "SELECT doc.key, alias.key FROM alias JOIN doc ON doc.id = alias.id ORDER BY 1, 2",
        "SELECT label, count(*) FROM tie GROUP BY label ORDER BY label",
    ] {
        all.push(client.app.data.store.query(Sql::new(sql, vec![])).await.unwrap());
    }
    let store = client.app.data.store.clone();
    let edges = tokio::task::spawn_blocking(move || edges(&store).unwrap()).await.unwrap();
    let edges = edges.into_iter();
    all.push(edges.map(|keys| keys.map(|key| key.0.to_vec().into()).into()).collect());
    all
}

/// Writes all documents of a store as CSV.
async fn exported(client: &Client, folder: &Path) {
    let (data, folder) = (client.app.data.clone(), folder.to_owned());
    let export = move || {
        let snapshot = data.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
        let options = ExportOptions::into_folder(homeroom_export::Format::Csv, folder);
        let (model, now) = (&data.catalog.model, ChangedAt(0));
        export(model, &snapshot, &options, now, &|| false, &mut |_| {}).unwrap();
    };
    tokio::task::spawn_blocking(export).await.unwrap();
}

/// Uploads the interchanges in a folder and waits for their operation.
async fn operate(client: &Client, folder: &Path) {
    let mut files = vec![];
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        let name = text.split("<Interchange").nth(1).unwrap();
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
        files.push((name[..end].to_owned(), text.clone()));
    }
    let files: Vec<(&str, &str, &str)> =
        files.iter().map(|(name, text)| (XML, &**name, &**text)).collect();
    let _runner = runner(&client.app);
    let operation = ended(client, &upload(client, &files).await).await;
    assert_eq!(operation["summary"]["rejected"], 0, "{operation}");
}

/// Sends each document in a request of its own.
async fn post(client: &Client, documents: &[Document]) {
    let model = &client.app.data.catalog.model;
    for document in documents {
        let resource = model.resources.iter().find(|one| one.name == document.resource).unwrap();
        let path = format!("/ed-fi/{}", resource.endpoint);
        let answer = client.send(Method::POST, &path, &[], document.json.clone()).await;
        assert!(matches!(answer.status, 200 | 201), "{path} {}: {answer:?}", document.json);
    }
}

/// Sends the documents in batches.
async fn post_in_batches(client: &Client, documents: &[Document]) {
    let lines: Vec<String> = documents
        .iter()
        .map(|d| format!("{{\"resource\":\"{}\",\"document\":{}}}\n", d.resource, d.json))
        .collect();
    for lines in lines.chunks(5_000) {
        let media = [("content-type", "application/x-ndjson")];
        let body = lines.concat();
        let answer = client.send(Method::POST, "/data/v3/batch", &media, body).await;
        assert!(answer.text().lines().all(|line| line.contains("\"status\":20")), "{answer:?}");
    }
}

/// Loads files without rights, as `homeroom load` does.
async fn load(client: &Client, path: &Path) {
    let target = client.app.data.documents();
    let options = LoadOptions { paths: vec![path.to_owned()], ..LoadOptions::default() };
    let load = move || homeroom_bulk::load(&target, &options, &mut |_| {}, &|| false).unwrap();
    let summary = tokio::task::spawn_blocking(load).await.unwrap();
    assert_eq!(summary.rejected, 0, "{summary:?}");
}

#[tokio::test]
async fn files_of_each_format_an_operation_a_batch_and_one_post_at_a_time_give_the_same_store() {
    for (students, seed) in [(2, 71), (9, 4)] {
        let plan = DistrictPlan::new(students, seed, 2026).unwrap();
        same_by_each_way(&[], &documents(&plan).collect::<Vec<_>>()).await;
    }
}

/// What no interchange has, and every document of a school year needs.
const YEARS: &str = "SchoolYearType";

/// Makes documents of every resource that is in an interchange, with the documents that they need; school
/// years apart.
fn samples(model: &Model, extent: Extent, seed: u64) -> (Vec<Document>, Vec<Document>) {
    let mut made = Samples::new(model, seed);
    let resource = |sample: &Sample| model.resource(sample.resource);
    let is_placed = |sample: &Sample| {
        resource(sample).name == YEARS || !resource(sample).interchanges.is_empty()
    };
    let chains: Vec<Vec<Sample>> = model
        .resources
        .iter()
        .map(|resource| made.of(resource.id, extent))
        .filter(|chain| chain.iter().all(is_placed))
        .collect();
    assert!(chains.len() * 10 > model.resources.len() * 9, "{}", chains.len());
    let all = Samples::descriptors(model).into_iter().chain(chains.into_iter().flatten());
    let documents = all.map(|sample| {
        let name = resource(&sample).name.clone();
        Document { resource: name.leak(), json: sample.body.to_string() }
    });
    documents.partition(|document| document.resource == YEARS)
}

#[tokio::test]
async fn documents_of_every_resource_give_the_same_store_in_each_way() {
    let model = Arc::clone(&on_each_store().await[0].app.data.catalog.model);
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    for extent in [Extent::Smallest, Extent::Fullest] {
        println!("{extent:?}, seed {seed}");
        let (given, placed) = samples(&model, extent, u64::from(seed));
        same_by_each_way(&given, &placed).await;
    }
}

/// Stores documents in each way, after others that are given everywhere.
async fn same_by_each_way(given: &[Document], plan: &[Document]) {
    let ways = ["post", "operation", "batch", "xml", "jsonl", "csv"];
    let mut stores: Vec<HashMap<&str, Client>> = vec![];
    for way in ways {
        for (at, client) in on_each_store().await.into_iter().enumerate() {
            stores.resize_with(stores.len().max(at + 1), HashMap::new);
            stores[at].insert(way, client);
        }
    }
    for store in stores {
        let folder = Folder::new();
        let by = |way: &str| &store[way];
        let model = &by("post").app.data.catalog.model;
        for (format, name) in [(Format::Xml, "xml"), (Format::Jsonl, "jsonl")] {
            let folder = folder.path().join(name);
            write_documents(plan.iter().cloned(), model, &folder, &[format]).unwrap();
        }

        for way in ways {
            post(by(way), given).await;
        }
        post(by("post"), plan).await;
        exported(by("post"), &folder.path().join("csv")).await;
        operate(by("operation"), &folder.path().join("xml")).await;
        post_in_batches(by("batch"), plan).await;
        for format in ["xml", "jsonl", "csv"] {
            load(by(format), &folder.path().join(format)).await;
        }

        let expected = contents(by("post")).await;
        assert!(expected[0].len() > 100, "{}", expected[0].len());
        for way in ways {
            assert!(contents(by(way)).await == expected, "{way} on {}", by(way).app);
        }
    }
}

#[tokio::test]
async fn each_record_is_authorized_as_the_client_that_uploads() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let own = client.app.client_of("SISVendor", &[1]).await;
        for id in [1, 2] {
            client.create("/ed-fi/schools", &school(id)).await;
        }
        client.create("/ed-fi/students", &homeroom_testkit::documents::student("1")).await;
        let records = enrolment("1", 1) + &enrolment("1", 2);
        let enrolments = interchange("StudentEnrollment", &records);

        let operation = upload(&own, &[(XML, "StudentEnrollment", &enrolments)]).await;

        let ended = ended(&own, &operation).await;
        assert_eq!(statuses(&ended), ["Error"; 2], "{ended}");
        let found = exceptions(&own, &operation, 0, "").await.json();
        let body = homeroom_testkit::documents::enrolment("1", 2, "2025-08-20");
        let posted = own.post("/ed-fi/studentSchoolAssociations", &body).await;
        assert_eq!(posted.status, 403);
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        let posted = posted.json();
        assert_eq!(found[0]["type"], posted["type"], "{}", client.app);
        let message = found[0]["message"].as_str().unwrap();
        let error = posted["errors"][0].as_str().unwrap();
        assert!(message.contains(error), "{message} lacks {error}");
        assert_eq!(found[0]["hint"], posted["hint"], "{found}");
        assert!(posted["hint"].is_string(), "{posted}");
        assert_eq!(client.ids("/ed-fi/studentSchoolAssociations").await.len(), 1);
    }
}

/// Revokes the key of a client.
async fn revoke(own: &Client) {
    let revoke =
        homeroom_access::Manage::RevokeKey { key: own.key.clone(), old_secrets_only: false };
    own.app.access.manage(revoke, homeroom_http::Timestamp::now()).await.unwrap();
}

/// Waits until an operation has ended whose key can ask no more. Returns its status.
async fn ended_status(client: &Client, operation: &Value) -> String {
    let id = operation["id"].as_str().unwrap();
    loop {
        let sql = Sql::new("SELECT status FROM bulk_operation WHERE id = ?1", vec![id.into()]);
        let rows = client.app.data.store.query(sql).await.unwrap();
        let status = rows[0][0].as_text().unwrap().to_owned();
        if !["Ready", "Started"].contains(&&*status) {
            return status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_key_that_is_revoked_before_its_files_are_loaded_loads_nothing() {
    for client in on_each_store().await {
        let own = client.app.client_of("SISVendor", &[1]).await;
        let students = interchange("Student", &student("1"));
        let operation = upload(&own, &[(XML, "Student", &students)]).await;
        revoke(&own).await;

        let _runner = runner(&client.app);

        assert_eq!(ended_status(&client, &operation).await, "Error");
        assert!(client.ids("/ed-fi/students").await.is_empty(), "{}", client.app);
    }
}

#[tokio::test]
async fn a_key_that_is_revoked_while_its_files_are_loaded_ends_the_load() {
    const STUDENTS: usize = 40_000;
    for client in on_each_store().await {
        let own = client.app.client_of("SISVendor", &[1]).await;
        let records: String = (0..STUDENTS).map(|at| student(&at.to_string())).collect();
        let operation = upload(&own, &[(XML, "Student", &interchange("Student", &records))]).await;
        let stored = || async {
            let answer = client.get("/ed-fi/students?limit=0&totalCount=true").await;
            answer.header("total-count").parse::<usize>().unwrap()
        };

        let _runner = runner(&client.app);
        while stored().await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        revoke(&own).await;

        assert_eq!(ended_status(&client, &operation).await, "Error");
        let left = stored().await;
        assert!((1..STUDENTS).contains(&left), "{left} on {}", client.app);
        assert_eq!(own.get("/ed-fi/students").await.status, 401);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert_eq!(stored().await, left, "the load goes on");
    }
}

#[tokio::test]
async fn lines_of_json_are_loaded_too() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let student = |id: &str| homeroom_testkit::documents::student(id).to_string();
        let named = json!({ "resource": "ed-fi/students", "document": homeroom_testkit::documents::student("2") });
        let (lines, mixed) = (student("1") + "\n", named.to_string() + "\n");

        let media = "application/x-ndjson";
        let files = [(media, "students", &*lines), (media, "Documents", &*mixed)];
        let operation = upload(&client, &files).await;

        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Completed"; 3], "{ended}");
        assert_eq!(client.ids("/ed-fi/students").await.len(), 2);
    }
}
