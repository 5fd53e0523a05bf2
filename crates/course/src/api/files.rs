//! The files of courses over HTTP: packages and assets.

use homeroom_access::Call;
use homeroom_blobs::Written;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::ChangedAt;
use http::{HeaderValue, header};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;

use super::answer::{Api, as_file, done, json, number};
use super::request::body;
use crate::assets::Policy;
use crate::content::Source;
use crate::course::CourseFile;
use crate::error::Error;
use crate::import::hex;
use crate::multipart::Multipart;
use crate::report::moment;
use crate::settings::is_web;
use crate::sql;

/// The kind of owner of blobs of single files.
const ASSET: &str = "course-asset";
/// Most bytes of a file's path.
const PATH_BYTES_MAX: usize = 1_024;

async fn current(api: &Api, call: &Call) -> Result<i64, Error> {
    Ok(api.courses.course(call.params.get("course")).await?.current)
}

pub(crate) async fn zip(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    download(&api, &call, version).await
}

pub(crate) async fn zip_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    download(&api, &call, version).await
}

async fn download(api: &Api, call: &Call, version: i64) -> Result<Response, Problem> {
    let course = call.params.get("course");
    let blob = api.courses.package(course, version, call.now.0).await?;
    let file = CourseFile {
        path: "package.zip".into(),
        blob: blob.id.to_string(),
        start: 0,
        bytes: i64::try_from(blob.bytes).unwrap_or(i64::MAX),
        tag: hex(&blob.sha256[..16]),
        updated: blob.created.0,
    };
    let response = api.courses.serve(call, &file, Source::Blobs).await?;
    Ok(as_file(response, &format!("{course}.zip")))
}

pub(crate) async fn asset(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    one(&api, &call, version).await
}

pub(crate) async fn asset_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    one(&api, &call, version).await
}

async fn one(api: &Api, call: &Call, version: i64) -> Result<Response, Problem> {
    let file = wanted(api, call, version).await?;
    let mut response = api.courses.serve(call, &file, Source::Blobs).await?;
    // The same address may have another file tomorrow.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(as_file(response, &name))
}

async fn wanted(api: &Api, call: &Call, version: i64) -> Result<CourseFile, Problem> {
    let path = relative_path(&call.query()?);
    let found = api.courses.file(call.params.get("course"), version, &path).await?;
    Ok(found.ok_or_else(|| Error::Unknown("such file in the course".into()))?)
}

fn relative_path(query: &Query) -> String {
    query.get("relativePath").unwrap_or_default().trim_matches('/').to_owned()
}

pub(crate) async fn list(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    listed(&api, &call, version).await
}

pub(crate) async fn list_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    listed(&api, &call, version).await
}

async fn listed(api: &Api, call: &Call, version: i64) -> Result<Response, Problem> {
    let course = call.params.get("course");
    api.courses.version(course, version, call.now.0).await?;
    let rows = api.courses.list(sql::FILES, vec![course.into(), version.into()]).await?;
    let files = rows.iter().map(CourseFile::of).collect::<Result<Vec<_>, _>>()?;
    let shown: Vec<_> = files
        .iter()
        .map(|file| json!({ "path": file.path, "size": file.bytes, "modified": moment(file.updated) }))
        .collect();
    Ok(json(&json!({ "files": shown })))
}

pub(crate) async fn delete(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    removed(&api, &call, version).await
}

pub(crate) async fn delete_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    removed(&api, &call, version).await
}

async fn removed(api: &Api, call: &Call, version: i64) -> Result<Response, Problem> {
    let path = relative_path(&call.query()?);
    api.courses.delete_file(call.params.get("course"), version, &path, call.now.0).await?;
    Ok(done())
}

pub(crate) async fn upload(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    put(&api, call, version).await
}

pub(crate) async fn upload_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    put(&api, call, version).await
}

