//! A course of our own making, packed when it is asked for.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The id under which the sample course is added.
pub const SAMPLE_ID: &str = "library";

/// The files of the course.
const FILES: [(&str, &str); 4] = [
    ("imsmanifest.xml", include_str!("../sample/imsmanifest.xml")),
    ("index.html", include_str!("../sample/index.html")),
    ("lesson.css", include_str!("../sample/lesson.css")),
    ("lesson.js", include_str!("../sample/lesson.js")),
];

/// Returns the package of the sample course: a lesson for SCORM 1.2 with two questions.
///
/// # Panics
///
/// Never: it is written to memory.
pub fn sample_package() -> Vec<u8> {
    packed(&FILES)
}

/// Packs files.
///
/// # Panics
///
/// Never: they are written to memory.
pub fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in files {
        zip.start_file(*name, options).expect("memory takes another file");
        zip.write_all(text.as_bytes()).expect("memory takes more bytes");
    }
    zip.finish().expect("memory takes the table of contents").into_inner()
}
