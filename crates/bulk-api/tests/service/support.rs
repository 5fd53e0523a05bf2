//! A client of the services, and files to upload.

use std::time::Duration;

use homeroom_bulk_api::kind;
use homeroom_jobs::{Runner, Times};
use homeroom_testkit::{Answer, Client, TestApp};
use http::Method;
use serde_json::{Value, json};

pub const OPERATIONS: &str = "/api/v2.0/2026/bulkOperations";

/// Starts a runner of jobs that takes over abandoned ones quickly.
pub fn runner(app: &TestApp) -> Runner {
    let times = Times {
        lease: Duration::from_secs(2),
        poll: Duration::from_millis(50),
        tick: Duration::from_millis(50),
        ..Times::default()
    };
    Runner::start(&app.bulk.jobs, vec![kind(&app.bulk, |_| ())], times)
}

pub fn interchange(name: &str, records: &str) -> String {
    format!("<Interchange{name} xmlns=\"http://x/5.2.0\">\n{records}</Interchange{name}>\n")
}

pub fn student(id: &str) -> String {
    format!(
        "<Student><StudentUniqueId>{id}</StudentUniqueId><Name><FirstName>A</FirstName>\
         <LastSurname>B</LastSurname></Name><BirthData><BirthDate>2010-01-01</BirthDate>\
         </BirthData></Student>\n"
    )
}

pub fn enrolment(student: &str, school: u32) -> String {
    format!(
        "<StudentSchoolAssociation><StudentReference><StudentIdentity>\
         <StudentUniqueId>{student}</StudentUniqueId></StudentIdentity></StudentReference>\
         <SchoolReference><SchoolIdentity><SchoolId>{school}</SchoolId></SchoolIdentity>\
         </SchoolReference><EntryDate>2025-08-20</EntryDate>\
         <EntryGradeLevel>uri://ed-fi.org/GradeLevelDescriptor#Ninth grade</EntryGradeLevel>\
         </StudentSchoolAssociation>\n"
    )
}

/// Creates an operation for files, given as format, interchange and text.
pub async fn create(client: &Client, files: &[(&str, &str, &str)]) -> Value {
    let files: Vec<Value> = files
        .iter()
        .map(|(format, name, text)| {
            json!({ "format": format, "interchangeType": name, "size": text.len() })
        })
        .collect();
    let answer = client.post(OPERATIONS, &json!({ "uploadFiles": files })).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let operation = answer.json();
    let id = operation["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), format!("http://homeroom.test{OPERATIONS}/{id}"));
    operation
}

pub fn file_id(operation: &Value, at: usize) -> &str {
    operation["uploadFiles"][at]["id"].as_str().unwrap()
}

/// Sends a chunk as it is.
pub async fn chunk(client: &Client, file: &str, offset: usize, text: &str) -> Answer {
    let size = text.len();
    let path = format!("/api/v2.0/2026/uploads/{file}/chunk?offset={offset}&size={size}");
    let media = [("content-type", "application/octet-stream")];
    client.send(Method::POST, &path, &media, text.to_owned()).await
}

pub async fn commit(client: &Client, file: &str) -> Answer {
    let path = format!("/api/v2.0/2026/uploads/{file}/commit");
    client.send(Method::POST, &path, &[], "").await
}

/// Creates, uploads and commits an operation.
pub async fn upload(client: &Client, files: &[(&str, &str, &str)]) -> Value {
    let operation = create(client, files).await;
    for (at, (_, _, text)) in files.iter().enumerate() {
        let id = file_id(&operation, at);
        assert_eq!(chunk(client, id, 0, text).await.status, 201);
        assert_eq!(commit(client, id).await.status, 202);
    }
    operation
}

pub async fn read(client: &Client, operation: &Value) -> Value {
    let answer = client.get(&format!("{OPERATIONS}/{}", operation["id"].as_str().unwrap())).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Waits until an operation has ended.
pub async fn ended(client: &Client, operation: &Value) -> Value {
    for _ in 0..2_000 {
        let now = read(client, operation).await;
        if !["Initialized", "Incomplete", "Ready", "Started"]
            .contains(&now["status"].as_str().unwrap())
        {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not end: {}", read(client, operation).await)
}

pub async fn exceptions(client: &Client, operation: &Value, at: usize, query: &str) -> Answer {
    let (id, file) = (operation["id"].as_str().unwrap(), file_id(operation, at));
    client.get(&format!("{OPERATIONS}/{id}/exceptions/{file}{query}")).await
}

pub fn statuses(operation: &Value) -> Vec<&str> {
    let files = operation["uploadFiles"].as_array().unwrap().iter();
    let files = files.map(|file| file["status"].as_str().unwrap());
    [operation["status"].as_str().unwrap()].into_iter().chain(files).collect()
}
