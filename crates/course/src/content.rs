//! The files of courses, as browsers read them: whole or in ranges, from their cache where they can.
//!
//! Source: RFC 9110 §13.2.2 (`If-None-Match`), §14 (`Range`, `If-Range`).

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use homeroom_access::Call;
use homeroom_blobs::{BlobId, Reading};
use homeroom_http::{Body, BodyError, Response, empty_response};
use homeroom_store::Sql;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

use crate::content_cache::PIECE;
use crate::course::{CourseFile, blob_id};
use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::Launch;
use crate::package::media_type;
use crate::sql;

/// How long browsers keep a file: its address has the launch, whose version does not change.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("private, max-age=604800, immutable");

/// Where the bytes of an answer may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Memory, where they are there: many browsers ask for the same.
    Memory,
    /// The place of the blobs.
    Blobs,
}

impl Courses {
    /// Finds a file of a version; [`None`] if there is none.
    pub(crate) async fn file(
        &self,
        course: &str,
        version: i64,
        path: &str,
    ) -> Result<Option<CourseFile>, Error> {
        let arguments = vec![course.into(), version.into(), path.into()];
        // A page of a course has dozens of files: each is found as fast as a document is, without a wait
        // for lists.
        let rows = self.store.probe(Sql::new(sql::FILE, arguments)).await?;
        rows.first().map(CourseFile::of).transpose()
    }

    /// Finds the file of a launch's version that a path of a URL means: as it is written, else in another
    /// case, since many courses were made where that is the same, else a folder's page.
    pub(crate) async fn found(
        &self,
        launch: &Launch,
        path: &str,
    ) -> Result<Option<CourseFile>, Error> {
        let (course, version) = (launch.course.as_str(), launch.version);
        let mut paths: Vec<String> = vec![];
        for spelled in [percent_decode_str(path).decode_utf8().ok(), Some(path.into())] {
            let Some(plain) = spelled.as_deref().and_then(plain_path) else { continue };
            if !paths.contains(&plain) {
                paths.push(plain);
            }
        }
        for path in &paths {
            if let Some(file) = self.file(course, version, path).await? {
                return Ok(Some(file));
            }
        }
        for path in &paths {
            let mut pages = vec![path.clone()];
            if path.rsplit('/').next().is_some_and(|last| !last.contains('.')) {
                pages.extend(["index.html", "index.htm"].map(|page| {
                    if path.is_empty() { page.to_owned() } else { format!("{path}/{page}") }
                }));
            }
            for page in pages {
                let arguments = vec![course.into(), version.into(), page.into()];
                if let Some(row) = self.row(sql::FILE_OTHER_CASE, arguments).await? {
                    return Ok(Some(CourseFile::of(&row)?));
                }
            }
        }
        Ok(None)
    }

    /// Answers with a file.
    pub(crate) async fn serve(
        &self,
        call: &Call,
        file: &CourseFile,
        from: Source,
    ) -> Result<Response, Error> {
        let tag = format!("\"{}\"", file.tag);
        let length = u64::try_from(file.bytes).unwrap_or(0);
        let mut response = if matches_tag(&call.headers, &tag) {
            empty_response(StatusCode::NOT_MODIFIED)
        } else {
            match range(&call.headers, &tag, length) {
                Wanted::Whole => self.bytes((file, from), 0..length, StatusCode::OK).await?,
                Wanted::Part(part) => {
                    let shown = format!("bytes {}-{}/{length}", part.start, part.end - 1);
                    let mut response =
                        self.bytes((file, from), part, StatusCode::PARTIAL_CONTENT).await?;
                    if let Ok(shown) = HeaderValue::from_str(&shown) {
                        response.headers_mut().insert(header::CONTENT_RANGE, shown);
                    }
                    response
                }
                Wanted::Nothing => {
                    let mut response = empty_response(StatusCode::RANGE_NOT_SATISFIABLE);
                    if let Ok(shown) = HeaderValue::from_str(&format!("bytes */{length}")) {
                        response.headers_mut().insert(header::CONTENT_RANGE, shown);
                    }
                    response
                }
            }
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CACHE_CONTROL, IMMUTABLE);
        Ok(response)
    }

    async fn bytes(
        &self,
        (file, from): (&CourseFile, Source),
        part: Range<u64>,
        status: StatusCode,
    ) -> Result<Response, Error> {
        let start = u64::try_from(file.start).unwrap_or(0);
        let length = part.end - part.start;
        let mut response = if length == 0 {
            http::Response::new(Body::empty())
        } else {
            let id = blob_id(&file.blob).ok_or_else(|| Error::damaged("a file of a course"))?;
            let end = u64::try_from(file.bytes).unwrap_or(0).saturating_add(start);
            let range = start + part.start..start + part.end;
            let body = if length > PIECE {
                Body::stream(Pieces::of(self.blobs.read(id, end, range).await?, length))
            } else if from == Source::Memory {
                self.of_kept(id, start..end, range).await?.into()
            } else {
                self.read(id, range).await?.into()
            };
            http::Response::new(body)
        };
        *response.status_mut() = status;
        let media = HeaderValue::from_static(media_type(&file.path));
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        Ok(response)
    }

