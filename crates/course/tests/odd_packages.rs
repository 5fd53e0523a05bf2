//! Packages as authoring tools, computers and people make them: odd, but playable; or refused with the reason.

use std::fs::File;
use std::io::{Cursor, Write as _};

use homeroom_course::{Level, Package, PackageLimits, Standard, packed, read_package};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The file stays readable after its folder has gone.
fn file_of(bytes: &[u8]) -> File {
    let folder = homeroom_testkit::Folder::new();
    File::open(folder.write("package", bytes)).unwrap()
}

fn read(bytes: &[u8]) -> Package {
    read_package(file_of(bytes), "p.zip", PackageLimits::default())
}

/// Reads a package and all its files, and returns it with their paths.
fn unpacked(bytes: &[u8]) -> (Package, Vec<String>) {
    let mut package = read(bytes);
    let mut paths: Vec<String> = vec![];
    let unpacking = package.unpacking.as_mut().unwrap_or_else(|| panic!("{:?}", package.findings));
    let done = unpacking.each(&mut |path, bytes| {
        if bytes.is_empty() {
            paths.push(path.to_owned());
        }
        Ok(())
    });
    done.unwrap();
    (package, paths)
}

fn codes(package: &Package) -> Vec<&str> {
    let bad = package.findings.iter().filter(|finding| finding.level != Level::Pass);
    bad.map(|finding| finding.code.as_str()).collect()
}

/// Returns what is launched first.
fn launched(package: &Package) -> &str {
    let tree = package.tree.as_ref().unwrap_or_else(|| panic!("{:?}", package.findings));
    tree.launchable()[0].href.as_deref().unwrap()
}

fn manifest(organizations: &str, resources: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><manifest identifier='m' \
         xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_rootv1p2'><metadata>\
         <schemaversion>1.2</schemaversion></metadata><organizations>{organizations}\
         </organizations><resources>{resources}</resources></manifest>"
    )
}

/// Returns a manifest of one activity with this resource.
fn one(resource: &str) -> String {
    let organization = "<organization identifier='o'><title>T</title>\
        <item identifier='i' identifierref='r'><title>I</title></item></organization>";
    manifest(organization, resource)
}

const RESOURCE: &str = "<resource identifier='r' adlcp:scormtype='sco' href='a.html'/>";