/// Adds a file, or replaces it: the field `file` of a form, and `destination`, its path.
async fn put(api: &Api, mut call: Call, version: i64) -> Result<Response, Problem> {
    let policy = policy_of(&call.query()?)?;
    let course = call.params.get("course").to_owned();
    api.courses.version(&course, version, call.now.0).await?;
    let now = ChangedAt(call.now.0);
    let content_type = call.header("content-type").unwrap_or_default().to_owned();
    let boundary = Multipart::boundary(&content_type)
        .ok_or_else(|| Error::Invalid("send a form with the fields file and destination".into()))?;
    let mut form = Multipart::new(&boundary, call.stream_body()?);
    let (mut found, mut destination) = (None, String::new());
    while let Some(part) = form.next_part().await? {
        match part.name.as_str() {
            "destination" => destination = form.text(PATH_BYTES_MAX).await?,
            "file" if found.is_none() => {
                let mut writing = api.courses.blobs.begin(ASSET).await.map_err(Error::from)?;
                while let Some(bytes) = form.chunk().await? {
                    writing.write(&bytes).await.map_err(Error::from)?;
                }
                let written = writing.finish(now).await.map_err(Error::from)?;
                found = Some((written, part.file_name.unwrap_or_default()));
            }
            _ => {}
        }
    }
    let (written, name) =
        found.ok_or_else(|| Error::Invalid("the form has no field file".into()))?;
    let path = place(api, (&course, version), &name, &destination).await?;
    keep(api, (&course, version), written, path, policy, ChangedAt(call.now.0)).await
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FetchAsset {
    fetch_url: String,
    #[serde(default)]
    destination: String,
}

pub(crate) async fn fetch(api: Api, call: Call) -> Result<Response, Problem> {
    let version = current(&api, &call).await?;
    fetched(&api, call, version).await
}

pub(crate) async fn fetch_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    fetched(&api, call, version).await
}

/// Adds a file from a URL, or replaces it. Where `destination` does not name it, its name is the last part
/// of the URL's path.
async fn fetched(api: &Api, mut call: Call, version: i64) -> Result<Response, Problem> {
    let policy = policy_of(&call.query()?)?;
    let FetchAsset { fetch_url: url, destination } = body(&mut call).await?;
    let course = call.params.get("course").to_owned();
    api.courses.version(&course, version, call.now.0).await?;
    if !is_web(&url) {
        return Err(Error::Invalid("fetchUrl is an http or https address".into()).into());
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let name = path.map(|(_, path)| path.rsplit('/').next().unwrap_or_default());
    let name = percent_decode_str(name.unwrap_or_default()).decode_utf8_lossy().into_owned();
    let path = place(api, (&course, version), &name, &destination).await?;
    let written = api.courses.fetched(&url, ASSET, call.now.0).await?;
    keep(api, (&course, version), written, path, policy, ChangedAt(call.now.0)).await
}

fn policy_of(query: &Query) -> Result<Policy, Error> {
    let text = query.get("updateAssetPolicy").unwrap_or_default().to_ascii_lowercase();
    match text.as_str() {
        "" | "lax" => Ok(Policy::Lax),
        "reject" => Ok(Policy::Reject),
        "strict" => Ok(Policy::Strict),
        _ => Err(Error::Invalid("updateAssetPolicy is lax, reject or strict".into())),
    }
}

/// Returns the path that a file gets in a version: that of `destination`, or its own name in the folder
/// that this is.
async fn place(
    api: &Api,
    (course, version): (&str, i64),
    name: &str,
    destination: &str,
) -> Result<String, Error> {
    let path = path_of(destination)?;
    let is_folder = destination.ends_with(['/', '\\'])
        || path.rsplit('/').next().is_some_and(|last| !last.contains('.'))
        || api.courses.is_folder(course, version, &path).await?;
    if !is_folder {
        return Ok(path);
    }
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    if name.is_empty() || matches!(name, "." | "..") {
        return Err(Error::Invalid("the file has no name, and destination is a folder".into()));
    }
    path_of(&format!("{path}/{name}"))
}

/// Returns a path without dots and slashes at its ends.
fn path_of(text: &str) -> Result<String, Error> {
    let parts: Vec<&str> =
        text.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
    let is_bad = |part: &&str| *part == ".." || part.chars().any(char::is_control);
    let path = parts.join("/");
    if parts.iter().any(is_bad) || path.len() > PATH_BYTES_MAX {
        let message = "destination leads out of the course, is too long, or cannot be shown";
        return Err(Error::Invalid(message.into()));
    }
    Ok(path)
}

/// Keeps a file as one of a version.
async fn keep(
    api: &Api,
    (course, version): (&str, i64),
    written: Written,
    path: String,
    policy: Policy,
    now: ChangedAt,
) -> Result<Response, Problem> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let shown = json!({ "filename": name, "destination": folder });
    api.courses.put_file((course, version), path, written, policy, now).await?;
    Ok(json(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_the_course() {
        for (text, path) in [
            ("", Some("")),
            ("/Etiquette/Course.html", Some("Etiquette/Course.html")),
            ("a//./b/", Some("a/b")),
            ("a\\b.html", Some("a/b.html")),
            ("a/../b", None),
            ("a/\u{7}", None),
        ] {
            assert_eq!(path_of(text).ok().as_deref(), path, "{text}");
        }
    }
}