    /// Returns a range of a blob that is within a file, itself a range of the blob. The pieces that it is in come
    /// from memory, where they are there.
    async fn of_kept(
        &self,
        id: BlobId,
        file: Range<u64>,
        range: Range<u64>,
    ) -> Result<Bytes, Error> {
        let mut found = Bytes::new();
        let mut at = range.start;
        while at < range.end {
            let first = at - (at - file.start) % PIECE;
            let last = file.end.min(first + PIECE);
            let piece = self.piece(id, first..last).await?;
            let to = range.end.min(last);
            let one = piece.slice(index(at - first)..index(to - first));
            found =
                if found.is_empty() { own(one, piece.len()) } else { [found, one].concat().into() };
            at = to;
        }
        Ok(found)
    }

    async fn piece(&self, id: BlobId, range: Range<u64>) -> Result<Bytes, Error> {
        if let Some(kept) = self.content_cache.get(id, &range) {
            return Ok(kept);
        }
        let all = self.read(id, range.clone()).await?;
        self.content_cache.put(id, &range, all.clone());
        Ok(all)
    }

    /// Reads a range of a blob, all of which has to be there.
    async fn read(&self, id: BlobId, range: Range<u64>) -> Result<Bytes, Error> {
        let length = index(range.end - range.start);
        let mut reading = self.blobs.read(id, range.end, range).await?;
        let mut all = Vec::with_capacity(length);
        while let Some(bytes) = reading.next().await? {
            all.extend_from_slice(&bytes);
        }
        if all.len() != length {
            return Err(Error::damaged("a file of a course"));
        }
        Ok(all.into())
    }
}

/// Returns a number of bytes within a piece.
fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Copies a part of a piece that would keep much more than itself in memory while it is sent.
fn own(part: Bytes, whole: usize) -> Bytes {
    if part.len() < whole / 8 { Bytes::copy_from_slice(&part) } else { part }
}

/// Returns a path of a URL without dots and with composed letters; [`None`] if it leads out of the course.
fn plain_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then(|| parts.join("/").nfc().collect())
}

fn matches_tag(headers: &HeaderMap, tag: &str) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.trim_start_matches("W/") == tag
    })
}

/// What a request wants of a file.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part(Range<u64>),
    Nothing,
}

/// Reads the range of a request. Several ranges are answered with the whole, which is allowed.
fn range(headers: &HeaderMap, tag: &str, length: u64) -> Wanted {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(stated) = text(header::RANGE) else { return Wanted::Whole };
    if text(header::IF_RANGE).is_some_and(|known| known.trim() != tag) {
        return Wanted::Whole;
    }
    let Some(stated) = stated.trim().strip_prefix("bytes=") else { return Wanted::Whole };
    let Some((first, last)) = stated.split_once('-').filter(|_| !stated.contains(',')) else {
        return Wanted::Whole;
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (first.trim(), last.trim()) {
        ("", last) => match number(last) {
            None => Wanted::Whole,
            Some(0) => Wanted::Nothing,
            Some(_) if length == 0 => Wanted::Nothing,
            Some(last) => Wanted::Part(length.saturating_sub(last)..length),
        },
        (first, "") => match number(first) {
            None => Wanted::Whole,
            Some(first) if first >= length => Wanted::Nothing,
            Some(first) => Wanted::Part(first..length),
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && first < length => {
                Wanted::Part(first..last.saturating_add(1).min(length))
            }
            (Some(first), Some(last)) if first <= last => Wanted::Nothing,
            _ => Wanted::Whole,
        },
    }
}

type Next = Pin<Box<dyn Future<Output = (Reading, Result<Option<Bytes>, BodyError>)> + Send>>;

/// A blob's bytes as the body of an answer.
struct Pieces {
    next: Option<Next>,
    left: u64,
}

impl Pieces {
    fn of(reading: Reading, length: u64) -> Self {
        Self { next: Some(read_on(reading)), left: length }
    }
}

fn read_on(mut reading: Reading) -> Next {
    Box::pin(async move {
        let next = reading.next().await.map_err(BodyError::from);
        (reading, next)
    })
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(next) = self.next.as_mut() else { return Poll::Ready(None) };
        let (reading, piece) = ready!(next.as_mut().poll(cx));
        self.next = None;
        match piece {
            Ok(Some(bytes)) => {
                self.left = self.left.saturating_sub(bytes.len() as u64);
                if self.left > 0 {
                    self.next = Some(read_on(reading));
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ok(None) => Poll::Ready(None),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        for (stated, wanted) in [
            ("bytes=0-4", Wanted::Part(0..5)),
            ("bytes=5-", Wanted::Part(5..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=8-99", Wanted::Part(8..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=12-13", Wanted::Nothing),
            ("bytes=4-2", Wanted::Whole),
            ("bytes=0-1,4-5", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("bytes=x", Wanted::Whole),
        ] {
            let headers = [(header::RANGE, HeaderValue::from_static(stated))].into_iter().collect();
            assert_eq!(range(&headers, "\"a\"", 10), wanted, "{stated}");
        }
    }

    #[test]
    fn a_range_of_another_version_gets_the_whole() {
        let headers = [
            (header::RANGE, HeaderValue::from_static("bytes=0-1")),
            (header::IF_RANGE, HeaderValue::from_static("\"b\"")),
        ];

        assert_eq!(range(&headers.into_iter().collect(), "\"a\"", 10), Wanted::Whole);
    }
}
