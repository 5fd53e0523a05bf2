//! Files that are made ready for a service: what is not sent is told as a load tells its rejects.

use std::io::Write as _;

use homeroom_bulk::{Reject, Summary, plain_files, rejects_of};

use crate::support::{Folder, load_all, target};

fn told(folder: &Folder) -> (usize, Vec<Reject>, Summary) {
    let (files, not_taken) = plain_files(&[folder.path().to_owned()]).unwrap();
    let (rejects, summary) = rejects_of(&not_taken);
    (files.len(), rejects, summary)
}

fn student(id: u32) -> String {
    format!(
        "{{\"studentUniqueId\": \"{id}\", \"firstName\": \"A\", \"lastSurname\": \"B\", \
         \"birthDate\": \"2010-01-01\"}}"
    )
}

#[test]
fn a_part_that_is_no_document_is_told_as_a_load_tells_it() {
    let [one, two, three] = [1, 2, 3].map(student);
    for text in [
        format!("[{one}\n{two},\n{three}]"),
        format!("[{one},\n{two},\n{three}"),
        format!("[{one},\n,{two},\n{three}] x"),
    ] {
        let folder = Folder::new();
        folder.write("students.json", &text);

        let (sent, rejects, summary) = told(&folder);
        let (by_load, of_load) = load_all(&target(), &[folder.path()]);

        assert_eq!((sent, by_load.loaded), (1, 3), "{text}");
        let rejects: Vec<_> = rejects.iter().map(|one| serde_json::json!(one)).collect();
        assert_eq!(rejects, of_load, "{text}");
        assert_eq!(summary.rejected, by_load.rejected, "{text}");
        assert_eq!(summary.causes, by_load.causes, "{text}");
        assert_eq!(summary.resources["unknown"], by_load.resources["unknown"], "{text}");
        assert_eq!((summary.documents, summary.rows), (0, 0), "{text}");
    }
}

#[test]
fn a_packed_file_that_is_cut_off_is_sent_as_far_as_it_goes_and_told_as_a_load_tells_it() {
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    for id in 0..20_000 {
        writeln!(packed, "{}", student(id * 7_919 % 1_000_003)).unwrap();
    }
    let packed = packed.finish().unwrap();
    folder.write("students.jsonl.gz", &packed[..packed.len() - 5_000]);

    let (sent, rejects, summary) = told(&folder);
    let (by_load, of_load) = load_all(&target(), &[folder.path()]);

    let of_file = of_load.iter().find(|reject| reject["resource"].is_null()).unwrap();
    assert_eq!((sent, rejects.len(), summary.rejected), (1, 1, 1));
    for member in ["line", "message", "hint", "type", "method", "status_code"] {
        assert_eq!(serde_json::json!(rejects[0])[member], of_file[member], "{of_file}");
    }
    assert!(!rejects[0].message.contains("not uploaded") && by_load.loaded > 10_000);
}

#[test]
fn a_document_that_is_too_large_counts_as_one_and_a_file_that_is_not_sent_as_none() {
    let folder = Folder::new();
    let large = student(2).replace("\"A\"", &format!("\"{}\"", "x".repeat(11 << 20)));
    folder.write("students.json", format!("[{},\n{large}]", student(1)));
    folder.write("pupils.csv", "a,b\n");

    let (sent, rejects, mut summary) = told(&folder);

    assert_eq!((sent, rejects.len()), (1, 2));
    let [csv, large] = &rejects[..] else { panic!("{rejects:?}") };
    assert!(csv.message.starts_with("It was not uploaded: the service takes no CSV"), "{csv:?}");
    assert_eq!((large.line, large.status_code), (2, 413), "{large:?}");
    assert_eq!((summary.rejected, summary.documents, summary.rows), (2, 1, 1));
    assert_eq!(summary.causes.iter().map(|cause| cause.count).sum::<u64>(), summary.rejected);
    let (by_service, _) = load_all(&target(), &[&folder.write("a/students.jsonl", student(1))]);
    summary.add(by_service);
    assert_eq!((summary.loaded, summary.documents, summary.rows), (1, 2, 2));
    assert_eq!(summary.documents, summary.loaded + summary.resources["unknown"].rejected - 1);
}
