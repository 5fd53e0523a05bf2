//! A small course package, made up here: a manifest, a page and two files of a size.

/// The name of the text in the package.
pub const TEXT: &str = "text.txt";
/// The name of the film in the package.
pub const FILM: &str = "film.mp4";

/// The manifest: SCORM 1.2, one unit with its files.
const MANIFEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="homeroom-lab" version="1" xmlns="http://www.imsproject.org/xsd/imscp_rootv1p1p2"
    xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2">
  <metadata><schema>ADL SCORM</schema><schemaversion>1.2</schemaversion></metadata>
  <organizations default="lab">
    <organization identifier="lab">
      <title>A course of the lab</title>
      <item identifier="unit" identifierref="page"><title>A unit</title></item>
    </organization>
  </organizations>
  <resources>
    <resource identifier="page" type="webcontent" adlcp:scormtype="sco" href="index.html">
      <file href="index.html"/><file href="text.txt"/><file href="film.mp4"/>
    </resource>
  </resources>
</manifest>
"#;

/// The page of the unit.
const PAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
    <title>A unit</title></head><body><h1>A unit</h1><p><a href=\"text.txt\">Text</a></p>\
    <video src=\"film.mp4\" controls=\"controls\"></video></body></html>\n";

/// Returns the package as a zip file: the manifest, a page, a text of this many bytes and a film of
/// twenty times as many, whose bytes are no film.
pub fn course_zip(file_bytes: usize) -> Vec<u8> {
    let filler = |bytes: usize, seed: u64| {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..bytes).map(|_| random.u8(b' '..=b'~')).collect::<Vec<u8>>()
    };
    let (text, film) = (filler(file_bytes, 1), filler(20 * file_bytes, 2));
    zip(&[
        ("imsmanifest.xml", MANIFEST.as_bytes()),
        ("index.html", PAGE.as_bytes()),
        (TEXT, &text),
        (FILM, &film),
    ])
}

/// Returns a zip file whose entries are stored without compression.
///
/// Source: PKWARE, APPNOTE 6.3, §4.3.7 (local header), §4.3.12 (central directory), §4.3.16 (end).
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out: Vec<u8> = vec![];
    let mut directory: Vec<u8> = vec![];
    for (name, content) in files {
        let offset = size(out.len());
        let mut facts = vec![];
        // Version 2.0, names in UTF-8, stored, at midnight of 1980-01-01.
        for word in [20_u16, 0x0800, 0, 0, 0x21] {
            facts.extend_from_slice(&word.to_le_bytes());
        }
        for number in [crc32(content), size(content.len()), size(content.len())] {
            facts.extend_from_slice(&number.to_le_bytes());
        }
        let length = u16::try_from(name.len()).expect("names are short");
        facts.extend_from_slice(&length.to_le_bytes());
        facts.extend_from_slice(&0_u16.to_le_bytes());

        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&facts);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(content);

        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend_from_slice(&20_u16.to_le_bytes());
        directory.extend_from_slice(&facts);
        // No comment, disk 0, no attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let begin = size(out.len());
    let count = u16::try_from(files.len()).expect("there are few files");
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06");
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&size(directory.len()).to_le_bytes());
    out.extend_from_slice(&begin.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}

fn size(length: usize) -> u32 {
    u32::try_from(length).expect("a package of the lab is small")
}

/// Returns the checksum of a zip entry: CRC-32 with the polynomial of IEEE 802.3.
fn crc32(content: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|byte| {
        let mut value = u32::try_from(byte).expect("a byte");
        for _ in 0..8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
        }
        value
    });
    let mut sum = u32::MAX;
    for byte in content {
        sum = table[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8);
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zip_files() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_package_has_its_files_and_a_directory_at_the_end() {
        let package = course_zip(1_000);

        assert!(package.starts_with(b"PK\x03\x04"));
        let end = package.len() - 22;
        assert_eq!(&package[end..end + 4], b"PK\x05\x06");
        let at = |place: usize| {
            u32::from_le_bytes(package[end + place..end + place + 4].try_into().unwrap()) as usize
        };
        let (length, begin) = (at(12), at(16));
        assert_eq!(begin + length, end);
        assert_eq!(&package[begin..begin + 4], b"PK\x01\x02");
        assert!(package.len() > 21_000 && package.len() < 24_000);
    }
}
