//! Uploads of files with one student, step by step; an error means that the connection has broken.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Client, eventually};

const OPERATIONS: &str = "/api/v2.0/2026/bulkOperations";

/// An upload of one student, of which the operation was acknowledged.
pub struct Upload {
    pub operation: String,
    pub file: String,
    pub student: String,
    pub has_chunk: bool,
    pub is_committed: bool,
    /// The status with which its job has ended, if that was seen.
    pub ended: Option<String>,
}

/// How long a client waits before it repeats what was refused with 503.
const AGAIN: Duration = Duration::from_millis(20);

/// Sends something until the answer is another than 503, after which nothing was written.
pub fn until_taken(mut send: impl FnMut() -> std::io::Result<Answer>) -> std::io::Result<Answer> {
    loop {
        let answer = send()?;
        if answer.status != 503 {
            return Ok(answer);
        }
        std::thread::sleep(AGAIN);
    }
}

/// Returns a long file with one student.
pub fn file_of(student: &str) -> String {
    let blank = "\n".repeat(200_000);
    format!(
        "<InterchangeStudent xmlns=\"http://x/5.2.0\">{blank}<Student>\
         <StudentUniqueId>{student}</StudentUniqueId><Name><FirstName>A</FirstName>\
         <LastSurname>B</LastSurname></Name><BirthData><BirthDate>2010-01-01</BirthDate>\
         </BirthData></Student>\n</InterchangeStudent>\n"
    )
}

/// Creates an operation for a file.
pub fn begin(client: &mut Client, student: &str, text: &str) -> std::io::Result<Upload> {
    let file = json!({ "format": "text/xml", "interchangeType": "Student", "size": text.len() });
    let asked = json!({ "uploadFiles": [file] });
    let answer = until_taken(|| client.try_json("POST", OPERATIONS, &asked))?;
    assert_eq!(answer.status, 201, "{answer:?}");
    let created = answer.json();
    let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
    let (operation, file) = (id(&created), id(&created["uploadFiles"][0]));
    let student = student.to_owned();
    Ok(Upload { operation, file, student, has_chunk: false, is_committed: false, ended: None })
}

pub fn chunk_path(upload: &Upload, text: &str) -> String {
    format!("/api/v2.0/2026/uploads/{}/chunk?offset=0&size={}", upload.file, text.len())
}

/// Sends the file in one chunk, and commits it.
pub fn send_all(client: &mut Client, upload: &mut Upload, text: &str) -> std::io::Result<()> {
    let octets = [("content-type", "application/octet-stream")];
    let path = chunk_path(upload, text);
    let sent = until_taken(|| client.send("POST", &path, &octets, Some(text.as_bytes())))?;
    assert_eq!(sent.status, 201, "{sent:?}");
    upload.has_chunk = true;
    commit_upload(client, upload)?;
    upload.is_committed = true;
    Ok(())
}

/// Ends an upload, so that a job loads it.
pub fn commit_upload(client: &mut Client, upload: &Upload) -> std::io::Result<()> {
    let path = format!("/api/v2.0/2026/uploads/{}/commit", upload.file);
    let answer = until_taken(|| client.send("POST", &path, &[], Some(b"")))?;
    assert_eq!(answer.status, 202, "{answer:?}");
    Ok(())
}

pub fn status(client: &mut Client, upload: &Upload) -> std::io::Result<String> {
    let path = format!("{OPERATIONS}/{}", upload.operation);
    let answer = until_taken(|| client.send("GET", &path, &[], None))?;
    assert_eq!(answer.status, 200, "{answer:?}");
    Ok(answer.json()["status"].as_str().unwrap().to_owned())
}

/// Waits until the job of an upload has ended. Returns the status of its operation.
pub fn until_ended(client: &mut Client, upload: &Upload) -> std::io::Result<String> {
    let mut now = Ok(String::new());
    eventually("the upload is loaded", || {
        now = status(client, upload);
        !matches!(now.as_deref(), Ok("Initialized" | "Incomplete" | "Ready" | "Started"))
    });
    now
}
