//! Import jobs over HTTP.

use homeroom_access::Call;
use homeroom_blobs::Blob;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::ChangedAt;
use serde::Deserialize;
use serde_json::json;

use super::answer::{Api, json};
use super::courses;
use super::request::{body, flag, id};
use crate::error::Error;
use crate::import::{Import, PACKAGE, made, status_of};
use crate::multipart::Multipart;
use crate::settings::is_web;

/// Most tags that one request sets.
const TAGS_MAX: usize = 100;

fn import_of(query: &Query) -> Result<Import, Error> {
    let course = id(query.get("courseId").unwrap_or_default(), "courseId")?;
    let tags = query.get("tags").unwrap_or_default().split(',').map(str::trim);
    let tags = tags.filter(|tag| !tag.is_empty()).take(TAGS_MAX).map(str::to_owned).collect();
    Ok(Import {
        course: course.to_owned(),
        may_renew: flag(query, "mayCreateNewVersion"),
        tags,
        name: String::new(),
        blob: None,
        url: None,
        link: None,
        title: None,
        postback: postback_of(query)?,
    })
}

/// Returns where the end of the import is told.
fn postback_of(query: &Query) -> Result<Option<String>, Error> {
    let url = query.get("postbackUrl").filter(|url| !url.is_empty());
    if url.is_some_and(|url| !is_web(url)) {
        return Err(Error::Invalid("postbackUrl is an http or https address".into()));
    }
    Ok(url.map(str::to_owned))
}

/// Refuses an import of a course that is there, unless a new version is wanted.
async fn refuse_known(api: &Api, import: &Import) -> Result<(), Error> {
    if import.may_renew {
        return Ok(());
    }
    match api.courses.course(&import.course).await {
        Err(Error::Unknown(_)) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(Error::Invalid(format!(
            "there is a course {} already; ask for a new version of it with mayCreateNewVersion=true",
            crate::error::shown(&import.course)
        ))),
    }
}

pub(crate) async fn upload(api: Api, mut call: Call) -> Result<Response, Problem> {
    let mut import = import_of(&call.query()?)?;
    refuse_known(&api, &import).await?;
    let (blob, name) = receive(&api, &mut call, PACKAGE).await?;
    import.blob = Some(blob.id.to_string());
    import.name = name;
    queued(&api, &call, import).await
}

/// Takes the file of a request: the field `file` of a form, or the body itself.
pub(crate) async fn receive(
    api: &Api,
    call: &mut Call,
    kind: &str,
) -> Result<(Blob, String), Error> {
    let content_type = call.header("content-type").unwrap_or_default().to_owned();
    let now = ChangedAt(call.now.0);
    let mut stream = call.stream_body()?;
    let Some(boundary) = Multipart::boundary(&content_type) else {
        if content_type.starts_with("multipart/") {
            return Err(Error::Invalid("the form has no boundary".into()));
        }
        let mut writing = api.courses.blobs.begin(kind).await?;
        while let Some(bytes) = stream.next().await? {
            writing.write(&bytes).await?;
        }
        if writing.bytes() == 0 {
            return Err(Error::Invalid(
                "there is no file: send it as the field file of a form".into(),
            ));
        }
        let written = writing.finish(now).await?;
        return Ok((api.courses.blobs.keep(written, now).await?, String::new()));
    };
    let mut form = Multipart::new(&boundary, stream);
    let mut found = None;
    while let Some(part) = form.next_part().await? {
        if part.name != "file" || found.is_some() {
            continue;
        }
        let mut writing = api.courses.blobs.begin(kind).await?;
        while let Some(bytes) = form.chunk().await? {
            writing.write(&bytes).await?;
        }
        found = Some((writing.finish(now).await?, part.file_name.unwrap_or_default()));
    }
    let (written, name) =
        found.ok_or_else(|| Error::Invalid("the form has no field file".into()))?;
    let name: String = name.chars().filter(|c| !c.is_control()).take(255).collect();
    Ok((api.courses.blobs.keep(written, now).await?, name))
}

