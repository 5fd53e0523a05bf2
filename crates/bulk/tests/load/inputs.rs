//! Packed files, lists of files, and CSV with a mapping.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use homeroom_bulk::LoadOptions;
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{descriptors, interchange, lines, school, student};

fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = GzEncoder::new(vec![], Compression::default());
    out.write_all(text.as_ref()).unwrap();
    out.finish().unwrap()
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut out = ZipWriter::new(std::io::Cursor::new(vec![]));
    for (name, text) in files {
        out.start_file(*name, SimpleFileOptions::default()).unwrap();
        out.write_all(text.as_bytes()).unwrap();
    }
    out.finish().unwrap().into_inner()
}

fn pupil(id: &str) -> serde_json::Value {
    json!({"studentUniqueId": id, "firstName": "A", "lastSurname": "B", "birthDate": "2010-01-01"})
}

#[test]
fn packed_files_are_loaded_like_plain_ones() {
    let (target, folder) = (target(), Folder::new());
    folder.write("Descriptors.xml.gz", gzip(descriptors()));
    let schools = interchange("EducationOrganization", &school(7, "S"));
    let more = lines([pupil("3")]);
    folder.write(
        "year.zip",
        zip(&[
            ("2026/b.xml", &schools),
            ("students.jsonl", &more),
            ("readme.txt", "x"),
            ("../c.xml", &schools),
        ]),
    );
    folder.write("students/1.json.gz", gzip(json!([pupil("1"), pupil("2")]).to_string()));
    folder.write("unnamed", gzip(interchange("Student", &student("4"))));

    let unnamed = folder.path().join("unnamed");
    let (summary, rejects) = load_all(&target, &[folder.path(), &unnamed]);

    assert_eq!(rejects, [json!(null); 0]);
    assert_eq!((summary.loaded, summary.unchanged, summary.files), (8, 1, 6));
    assert_eq!(stored(&target, "students").len(), 4);
}

#[test]
fn a_reject_names_its_place_in_the_packed_file_and_is_written_unpacked() {
    let (target, folder) = (target(), Folder::new());
    let records = lines([pupil("1"), json!({"studentUniqueId": "2"}), pupil("3")]);
    let path = folder.write("in/year.zip", zip(&[("a/students.jsonl", &records)]));
    let options = LoadOptions {
        paths: vec![path.clone()],
        rejects: Some(folder.path().join("rejects")),
        ..LoadOptions::default()
    };

    let (summary, rejects) = load_with(&target, options);

    assert_eq!((summary.loaded, summary.rejected), (2, 1));
    assert_eq!(rejects[0]["file"], json!(format!("{}/a/students.jsonl", path.display())));
    assert_eq!(rejects[0]["line"], 2);
    assert_eq!(folder.read("rejects/year/a/students.jsonl"), "{\"studentUniqueId\":\"2\"}\n");
}

#[test]
fn what_a_packed_file_holds_before_its_damage_is_loaded() {
    let (target, folder) = (target(), Folder::new());
    let many = lines((0..5_000).map(|n| pupil(&n.to_string())));
    let whole = gzip(many);
    folder.write("students.jsonl.gz", &whole[..whole.len() / 2]);
    folder.write("broken.zip", b"PK\x03\x04 and nothing else");
    folder.write("none.zip", zip(&[("readme.txt", "x")]));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert!(summary.loaded > 1_000, "{summary:?}");
    let told = |part: &str| {
        rejects.iter().any(|reject| reject["message"].as_str().unwrap().contains(part))
    };
    assert!(told("cannot be read any further"), "{rejects:?}");
    assert!(told("no zip archive") && told("the archive has no"), "{rejects:?}");
}

/// Packs content in an archive, and puts another byte into it.
fn zip_with_fault(
    method: zip::CompressionMethod,
    name: &str,
    content: &[u8],
    at: Fault<'_>,
) -> Vec<u8> {
    let mut out = ZipWriter::new(std::io::Cursor::new(vec![]));
    out.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
    out.write_all(content).unwrap();
    let mut bytes = out.finish().unwrap().into_inner();
    let at = match at {
        Fault::At(at) => name.len() + 30 + at,
        Fault::In(text) => memmem(&bytes, text),
    };
    bytes[at] ^= 1;
    bytes
}

/// Where a byte is another one.
enum Fault<'t> {
    /// So many bytes after the beginning of the packed content.
    At(usize),
    /// At the beginning of a text.
    In(&'t str),
}

fn memmem(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}

