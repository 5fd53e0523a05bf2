//! Media types by the ends of names.

/// Media types by ending, in the order of how often they are met. Pages, scripts and styles have no
/// encoding here: what they say themselves would not count, and old courses are in others than UTF-8.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html"),
    ("htm", "text/html"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("css", "text/css"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("bmp", "image/bmp"),
    ("json", "application/json"),
    ("xml", "text/xml"),
    ("xsd", "text/xml"),
    ("dtd", "application/xml-dtd"),
    ("xhtml", "application/xhtml+xml"),
    ("txt", "text/plain"),
    ("shtml", "text/html"),
    ("xht", "application/xhtml+xml"),
    ("csv", "text/csv"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("srt", "text/plain; charset=utf-8"),
    ("mp4", "video/mp4"),
    ("m4v", "video/mp4"),
    ("webm", "video/webm"),
    ("ogv", "video/ogg"),
    ("mov", "video/quicktime"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("mpd", "application/dash+xml"),
    ("mp3", "audio/mpeg"),
    ("aac", "audio/aac"),
    ("weba", "audio/webm"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("eot", "application/vnd.ms-fontobject"),
    ("wasm", "application/wasm"),
    ("zip", "application/zip"),
    ("swf", "application/x-shockwave-flash"),
    ("apng", "image/apng"),
    ("jfif", "image/jpeg"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("cur", "image/x-icon"),
    ("rtf", "application/rtf"),
    ("epub", "application/epub+zip"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("glb", "model/gltf-binary"),
    ("gltf", "model/gltf+json"),
];

/// Media types of single files that make a course.
const COURSES: &[&str] = &["video/mp4", "audio/mpeg", "application/pdf", "video/webm", "audio/mp4"];

/// Returns the media type of a file by its name, if that tells it.
pub fn known_type(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, media)| *media)
}

/// Returns the media type of a file by its name.
pub fn media_type(name: &str) -> &'static str {
    known_type(name).unwrap_or("application/octet-stream")
}

/// Returns the media type of a file that makes a course by itself, by its first bytes or its name.
pub(crate) fn medium(name: &str, first: &[u8]) -> Option<&'static str> {
    if first.starts_with(b"%PDF-") {
        return Some("application/pdf");
    }
    if let Some(media) = framed(first) {
        return Some(media);
    }
    // Readers take what has this among its first 1,024 bytes, whatever stands before it.
    if memchr::memmem::find(first, b"%PDF-").is_some() {
        return Some("application/pdf");
    }
    let by_name = media_type(name);
    // What a file begins with decides, where that is known for sure.
    COURSES.iter().find(|known| **known == by_name && by_name == "audio/mpeg").copied()
}

/// Returns the type of a video or recording by its first bytes.
fn framed(first: &[u8]) -> Option<&'static str> {
    if first.get(4..8) == Some(b"ftyp") {
        let is_audio = first.get(8..11) == Some(b"M4A");
        return Some(if is_audio { "audio/mp4" } else { "video/mp4" });
    }
    let is_frame = first.len() > 1 && first[0] == 0xff && first[1] & 0xe0 == 0xe0;
    if first.starts_with(b"ID3") || is_frame {
        return Some("audio/mpeg");
    }
    if first.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]) {
        return Some("video/webm");
    }
    None
}

/// Returns the ending of the name under which a medium is served.
pub(crate) fn ending(media: &str) -> &'static str {
    let found = TYPES.iter().find(|(_, known)| *known == media);
    found.map_or("bin", |(ending, _)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_end_and_a_medium_by_its_beginning() {
        assert_eq!(media_type("a/Index.HTM"), "text/html");
        assert_eq!(media_type("noending"), "application/octet-stream");
        assert_eq!(medium("x", b"%PDF-1.7"), Some("application/pdf"));
        assert_eq!(medium("x", b"\r\n%PDF-1.4"), Some("application/pdf"));
        assert_eq!(medium("x", b"\xef\xbb\xbf%PDF-1.4"), Some("application/pdf"));
        assert_eq!(medium("x", b"\0\0\0\x20ftypisom"), Some("video/mp4"));
        assert_eq!(medium("x.mp3", b"ID3\x04"), Some("audio/mpeg"));
        assert_eq!(medium("x.exe", b"MZ"), None);
    }
}
