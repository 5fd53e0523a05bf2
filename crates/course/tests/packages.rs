//! Packages: those of others, where the environment names a folder of them, and broken ones of our own.

use std::fs::File;
use std::path::{Path, PathBuf};

use homeroom_course::{Level, Package, PackageLimits, Standard, packed, read_package};

/// Returns the folder of example packages, if there is one.
fn reference() -> Option<PathBuf> {
    let folder = std::env::var("HOMEROOM_REFERENCE").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("skipped: HOMEROOM_REFERENCE names no folder of examples");
    }
    folder.map(|folder| PathBuf::from(folder).join("learning"))
}

/// Returns the example packages in a folder, of which there are at least so many.
fn examples(folder: &Path, name: &str, count: usize) -> Vec<PathBuf> {
    let folder = folder.join("packages").join(name);
    let found = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> =
        found.filter(|path| path.extension().is_some_and(|ending| ending == "zip")).collect();
    assert!(found.len() >= count, "{}: {found:?}", folder.display());
    found
}

/// The file stays readable after its folder has gone.
fn file_of(bytes: &[u8]) -> File {
    let folder = homeroom_testkit::Folder::new();
    File::open(folder.write("package", bytes)).unwrap()
}

fn read(files: &[(&str, &str)]) -> Package {
    read_package(file_of(&packed(files)), "p.zip", PackageLimits::default())
}

fn codes(package: &Package) -> Vec<&str> {
    let bad = package.findings.iter().filter(|finding| finding.level != Level::Pass);
    bad.map(|finding| finding.code.as_str()).collect()
}

#[test]
fn every_example_of_scorm_can_be_played_and_its_edition_is_known() {
    let Some(folder) = reference() else { return };
    for (name, count, standard) in
        [("scorm12", 3, Standard::Scorm12), ("scorm2004", 5, Standard::Scorm2004Second)]
    {
        for path in examples(&folder, name, count) {
            let shown = path.display().to_string();

            let package =
                read_package(File::open(&path).unwrap(), &shown, PackageLimits::default());

            assert!(package.is_playable(), "{shown}: {:?}", package.findings);
            let found = package.standard.unwrap();
            let wanted = match () {
                () if shown.contains("3rdEdition") => Standard::Scorm2004Third,
                () if shown.contains("4thEdition") => Standard::Scorm2004Fourth,
                () => standard,
            };
            assert_eq!(found, wanted, "{shown}");
        }
    }
}

#[test]
fn examples_of_other_standards_are_refused_with_their_names() {
    let Some(folder) = reference() else { return };
    for (name, count, word) in [("aicc", 4, "AICC"), ("cmi5", 2, "cmi5"), ("xapi", 1, "xAPI")] {
        for path in examples(&folder, name, count) {
            let package = read_package(File::open(&path).unwrap(), "", PackageLimits::default());

            assert!(!package.is_playable(), "{}", path.display());
            assert!(package.failure().contains(word), "{}", package.failure());
        }
    }
}

#[test]
fn a_manifest_is_found_at_any_depth_beside_junk() {
    let manifest = "<manifest xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_rootv1p2'>\
        <organizations><organization identifier='o'><title>T</title>\
        <item identifier='i' identifierref='r' parameters='?a=1'><title>I</title></item>\
        </organization></organizations><resources>\
        <resource identifier='r' adlcp:scormtype='sco' href='Page%201.HTML'/></resources></manifest>";
    let package = read(&[
        ("__MACOSX/course/._imsmanifest.xml", "junk"),
        ("course/.DS_Store", "junk"),
        ("course/content/imsmanifest.xml", manifest),
        ("course/content/page 1.html", "hello"),
        ("course/content/deeper/imsmanifest.xml", "<not this one>"),
    ]);

    assert!(package.is_playable(), "{:?}", package.findings);
    let tree = package.tree.as_ref().unwrap();
    assert_eq!(tree.launchable()[0].href.as_deref(), Some("page%201.html?a=1"));
    assert_eq!(codes(&package), ["junk", "manifest-below", "no-version", "other-case"]);
}

#[test]
fn lying_manifests_are_played_as_far_as_they_can_be() {
    let manifest = |items: &str, resources: &str| {
        format!(
            "<manifest><metadata><schemaversion>1.2</schemaversion></metadata><organizations \
             default='gone'><organization identifier='o'>{items}</organization></organizations>\
             <resources>{resources}</resources></manifest>"
        )
    };
    let there = "<resource identifier='r' href='a.html'><file href='missing.js'/></resource>";
    for (items, resources, playable, code) in [
        ("<item identifier='i' identifierref='r'/>", there, true, "missing-file"),
        ("<item identifierref='r'/>", there, true, "no-identifier"),
        (
            "<item identifier='i' identifierref='r'/><item identifier='i' identifierref='r'/>",
            there,
            true,
            "identifier-twice",
        ),
        ("<item identifier='i' identifierref='x'/>", there, false, "no-resource"),
        (
            "<item identifier='i' identifierref='r'/>",
            "<resource identifier='r' href='../../etc/passwd'/>",
            false,
            "missing-launch",
        ),
        (
            "<item identifier='i' identifierref='r'/>",
            "<resource identifier='r' href='https://example.org/a'/>",
            true,
            "launch-elsewhere",
        ),
        ("", "", false, "no-resources"),
    ] {
        let text = manifest(items, resources);

        let package = read(&[("imsmanifest.xml", &text), ("a.html", "a")]);

        assert_eq!(package.is_playable(), playable, "{text}: {:?}", package.findings);
        assert!(codes(&package).contains(&code), "{text}: {:?}", codes(&package));
    }
}