#[test]
fn of_a_packed_file_with_a_wrong_checksum_no_record_is_loaded() {
    let (target, folder) = (target(), Folder::new());
    let records = |name: &str| {
        let named = |n: u32| {
            let mut pupil = pupil(&n.to_string());
            pupil["lastSurname"] = json!(format!("{name}{n}"));
            pupil
        };
        lines((0..2_000).map(named))
    };
    folder.write("good/students.jsonl", records("Good"));
    let (before, rejects) = load_all(&target, &[&folder.path().join("good")]);
    assert_eq!((before.loaded, rejects), (2_000, vec![]));
    let names = |target: &_| {
        let mut all: Vec<String> =
            stored(target, "students").iter().map(|it| it["lastSurname"].to_string()).collect();
        all.sort();
        all
    };
    let good = names(&target);

    let (deflated, plain) = (zip::CompressionMethod::Deflated, zip::CompressionMethod::Stored);
    let worse = records("Worse");
    let packed = |at: usize| {
        let mut bytes = gzip(&worse);
        let at = if at == 0 { bytes.len() - 8 } else { at };
        bytes[at] ^= 1;
        bytes
    };
    let middle = gzip(&worse).len() / 2;
    let mut length = gzip(&worse);
    *length.last_mut().unwrap() ^= 1;
    // The first part of two is right by its own checksum, and is not told from the second.
    let two = [gzip(&worse), packed(0)].concat();
    let parts: Vec<(&str, Vec<u8>)> = vec![
        (
            "flipped.zip",
            zip_with_fault(deflated, "students.jsonl", worse.as_bytes(), Fault::At(middle)),
        ),
        (
            "letter.zip",
            zip_with_fault(plain, "students.jsonl", worse.as_bytes(), Fault::In("orse7")),
        ),
        ("inner.zip", zip_with_fault(plain, "students.jsonl.gz", &gzip(&worse), Fault::At(middle))),
        ("sum/students.jsonl.gz", packed(0)),
        ("length/students.jsonl.gz", length),
        ("two/students.jsonl.gz", two),
    ];
    for (name, bytes) in parts {
        let path = folder.write(name, bytes);

        let (summary, rejects) = load_all(&target, &[&path]);

        assert_eq!((summary.loaded, summary.unchanged, summary.rejected), (0, 0, 1), "{name}");
        let message = rejects[0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("Nothing of this file was loaded: the packed file is damaged"),
            "{message}"
        );
        assert!(message.contains("copy it or pack it again"), "{message}");
        assert_eq!(names(&target), good, "{name}");
        let (files, not_taken) = homeroom_bulk::plain_files(&[path]).unwrap();
        assert_eq!((files.len(), not_taken.len()), (0, 1), "{name}");
    }
    // What only follows the packed content does not belong to it.
    let followed = [gzip(lines([pupil("5000")])), b"and more".to_vec()].concat();
    let path = folder.write("after/students.jsonl.gz", followed);
    let (summary, rejects) = load_all(&target, &[&path]);
    assert_eq!((summary.loaded, summary.rejected), (1, 1), "{rejects:?}");
}

#[test]
fn a_folder_with_an_export_as_parquet_says_that_parquet_is_not_loaded() {
    let (target, folder) = (target(), Folder::new());
    folder.write("ed-fi/Student.parquet", "PAR1");
    let manifest = json!({
        "formatVersion": 1, "homeroom": "0", "begun": "2026-01-01T00:00:00Z", "format": "parquet",
        "projects": [], "since": 0, "changeVersion": 1, "documents": 1, "deletes": 0,
        "resources": {"ed-fi/students": 1}, "files": [],
    });
    folder.write("manifest.json", manifest.to_string());
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };

    let error = homeroom_bulk::load(&target, &options, &mut |_| (), &|| false);

    let error = error.unwrap_err().to_string();
    assert!(error.contains("an export as parquet cannot be loaded"), "{error}");
}

#[test]
fn a_bomb_is_refused_and_the_other_files_are_loaded() {
    let (target, folder) = (target(), Folder::new());
    let mut bomb = GzEncoder::new(vec![], Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..100 {
        bomb.write_all(&blanks).unwrap();
    }
    folder.write("Bomb.xml.gz", bomb.finish().unwrap());
    folder.write("students.jsonl", lines([pupil("1")]));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.loaded, 1);
    let message = rejects[0]["message"].as_str().unwrap();
    assert!(
        rejects.iter().any(|r| r["message"].as_str().unwrap().contains("400 times")),
        "{message}"
    );
}

