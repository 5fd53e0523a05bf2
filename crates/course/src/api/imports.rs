//! Import jobs over HTTP.

use homeroom_access::Call;
use homeroom_blobs::Written;
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
use crate::package::known_type;
use crate::settings::is_web;
use crate::version::About;

/// Most tags that one request sets.
const TAGS_MAX: usize = 100;
/// Most bytes of what is said about a medium.
const METADATA_BYTES_MAX: usize = 64 << 10;
/// How the names of media end.
const ENDINGS: [(&str, &str); 5] = [
    ("application/pdf", "pdf"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("video/mp4", "mp4"),
    ("application/zip", "zip"),
];

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
        about: About::default(),
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
            crate::shown::shown(&import.course)
        ))),
    }
}

pub(crate) async fn upload(api: Api, mut call: Call) -> Result<Response, Problem> {
    let mut import = import_of(&call.query()?)?;
    refuse_known(&api, &import).await?;
    let media = call.header("uploadedContentType").unwrap_or_default().to_owned();
    let now = ChangedAt(call.now.0);
    let Received { file, name, metadata } = receive(&api, &mut call).await?;
    if let Some(metadata) = metadata {
        metadata.describe(&mut import)?;
    }
    import.name = named(name, &media);
    let blob = api.courses.blobs.keep(file, now).await.map_err(Error::from)?;
    import.blob = Some(blob.id.to_string());
    let answer = queued(&api, &call, &import).await;
    if answer.is_err() {
        api.courses.drop_package(&import, call.now.0).await;
    }
    answer
}

/// Returns the name of a file, which ends as its media type says where it ends in nothing.
fn named(name: String, media: &str) -> String {
    let media = media.split(';').next().unwrap_or_default().trim();
    let ending = ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(media));
    match ending {
        Some((_, ending)) if known_type(&name).is_none() => format!("{name}.{ending}"),
        _ => name,
    }
}

/// What a request hands in.
struct Received {
    file: Written,
    name: String,
    metadata: Option<MediaMetadata>,
}

/// Takes the file of a request: the field `file` of a form, or the body itself.
async fn receive(api: &Api, call: &mut Call) -> Result<Received, Error> {
    let content_type = call.header("content-type").unwrap_or_default().to_owned();
    let now = ChangedAt(call.now.0);
    let mut stream = call.stream_body()?;
    let Some(boundary) = Multipart::boundary(&content_type) else {
        if content_type.starts_with("multipart/") {
            return Err(Error::Invalid("the form has no boundary".into()));
        }
        let mut writing = api.courses.blobs.begin(PACKAGE).await?;
        while let Some(bytes) = stream.next().await? {
            writing.write(&bytes).await?;
        }
        if writing.bytes() == 0 {
            return Err(Error::Invalid(
                "there is no file: send it as the field file of a form".into(),
            ));
        }
        let file = writing.finish(now).await?;
        return Ok(Received { file, name: String::new(), metadata: None });
    };
    let mut form = Multipart::new(&boundary, stream);
    let (mut found, mut metadata) = (None, None);
    while let Some(part) = form.next_part().await? {
        match part.name.as_str() {
            "contentMetadata" => {
                let text = form.text(METADATA_BYTES_MAX).await?;
                metadata = Some(MediaMetadata::read(&text)?);
            }
            "file" if found.is_none() => {
                let mut writing = api.courses.blobs.begin(PACKAGE).await?;
                while let Some(bytes) = form.chunk().await? {
                    writing.write(&bytes).await?;
                }
                found = Some((writing.finish(now).await?, part.file_name.unwrap_or_default()));
            }
            _ => {}
        }
    }
    let (file, name) = found.ok_or_else(|| Error::Invalid("the form has no field file".into()))?;
    let name = name.chars().filter(|c| !c.is_control()).take(255).collect();
    Ok(Received { file, name, metadata })
}

async fn queued(api: &Api, call: &Call, import: &Import) -> Result<Response, Problem> {
    let owner = call.client().key.clone();
    let job = api.courses.enqueue_import(import, &owner, call.now.0).await?;
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

/// What is said about a medium.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MediaMetadata {
    title: Option<String>,
    description: Option<String>,
    content_language: Option<String>,
    estimated_duration: Option<String>,
}

impl MediaMetadata {
    fn read(text: &str) -> Result<Self, Error> {
        let is_empty = text.trim().is_empty();
        let read = if is_empty { Ok(Self::default()) } else { serde_json::from_str(text) };
        read.map_err(|_| {
            Error::Invalid(
                "contentMetadata is no JSON with the members of mediaFileMetadata".into(),
            )
        })
    }

    /// Says it of an import.
    fn describe(self, import: &mut Import) -> Result<(), Error> {
        let given = |text: Option<String>, chars_max: usize| {
            let text = text.filter(|text| !text.trim().is_empty());
            let is_long = text.as_ref().is_some_and(|text| text.chars().count() > chars_max);
            let message = format!("a member of the metadata has more than {chars_max} characters");
            if is_long { Err(Error::Invalid(message)) } else { Ok(text) }
        };
        import.title = given(self.title, 1_000)?;
        import.about = About {
            languages: given(self.content_language, 100)?.into_iter().collect(),
            description: given(self.description, 10_000)?,
            duration: given(self.estimated_duration, 100)?,
            ..About::default()
        };
        Ok(())
    }
}

fn fetched(mut import: Import, fetch: Fetch) -> Result<Import, Error> {
    if !is_web(&fetch.url) {
        return Err(Error::Invalid("url is an http or https address".into()));
    }
    if let Some(metadata) = fetch.media_file_metadata {
        metadata.describe(&mut import)?;
    }
    let path = fetch.url.split(['?', '#']).next().unwrap_or_default().to_owned();
    import.name = named(path, fetch.content_type.as_deref().unwrap_or_default());
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
    queued(&api, &call, &import).await
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
    queued(&api, &call, &import).await
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