const SMALLEST: &str =
    "<manifest><resources><resource identifier='r' href='a.html'/></resources></manifest>";

#[test]
fn silence_is_honest_and_what_is_too_large_is_refused() {
    let silence = "\0".repeat(8 << 20);
    let bytes = packed(&[("imsmanifest.xml", SMALLEST), ("a.html", "a"), ("a.wav", &silence)]);
    let mut package = read_package(file_of(&bytes), "", PackageLimits::default());
    let mut unpacked = 0;
    let done = package.unpacking.as_mut().unwrap().each(&mut |_, bytes| {
        unpacked += bytes.len();
        Ok(())
    });
    let few = PackageLimits { files: 1, ..PackageLimits::default() };
    let small = PackageLimits { unpacked_bytes: 1 << 20, ..PackageLimits::default() };
    let short = PackageLimits { manifest_bytes: 10, ..PackageLimits::default() };
    let little = PackageLimits { packed_bytes: 100, ..PackageLimits::default() };
    let strict = PackageLimits { any_ratio_bytes: 4 << 20, ..PackageLimits::default() };

    assert!(done.is_ok() && unpacked > 8 << 20, "{done:?}");
    for (limits, code) in [
        (few, "too-many-files"),
        (small, "too-large"),
        (short, "too-large"),
        (little, "too-large"),
        (strict, "bomb"),
    ] {
        let package = read_package(file_of(&bytes), "", limits);
        assert!(codes(&package).contains(&code), "{:?}", package.findings);
    }
}

#[test]
fn a_bomb_that_lies_about_its_size_is_stopped_while_it_is_unpacked() {
    let zeros = "0".repeat(8 << 20);
    let mut bytes = packed(&[("imsmanifest.xml", SMALLEST), ("a.html", &zeros)]);
    let listed = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[listed + 24..listed + 28].copy_from_slice(&7_u32.to_le_bytes());
    let limits = PackageLimits { any_ratio_bytes: 4 << 20, ..PackageLimits::default() };

    let mut package = read_package(file_of(&bytes), "", limits);
    let refused = package.unpacking.as_mut().unwrap().each(&mut |_, _| Ok(())).unwrap_err();

    assert!(["bomb", "broken-zip"].contains(&refused.code.as_str()), "{refused:?}");
    assert!(!package.verified().is_playable());
}

#[test]
fn files_that_share_their_bytes_are_refused() {
    let bytes = packed(&[("imsmanifest.xml", SMALLEST), ("a.html", "a"), ("b.html", "b")]);
    let listed: Vec<usize> =
        (0..bytes.len() - 4).filter(|at| &bytes[*at..at + 4] == b"PK\x01\x02").collect();
    let mut shared = bytes.clone();
    // The last file's place is that of the one before.
    let place = bytes[listed[1] + 42..listed[1] + 46].to_vec();
    shared[listed[2] + 42..listed[2] + 46].copy_from_slice(&place);

    let package = read_package(file_of(&shared), "", PackageLimits::default());

    assert_eq!(codes(&package), ["overlap"], "{:?}", package.findings);
}

#[test]
fn a_check_finds_each_damaged_file() {
    let text = "some text that is long enough to be packed, some text that is long enough";
    let files =
        [("imsmanifest.xml", SMALLEST), ("a.html", text), ("b.html", text), ("c.html", text)];
    let good = packed(&files);
    let starts: Vec<usize> =
        (0..good.len() - 4).filter(|at| &good[*at..at + 4] == b"PK\x01\x02").collect();
    let mut bad = good.clone();
    for start in [starts[1], starts[3]] {
        // The checksum in the table of contents.
        bad[start + 16] ^= 0xff;
    }

    let well = read_package(file_of(&good), "", PackageLimits::default()).verified();
    let damaged = read_package(file_of(&bad), "", PackageLimits::default());
    assert!(damaged.is_playable(), "its table of contents is well");
    let damaged = damaged.verified();

    assert!(well.is_playable(), "{:?}", well.findings);
    assert!(!damaged.is_playable());
    let bad = damaged.findings.iter().filter(|one| one.level == Level::Fail);
    let files: Vec<_> = bad.filter_map(|one| one.file.as_deref()).collect();
    assert_eq!(files, ["a.html", "c.html"]);
}

#[test]
fn a_document_may_have_a_line_before_its_beginning() {
    let package = read_package(file_of(b"\n%PDF-1.4\n1 0 obj"), "p.pdf", PackageLimits::default());

    assert_eq!(package.standard, Some(Standard::Media), "{:?}", package.findings);
}

#[test]
fn a_truncated_or_damaged_archive_never_panics() {
    let whole = homeroom_course::sample_package();
    for length in (0..whole.len()).step_by(37) {
        let package = read_package(file_of(&whole[..length]), "", PackageLimits::default());
        assert!(!package.is_playable(), "{length}");
    }
    for at in (0..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let mut package = read_package(file_of(&bytes), "", PackageLimits::default());
        if let Some(unpacking) = &mut package.unpacking {
            _ = unpacking.each(&mut |_, _| Ok(()));
        }
    }
}