fn zipped(name: &str, options: SimpleFileOptions, bytes: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(vec![]));
    let usual = SimpleFileOptions::default();
    writer.start_file("imsmanifest.xml", usual).unwrap();
    writer.write_all(one(RESOURCE).as_bytes()).unwrap();
    writer.start_file(name, options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Changes two bytes of the headers of an archive's last file: in its own and in the table of contents.
fn with_header(mut bytes: Vec<u8>, own: usize, listed: usize, value: u16) -> Vec<u8> {
    for (mark, offset) in [(b"PK\x03\x04", own), (b"PK\x01\x02", listed)] {
        let at = bytes.windows(4).rposition(|window| window == mark).unwrap() + offset;
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn manifests_are_read_in_every_usual_encoding() {
    let text = one(RESOURCE).replace("<title>T</title>", "<title>Caf\u{e9}</title>");
    let wide =
        |read: fn(u16) -> [u8; 2]| -> Vec<u8> { text.encode_utf16().flat_map(read).collect() };
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let declared = |encoding: &str, bytes: &[u8]| {
        let declaration = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>");
        let old = "<?xml version=\"1.0\"?>".len();
        [declaration.as_bytes(), &bytes[old..]].concat()
    };
    for (name, bytes, warning) in [
        ("UTF-8", text.clone().into_bytes(), None),
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", text.as_bytes()].concat(), None),
        ("UTF-16 LE", [b"\xff\xfe".to_vec(), wide(u16::to_le_bytes)].concat(), None),
        ("UTF-16 BE", [b"\xfe\xff".to_vec(), wide(u16::to_be_bytes)].concat(), None),
        ("UTF-16 without a mark", wide(u16::to_le_bytes), None),
        ("Latin 1", declared("ISO-8859-1", &latin), None),
        ("Latin 1 that says UTF-8", declared("UTF-8", &latin), Some("encoding")),
        ("UTF-8 that says UTF-16", declared("UTF-16", text.as_bytes()), None),
    ] {
        let mut writer = ZipWriter::new(Cursor::new(vec![]));
        for (path, bytes) in [("imsmanifest.xml", &bytes[..]), ("a.html", b"a")] {
            writer.start_file(path, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        let package = read(&writer.finish().unwrap().into_inner());

        assert_eq!(launched(&package), "a.html", "{name}");
        assert_eq!(package.tree.as_ref().unwrap().title, "Caf\u{e9}", "{name}");
        assert_eq!(codes(&package), warning.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn references_lead_to_their_files_however_they_are_written() {
    let elsewhere = "xml:base='content/' ";
    for (base, href, file, wanted) in [
        ("", "index.html", "index.html", "index.html"),
        ("", "Index.HTML", "index.html", "index.html"),
        ("", "sub\\page.html", "sub/page.html", "sub/page.html"),
        ("", "sub/page.html", "sub\\page.html", "sub/page.html"),
        ("", "my%20page.html", "my page.html", "my%20page.html"),
        ("", "my page.html", "my page.html", "my%20page.html"),
        ("", "my%20page.html", "my%20page.html", "my%2520page.html"),
        ("", "a.html?x=1&amp;y=2#top", "a.html", "a.html?x=1&y=2#top"),
        ("", "./a.html", "a.html", "a.html"),
        ("", "/a.html", "a.html", "a.html"),
        ("", "b/../a.html", "a.html", "a.html"),
        ("", "caf%C3%A9.html", "caf\u{e9}.html", "caf%C3%A9.html"),
        ("", "caf\u{e9}.html", "cafe\u{301}.html", "caf%C3%A9.html"),
        ("", "100%.html", "100%.html", "100%25.html"),
        ("", "a;b+c.html", "a;b+c.html", "a;b+c.html"),
        ("", "folder/", "folder/index.html", "folder/index.html"),
        (elsewhere, "page.html", "content/page.html", "content/page.html"),
        (elsewhere, "../page.html", "page.html", "page.html"),
    ] {
        let resource =
            format!("<resource {base}identifier='r' adlcp:scormtype='sco' href='{href}'/>");

        let (package, paths) =
            unpacked(&packed(&[("imsmanifest.xml", &one(&resource)), (file, "a")]));

        assert_eq!(launched(&package), wanted, "{href} {file}");
        let path = percent_encoding::percent_decode_str(wanted.split(['?', '#']).next().unwrap());
        let path = path.decode_utf8().unwrap().into_owned();
        assert!(paths.contains(&path), "{href} {file}: {paths:?}");
    }
}

#[test]
fn archives_of_every_usual_kind_are_read() {
    let usual = SimpleFileOptions::default();
    let stored = usual.compression_method(zip::CompressionMethod::Stored);
    let mut stream = ZipWriter::new_stream(vec![]);
    for (path, text) in [("imsmanifest.xml", one(RESOURCE)), ("a.html", "a".into())] {
        stream.start_file(path, usual).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
    }
    let stream = stream.finish().unwrap().into_inner();
    let commented = {
        let mut writer = ZipWriter::new(Cursor::new(vec![]));
        writer.set_comment("made by a tool");
        writer.add_directory("images/", usual).unwrap();
        for (path, text) in [("imsmanifest.xml", one(RESOURCE)), ("a.html", "a".into())] {
            writer.start_file(path, usual).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for (name, bytes) in [
        ("stored", zipped("a.html", stored, b"a")),
        ("with sizes of 64 bits", zipped("a.html", usual.large_file(true), b"a")),
        ("with sizes behind the data", stream),
        ("with a comment and a folder", commented),
        ("with a file that may be executed", zipped("a.html", usual.unix_permissions(0o755), b"a")),
        (
            "with an empty file",
            packed(&[("imsmanifest.xml", &one(RESOURCE)), ("a.html", "a"), ("e", "")]),
        ),
    ] {
        let (package, paths) = unpacked(&bytes);

        assert_eq!(launched(&package), "a.html", "{name}");
        assert!(paths.contains(&"a.html".to_owned()), "{name}: {paths:?}");
        assert_eq!(codes(&package), [""; 0], "{name}");
    }
    // A name in UTF-8 that the archive does not say to be in UTF-8.
    let resource = "<resource identifier='r' adlcp:scormtype='sco' href='caf\u{e9}.html'/>";
    let bytes = packed(&[("imsmanifest.xml", &one(resource)), ("caf\u{e9}.html", "a")]);
    let (package, _) = unpacked(&with_header(bytes, 6, 8, 0));
    assert_eq!(launched(&package), "caf%C3%A9.html", "{:?}", package.findings);
}

#[test]
fn archives_that_cannot_be_played_say_why() {
    let usual = SimpleFileOptions::default();
    let inner = packed(&[("imsmanifest.xml", &one(RESOURCE)), ("a.html", "a")]);
    let nested = {
        let mut writer = ZipWriter::new(Cursor::new(vec![]));
        writer.start_file("course.zip", usual).unwrap();
        writer.write_all(&inner).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let linked = {
        let mut writer = ZipWriter::new(Cursor::new(vec![]));
        writer.start_file("imsmanifest.xml", usual).unwrap();
        writer.write_all(one(RESOURCE).as_bytes()).unwrap();
        writer.add_symlink("a.html", "/etc/passwd", usual).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let good = || zipped("a.html", usual, b"a");
    for (code, bytes) in [
        ("encrypted", with_header(good(), 6, 8, 1)),
        ("method", with_header(good(), 8, 10, 12)),
        ("archive-within", nested),
        ("link", linked),
        ("bad-path", zipped("/etc/passwd", usual, b"a")),
        ("bad-path", zipped("..\\..\\x", usual, b"a")),
        ("bad-path", zipped("C:\\x", usual, b"a")),
        ("empty", vec![]),
        ("no-manifest", packed(&[])),
    ] {
        let package = read(&bytes);

        assert!(!package.is_playable(), "{code}");
        assert!(codes(&package).contains(&code), "{code}: {:?}", package.findings);
        let told = package.findings.iter().all(|finding| finding.message.len() > 10);
        assert!(told && !package.failure().is_empty(), "{code}: {:?}", package.findings);
    }
}

#[test]
fn manifests_with_odd_parts_are_played_with_warnings() {
    let item = |rest: &str| format!("<item identifier='i' {rest}><title>I</title></item>");
    let organization = |items: &str| {
        format!("<organization identifier='o'><title>T</title>{items}</organization>")
    };
    let good = organization(&item("identifierref='r'"));
    let empty = item("").replace("'i'", "'j'");
    for (name, text, code) in [
        ("a schema that is not there", one(RESOURCE), None),
        ("no organization", manifest("", RESOURCE), Some("no-organization")),
        (
            "an item without resource",
            manifest(&organization(&format!("{empty}{}", item("identifierref='r'"))), RESOURCE),
            Some("empty-item"),
        ),
        (
            "two resources of one identifier",
            manifest(&good, &format!("{RESOURCE}{RESOURCE}")),
            None,
        ),
        ("references that nothing defines", one(RESOURCE).replace(">T<", ">&copy; T<"), None),
        (
            "a document type",
            one(RESOURCE).replacen("<manifest", "<!DOCTYPE manifest SYSTEM 'x.dtd'><manifest", 1),
            None,
        ),
        (
            "comments and instructions",
            one(RESOURCE).replacen("<manifest", "<?tool x?><!-- -- made --><manifest", 1),
            None,
        ),
        (
            "names in capitals",
            one(RESOURCE).replace("<item", "<ITEM").replace("</item", "</ITEM"),
            None,
        ),
        (
            "prefixes",
            one(RESOURCE)
                .replace("<resource ", "<ims:resource ")
                .replace("manifest identifier", "manifest xmlns:ims='x' identifier"),
            None,
        ),
        (
            "parameters",
            manifest(&organization(&item("identifierref='r' parameters='?p=1'")), RESOURCE),
            None,
        ),
    ] {
        let package = read(&packed(&[("imsmanifest.xml", &text), ("a.html", "a")]));

        assert!(launched(&package).starts_with("a.html"), "{name}: {:?}", package.findings);
        if let Some(code) = code {
            assert!(codes(&package).contains(&code), "{name}: {:?}", codes(&package));
        }
        assert_eq!(package.standard, Some(Standard::Scorm12), "{name}");
    }
}

#[test]
fn a_huge_manifest_is_read_and_a_bottomless_one_refused() {
    use std::fmt::Write as _;
    let mut items = String::new();
    for number in 0..4_000 {
        _ = write!(items, "<item identifier='i{number}' identifierref='r'><title>I</title></item>");
    }
    let organization = |items: &str| format!("<organization identifier='o'>{items}</organization>");
    let bytes = |text: &str| packed(&[("imsmanifest.xml", text), ("a.html", "a")]);

    let huge = read(&bytes(&manifest(&organization(&items), RESOURCE)));
    let more = items.replace("identifier='i", "identifier='j");
    let too_many = read(&bytes(&manifest(&organization(&format!("{items}{more}")), RESOURCE)));
    let deep = "<item identifier='d'>".repeat(500) + &"</item>".repeat(500);
    let deep = read(&bytes(&manifest(&organization(&deep), RESOURCE)));

    assert_eq!(huge.tree.as_ref().unwrap().launchable().len(), 4_000);
    assert!(codes(&too_many).contains(&"too-many-items"), "{:?}", codes(&too_many));
    assert!(codes(&deep).contains(&"bad-xml"), "{:?}", codes(&deep));
}