async fn queued(api: &Api, call: &Call, import: Import) -> Result<Response, Problem> {
    let owner = call.client().key.clone();
    let job = api.courses.enqueue_import(&import, &owner, call.now.0).await?;
    Ok(json(&json!({ "result": job.to_string() })))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fetch {
    url: String,
    #[serde(default)]
    content_type: Option<String>,
    #[serde(default)]
    media_file_metadata: Option<MediaMetadata>,
}

#[derive(Debug, Default, Deserialize)]
struct MediaMetadata {
    #[serde(default)]
    title: Option<String>,
}

fn fetched(mut import: Import, fetch: Fetch) -> Result<Import, Error> {
    if !is_web(&fetch.url) {
        return Err(Error::Invalid("url is an http or https address".into()));
    }
    import.title = fetch.media_file_metadata.and_then(|about| about.title);
    fetch.url.split(['?', '#']).next().unwrap_or_default().clone_into(&mut import.name);
    // A web page is a course by its address; everything else is fetched.
    if fetch.content_type.as_deref().is_some_and(|media| media.starts_with("text/html")) {
        import.link = Some(fetch.url);
    } else {
        import.url = Some(fetch.url);
    }
    Ok(import)
}

pub(crate) async fn fetch(api: Api, mut call: Call) -> Result<Response, Problem> {
    let import = import_of(&call.query()?)?;
    refuse_known(&api, &import).await?;
    let import = fetched(import, body(&mut call).await?)?;
    queued(&api, &call, import).await
}

#[derive(Debug, Deserialize)]
struct NoUpload {
    #[serde(default, rename = "fetchRequest")]
    fetch: Option<Fetch>,
    #[serde(default, rename = "mediaFileReferenceRequest")]
    reference: Option<Fetch>,
    #[serde(default, rename = "connectorReferenceRequest")]
    connector: Option<serde_json::Value>,
}

pub(crate) async fn no_upload(api: Api, mut call: Call) -> Result<Response, Problem> {
    let import = import_of(&call.query()?)?;
    refuse_known(&api, &import).await?;
    let asked: NoUpload = body(&mut call).await?;
    let import = match (asked.fetch, asked.reference) {
        (Some(fetch), _) => fetched(import, fetch)?,
        (None, Some(reference)) => {
            let mut import = fetched(import, reference)?;
            import.link = import.link.or(import.url.take());
            import
        }
        (None, None) if asked.connector.is_some() => {
            return Err(Error::NotOffered("connectors are not offered".into()).into());
        }
        (None, None) => {
            let message = "the body has neither fetchRequest nor mediaFileReferenceRequest";
            return Err(Error::Invalid(message.into()).into());
        }
    };
    queued(&api, &call, import).await
}

pub(crate) async fn status(api: Api, call: Call) -> Result<Response, Problem> {
    let job = api.courses.import_job(call.params.get("job")).await?;
    let status = status_of(&job);
    let message = match status {
        "ERROR" => job.error.clone().unwrap_or_else(|| "the import was cancelled".into()),
        "COMPLETE" => "The course was imported.".into(),
        _ => job.progress.as_ref().map(|far| far.text.clone()).unwrap_or_default(),
    };
    let mut answer = json!({ "jobId": job.id.to_string(), "status": status, "message": message });
    if let Some((course, version, warnings)) = made(&job) {
        let languages = api.courses.version(&course, version, call.now.0).await;
        let shown = match (api.courses.course(&course).await, languages) {
            (Ok(course), Ok(version)) => {
                let query = Query::default();
                let shown =
                    courses::course_shown(&api.courses, &course, &version, &query, true).await?;
                json!({
                    "webPathToCourse": "",
                    "parserWarnings": warnings,
                    "courseLanguages": version.about.languages,
                    "course": shown,
                })
            }
            // The course was deleted since.
            _ => json!({ "parserWarnings": warnings, "courseLanguages": [] }),
        };
        answer["importResult"] = shown;
    }
    Ok(json(&answer))
}
