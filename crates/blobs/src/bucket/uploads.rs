//! Finds the multipart uploads that a killed process has left, and aborts them.
//!
//! Source: Amazon S3 API reference, `ListMultipartUploads`.

use std::fmt::Write as _;

use homeroom_store::ChangedAt;
use http_body_util::BodyExt as _;
use object_store::aws::AwsAuthorizer;
use object_store::client::{HttpRequest, HttpRequestBody, HttpService as _};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use object_store::{Error, MultipartId};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::link::Link;
use super::trouble::is_unknown_to_store;
use crate::blob::BlobId;
use crate::error::BlobError;

/// Most pages of uploads of one sweep.
const PAGES_MAX: usize = 100;

/// A page of uploads that are neither completed nor aborted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    uploads: Vec<Upload>,
    /// The key and the upload after which the next page begins.
    next: Option<(String, String)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Upload {
    key: String,
    id: String,
    initiated: String,
}

impl Link {
    /// Aborts the uploads of blobs that began before a moment. Returns their number; 0 where the store
    /// does not list them.
    pub(crate) async fn abort_uploads(self, since: ChangedAt) -> Result<u64, BlobError> {
        let (mut aborted, mut after) = (0, None);
        for _ in 0..PAGES_MAX {
            let page = match self.uploads(after).await {
                Ok(page) => page,
                Err(error) if is_unknown_to_store(&error) => return Ok(aborted),
                Err(error) => return Err(self.trouble("list the uploads of", &error)),
            };
            for upload in page.uploads.iter().filter(|upload| self.is_old(upload, since)) {
                let id = MultipartId::from(upload.id.as_str());
                let done = self.store.abort_multipart(&Path::from(upload.key.as_str()), &id).await;
                match done {
                    Ok(()) => aborted += 1,
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(self.trouble("abort an upload of", &error)),
                }
            }
            match page.next {
                None => break,
                next => after = next,
            }
        }
        Ok(aborted)
    }

    /// Returns whether an upload is one of a blob, and began before a moment.
    fn is_old(&self, upload: &Upload, since: ChangedAt) -> bool {
        let name = upload.key.rsplit('/').next().unwrap_or_default();
        let is_ours = BlobId::read(name).is_some_and(|id| self.path(id).as_ref() == upload.key);
        let initiated = upload.initiated.parse::<jiff::Timestamp>();
        is_ours && initiated.is_ok_and(|then| then.as_microsecond() <= since.0)
    }

    /// Asks for a page of uploads, which `object_store` does not.
    async fn uploads(&self, after: Option<(String, String)>) -> object_store::Result<Page> {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let prefix = &self.settings.prefix;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let mut url = format!("{}/?uploads=&prefix={}", self.settings.base(), encoded(&prefix));
        if !self.settings.is_host {
            url = url.replacen("/?", "?", 1);
        }
        if let Some((key, upload)) = after {
            let (key, upload) = (encoded(&key), encoded(&upload));
            _ = write!(url, "&key-marker={key}&upload-id-marker={upload}");
        }
        let generic = |error: Box<dyn std::error::Error + Send + Sync>| Error::Generic {
            store: "S3",
            source: error,
        };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() =
            url.parse().map_err(|error: http::uri::InvalidUri| generic(error.into()))?;
        let credential = self.store.credentials().get_credential().await?;
        AwsAuthorizer::new(&credential, "s3", &self.settings.region)
            .try_authorize(&mut request, None)?;
        let answer = self.road.call(request).await.map_err(|error| generic(error.into()))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| generic(error.into()))?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        if !status.is_success() {
            return Err(generic(format!("status code: {}: {text}", status.as_u16()).into()));
        }
        page(&text).map_err(|error| generic(error.into()))
    }
}

fn page(text: &str) -> Result<Page, quick_xml::Error> {
    let mut reader = Reader::from_str(text);
    let (mut page, mut path) = (Page::default(), Vec::<String>::new());
    let (mut is_more, mut next) = (false, (String::new(), String::new()));
    let mut value = String::new();
    loop {
        match reader.read_event()? {
            Event::Start(tag) => {
                let name = tag.local_name().as_ref().to_owned();
                if path.len() == 1 && name == "Upload" {
                    page.uploads.push(Upload::default());
                }
                path.push(name);
                value.clear();
            }
            Event::Text(text) => value.push_str(&text),
            Event::GeneralRef(name) => value.push_str(match &*name {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                "apos" => "'",
                _ => "",
            }),
            Event::End(_) => {
                let names: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
                let told = std::mem::take(&mut value);
                match (names.as_slice(), page.uploads.last_mut()) {
                    (["Upload", "Key"], Some(upload)) => upload.key = told,
                    (["Upload", "UploadId"], Some(upload)) => upload.id = told,
                    (["Upload", "Initiated"], Some(upload)) => upload.initiated = told,
                    (["IsTruncated"], _) => is_more = told == "true",
                    (["NextKeyMarker"], _) => next.0 = told,
                    (["NextUploadIdMarker"], _) => next.1 = told,
                    _ => {}
                }
                path.pop();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    page.next = is_more.then_some(next);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: Amazon S3 API reference, `ListMultipartUploads`, the sample response, shortened.
    #[test]
    fn the_published_page_of_uploads_is_read() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
              <Bucket>bucket</Bucket>
              <KeyMarker></KeyMarker>
              <NextKeyMarker>my-movie.m2ts</NextKeyMarker>
              <NextUploadIdMarker>YW55IGlkZWE</NextUploadIdMarker>
              <MaxUploads>3</MaxUploads>
              <IsTruncated>true</IsTruncated>
              <Upload>
                <Key>my&amp;divisor</Key>
                <UploadId>XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5n</UploadId>
                <Owner><ID>75aa57f0</ID></Owner>
                <Initiated>2010-11-10T20:48:33.000Z</Initiated>
              </Upload>
            </ListMultipartUploadsResult>"#;

        let upload = Upload {
            key: "my&divisor".into(),
            id: "XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5n".into(),
            initiated: "2010-11-10T20:48:33.000Z".into(),
        };
        let next = Some(("my-movie.m2ts".to_owned(), "YW55IGlkZWE".to_owned()));
        assert_eq!(page(text).unwrap(), Page { uploads: vec![upload], next });
    }
}
