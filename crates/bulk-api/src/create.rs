//! `POST …/bulkOperations`: creates an operation with its files.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Response, did_you_mean, json_response};
use homeroom_model::Model;
use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan, Sql, Uuid};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::format::{interchange, interchanges, is_lines, is_xml};
use crate::limits::{
    FILE_BYTES_MAX, FILES_MAX, FINGERPRINT_BYTES_MAX, OPEN_BYTES_MAX, OPEN_MAX, UPLOAD_KEPT,
};
use crate::operation::{Operation, UploadFile, number, rows};
use crate::refused::{bad, not_found, of_plan, too_many};
use crate::row::{LANE, write};
use crate::service::{BulkService, year};
use crate::sql;
use crate::status::Status;
use crate::time::after;

/// Most characters of a value that a message repeats.
const SHOWN_MAX: usize = 100;

/// Creates an operation.
pub(crate) async fn post(service: BulkService, mut call: Call) -> Result<Response, Problem> {
    let school_year = year(&call).ok_or_else(|| {
        not_found().detail("The school year in the address is not one from 1900 to 2199.")
    })?;
    let body = call.read_body().await?;
    let body: Value = serde_json::from_slice(&body)
        .map_err(|error| bad(format!("The body is not JSON: {error}.")))?;
    let now = ChangedAt(call.now.0);
    let mut organizations = call.client().education_organizations.to_vec();
    organizations.sort_unstable();
    let operation = Operation {
        id: Uuid::new(),
        owner: call.client().key.clone(),
        school_year,
        status: Status::Initialized,
        organizations,
        job: None,
        summary: None,
        created: now,
        expires: after(now, UPLOAD_KEPT),
    };
    let files = files(&service.documents.catalog.model, &body, operation.id)?;
    let fingerprint = fingerprint(&body)?;
    let plan = plan(&operation, &files, fingerprint);
    service.run(plan).await.map_err(of_plan)?;
    let shown = operation.shown(&files, now).to_string();
    let mut response = json_response(StatusCode::CREATED, shown);
    let location = format!("{}{}/{}", call.base_url, call.path.trim_end_matches('/'), operation.id);
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Returns a member of an object, regardless of case.
fn member<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    let members = object.as_object()?;
    members.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Reads the files of an operation.
fn files(model: &Model, body: &Value, operation: Uuid) -> Result<Vec<UploadFile>, Problem> {
    if !body.is_object() {
        return Err(bad("The body is not an object.").hint(
            "Send {\"uploadFiles\": [{\"format\": \"text/xml\", \"interchangeType\": \"Student\", \
             \"size\": 1024}]}.",
        ));
    }
    match member(body, "resetDistrictData") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            return Err(bad("This server does not reset a district's data.")
                .hint("Omit resetDistrictData; delete documents through the data API."));
        }
        Some(_) => return Err(bad("resetDistrictData is not true or false.")),
    }
    let sent = member(body, "uploadFiles").and_then(Value::as_array);
    let sent = sent.filter(|files| !files.is_empty());
    let sent = sent.ok_or_else(|| bad("There is no file in uploadFiles."))?;
    if sent.len() > FILES_MAX {
        return Err(bad(format!("An operation has at most {FILES_MAX} files.")));
    }
    let (mut files, mut errors) = (vec![], vec![]);
    for (at, sent) in sent.iter().enumerate() {
        match file(model, sent, operation) {
            Ok(file) => files.push(file),
            Err(error) => errors.push(format!("uploadFiles[{at}]: {error}")),
        }
    }
    if errors.is_empty() {
        return Ok(files);
    }
    errors.truncate(SHOWN_MAX);
    Err(errors.into_iter().fold(Problem::of(Kind::BadRequest), Problem::error))
}