const MAP: &str = "[[map]]\nfile = \"pupils.csv\"\nresource = \"students\"\n\
    constants = { \"$.firstName\" = \"A\" }\n\
    [map.columns]\n\"Pupil No\" = \"$.studentUniqueId\"\nName = \"$.lastSurname\"\n\
    Born = \"$.birthDate\"\n\"City 2\" = \"$.otherNames[1].firstName\"\n\
    Kind = { path = \"$.otherNames[1].otherNameTypeDescriptor\", prefix = \"uri://x/OtherNameTypeDescriptor#\", values = { N = \"Nickname\" } }\n\
    Other = \"$.otherNames[1].lastSurname\"\n";

#[test]
fn a_number_in_csv_may_have_leading_zeros_as_in_xml() {
    let (target, folder) = (target(), Folder::new());
    folder.write(
        "map.toml",
        "[[map]]\nfile = \"years.csv\"\nresource = \"schoolYearTypes\"\n\
         constants = { \"$.currentSchoolYear\" = false }\n\
         [map.columns]\nYear = \"$.schoolYear\"\nName = \"$.schoolYearDescription\"\n",
    );
    folder.write("years.csv", "Year,Name\n002026,007\n02x27,A\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (1, 1), "{rejects:?}");
    let years = stored(&target, "schoolYearTypes");
    let year = years.iter().find(|year| year["schoolYear"] == 2026).unwrap();
    assert_eq!(year["schoolYearDescription"], "007");
}

#[test]
fn json_in_utf_16_and_lines_that_name_their_resource_are_read_whatever_the_file_is_called() {
    let (target, folder) = (target(), Folder::new());
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let named = |id: &str| json!({"resource": "ed-fi/students", "document": pupil(id)});
    folder.write("students.ndjson", lines([named("1")]));
    folder.write("more/students.json", json!([named("2")]).to_string());
    folder.write("wide/students.jsonl", wide(&format!("\u{feff}{}", lines([pupil("3")]))));
    folder.write("array/students.json", wide(&json!([pupil("4"), pupil("5")]).to_string()));
    folder.write("packed/students.jsonl.gz", gzip(wide(&lines([pupil("6")]))));
    folder.write("unnamed", wide(&format!("\u{feff}{}", lines([named("7")]))));

    let unnamed = folder.path().join("unnamed");
    let (summary, rejects) = load_all(&target, &[folder.path(), &unnamed]);

    assert_eq!((summary.loaded, summary.rejected), (7, 0), "{rejects:?}");
    let (files, not_taken) = homeroom_bulk::plain_files(&[folder.path().to_owned()]).unwrap();
    assert_eq!((files.len(), not_taken), (5, vec![]));
    for file in files {
        let text = std::fs::read_to_string(&file.content).unwrap();
        assert!(text.trim_start_matches('\u{feff}').starts_with('{'), "{:?}: {text}", file.name);
    }
}

#[test]
fn rows_of_csv_become_documents_by_their_mapping() {
    let (target, folder) = (target(), Folder::new());
    folder.write("map.toml", MAP);
    folder.write(
        "pupils.csv",
        "\u{feff}Name,Pupil No,Born,City 2,Kind,Other\r\n\"Quill, \"\"Ada\"\"\",1,2010-01-01,,,\r\n\
         \"Two\nlines\",2,2010-01-02,,\r\nVole,3,no date,,,\r\nWren,4,2010-01-04,W,N,Z\r\n\
         Xu,5,2010-01-05,,,\r\n",
    );
    folder.write(
        "otherNameTypeDescriptors.jsonl",
        lines([json!({"namespace": "uri://x/OtherNameTypeDescriptor", "codeValue": "Nickname",
            "shortDescription": "N"})]),
    );
    let rejects_in = folder.path().join("rejects");
    let options = LoadOptions {
        paths: vec![folder.path().to_owned()],
        rejects: Some(rejects_in.clone()),
        ..LoadOptions::default()
    };

    let (summary, rejects) = load_with(&target, options);

    assert_eq!((summary.loaded, summary.rejected), (4, 2), "{rejects:?}");
    let places: Vec<_> = rejects.iter().map(|reject| &reject["line"]).collect();
    assert_eq!(places, [3, 5]);
    let students = stored(&target, "students");
    assert_eq!(students[0]["lastSurname"], "Quill, \"Ada\"");
    assert_eq!(
        students[1]["otherNames"],
        json!([{"firstName": "W", "lastSurname": "Z", "otherNameTypeDescriptor": "uri://x/OtherNameTypeDescriptor#Nickname"}])
    );

    // Rejects are CSV with the same headers, so they are mended and loaded by the same mapping.
    let mended = folder.read("rejects/pupils.csv").replace("no date", "2010-01-03");
    folder.write("again/pupils.csv", mended);
    let again = LoadOptions {
        paths: vec![folder.path().join("again")],
        map: Some(folder.path().join("map.toml")),
        ..LoadOptions::default()
    };
    let (summary, _) = load_with(&target, again);
    assert_eq!((summary.loaded, summary.rejected), (1, 1));
}

#[test]
fn csv_without_a_mapping_or_without_its_columns_is_rejected_as_a_whole() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a/b.csv", "x\n1\n");
    folder.write("map/map.toml", MAP);
    folder.write("map/pupils.csv", "Name,Born\nx,2010-01-01\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (0, 2));
    assert!(rejects[0]["message"].as_str().unwrap().contains("no [[map]]"), "{rejects:?}");
    assert!(rejects[1]["message"].as_str().unwrap().contains("no column"), "{rejects:?}");
}

#[test]
fn a_list_of_files_stands_for_them_and_one_that_is_missing_is_rejected() {
    let (target, folder) = (target(), Folder::new());
    folder.write("in/a.xml", descriptors());
    folder.write("in/b.xml", interchange("EducationOrganization", &school(7, "S")));
    let list = "<Interchanges><Interchange><Filename>b.xml</Filename><Type>x</Type></Interchange>\
                <Interchange><Filename>a.xml</Filename></Interchange><Interchange><Filename>c.xml\
                </Filename></Interchange></Interchanges>";
    let path = folder.write("in/list.xml", list);

    let (by_list, rejects) = load_all(&target, &[&path]);
    let (by_folder, _) = load_all(&target, &[path.parent().unwrap()]);

    assert_eq!((by_list.loaded, by_list.rejected), (4, 1));
    assert!(rejects[0]["file"].as_str().unwrap().ends_with("in/c.xml"));
    assert_eq!((by_folder.unchanged, by_folder.rejected), (4, 0));
}

#[test]
fn a_mapping_is_found_beside_a_file_that_is_named_and_in_its_archive() {
    let (target, folder) = (target(), Folder::new());
    let rows = "Name,Pupil No,Born,City 2,Kind,Other\nA,1,2010-01-01,,,\n";
    folder.write("map.toml", MAP);
    let path = folder.write("pupils.csv", rows);
    let map = MAP.replace("pupils.csv", "in/pupils.csv");
    let packed = folder.write("z/a.zip", zip(&[("map.toml", &map), ("in/pupils.csv", rows)]));

    let (named, rejects) = load_all(&target, &[&path]);
    let (within, more) = load_all(&target, &[&packed]);

    assert_eq!((named.loaded, within.unchanged), (1, 1), "{rejects:?} {more:?}");
}

#[test]
fn what_is_packed_twice_is_unpacked_or_rejected_and_never_passed_over() {
    let (target, folder) = (target(), Folder::new());
    let bytes = |files: &[(&str, &[u8])]| {
        let mut out = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
        for (name, content) in files {
            out.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            out.write_all(content).unwrap();
        }
        out.finish().unwrap().into_inner()
    };
    let inner = bytes(&[("students.jsonl", b"{}")]);
    let packed = gzip(lines([pupil("1")]));
    let path = folder.write("a.zip", bytes(&[("students.jsonl.gz", &packed), ("b.zip", &inner)]));

    let (summary, rejects) = load_all(&target, &[&path]);

    assert_eq!((summary.loaded, summary.rejected), (1, 1), "{rejects:?}");
    assert!(rejects[0]["file"].as_str().unwrap().ends_with("a.zip/b.zip"), "{rejects:?}");
}

#[test]
fn a_list_that_breaks_off_is_rejected_from_there_on() {
    let (target, folder) = (target(), Folder::new());
    folder.write("A&B.xml", interchange("Student", &student("1")));
    folder.write("C.xml", interchange("Student", &student("2")));
    let list = "<Interchanges><Filename>A&amp;B.xml</Filename>\n<Filename><![CDATA[C.xml]]></Filename>\n\
                <b></c><Filename>D.xml</Filename></Interchanges>";
    let path = folder.write("list.xml", list);

    let (summary, rejects) = load_all(&target, &[&path]);

    assert_eq!((summary.loaded, summary.rejected), (2, 1), "{rejects:?}");
    assert!(rejects[0]["message"].as_str().unwrap().contains("from line 3 on"), "{rejects:?}");
}

#[test]
fn a_path_that_is_missing_is_an_error_before_anything_is_loaded() {
    let target = target();
    let options =
        LoadOptions { paths: vec![Path::new("nowhere.csv").to_owned()], ..LoadOptions::default() };

    assert!(homeroom_bulk::load(&target, &options, &mut |_| {}, &|| false).is_err());
}