fn file(model: &Model, sent: &Value, operation: Uuid) -> Result<UploadFile, String> {
    let text = |name: &str| member(sent, name).and_then(Value::as_str).map(str::trim);
    let cut = |text: &str| text.chars().take(SHOWN_MAX).collect::<String>();
    let format = text("format").ok_or("it has no format; send text/xml")?;
    if !is_xml(format) && !is_lines(format) {
        return Err(format!(
            "the format {} is not known; send text/xml or application/xml",
            cut(format)
        ));
    }
    let name = text("interchangeType").filter(|name| !name.is_empty());
    let name = name.ok_or("it has no interchangeType")?;
    let interchange = interchange(model, format, name).ok_or_else(|| {
        if is_lines(format) {
            let resources = model.resources.iter().map(|resource| resource.endpoint.as_str());
            let near = did_you_mean(&cut(name), resources);
            return format!("there is no resource {}{near}", cut(name));
        }
        let near = did_you_mean(&cut(name), interchanges(model));
        format!("there is no interchange {}{near}", cut(name))
    })?;
    let bytes = member(sent, "size").ok_or("it has no size")?;
    // Clients send numbers as text, too.
    let bytes = bytes.as_u64().or_else(|| bytes.as_str()?.parse().ok());
    let bytes = bytes.filter(|bytes| *bytes > 0).ok_or("its size is not a number of bytes")?;
    if bytes > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes; send it in parts"));
    }
    Ok(UploadFile {
        id: Uuid::new(),
        operation,
        format: format.to_ascii_lowercase(),
        interchange,
        bytes,
        status: Status::Initialized,
        fault: None,
        exceptions: None,
        marks: vec![],
    })
}

/// Reads the text by which a client finds the operation again.
fn fingerprint(body: &Value) -> Result<Option<String>, Problem> {
    match member(body, "fingerprint") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= FINGERPRINT_BYTES_MAX => Ok(Some(text.clone())),
        Some(_) => Err(bad(format!(
            "fingerprint is not a string of at most {FINGERPRINT_BYTES_MAX} bytes."
        ))),
    }
}

/// Returns the plan that stores an operation, unless its owner has too many.
fn plan(
    operation: &Operation,
    files: &[UploadFile],
    fingerprint: Option<String>,
) -> Plan<impl homeroom_store::Decide<Done = (), Refusal = Problem>> {
    let id = operation.id.to_string();
    let organizations = serde_json::Value::from(operation.organizations.clone()).to_string();
    let mut writes = vec![write(
        operation.id,
        sql::ADD,
        vec![
            id.as_str().into(),
            operation.owner.as_str().into(),
            i64::from(operation.school_year).into(),
            organizations.into(),
            fingerprint.into(),
            operation.created.0.into(),
            operation.expires.0.into(),
        ],
    )];
    for (place, file) in (0i64..).zip(files) {
        let arguments = vec![
            file.id.to_string().into(),
            id.as_str().into(),
            place.into(),
            file.format.as_str().into(),
            file.interchange.as_str().into(),
            file.bytes.cast_signed().into(),
        ];
        writes.push(write(operation.id, sql::ADD_FILE, arguments));
    }
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let decide = move |found: Vec<Answer>| {
        let found = rows(found.into_iter().next());
        let (open, open_bytes) = (number(&found, 0), number(&found, 1));
        if open >= OPEN_MAX {
            return Decision::Refuse(too_many(format!(
                "This key has {open} operations that have not ended, and {OPEN_MAX} is the most."
            )));
        }
        if open_bytes.saturating_add(bytes) > OPEN_BYTES_MAX {
            return Decision::Refuse(too_many(format!(
                "The operations of this key that have not ended have {open_bytes} bytes, and \
                 {OPEN_BYTES_MAX} is the most."
            )));
        }
        Decision::Write(writes.clone(), ())
    };
    let open = Sql::new(sql::OPEN, vec![operation.owner.as_str().into()]);
    let ask = vec![Ask::Rows(LANE.all(), open)];
    Plan { ask, decide }
}
