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
fn a_method_of_packing_that_nobody_knows_is_told_once_and_by_name() {
    let text = one(RESOURCE);
    let mut bytes = packed(&[("a.html", "a"), ("imsmanifest.xml", &text)]);
    for (mark, offset) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let places = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(mark));
        for at in places.collect::<Vec<_>>() {
            bytes[at + offset..at + offset + 2].copy_from_slice(&12_u16.to_le_bytes());
        }
    }

    let package = read(&bytes);

    assert_eq!(codes(&package), ["method"], "{:?}", package.findings);
    let failure = package.failure();
    assert!(failure.contains("2 files packed with bzip2"), "{failure}");
}

#[test]
fn titles_have_one_line() {
    let text =
        one(RESOURCE).replace(">T<", ">\n  Golf \r\n\t for all\n<").replace(">I<", ">a\n b<");

    let package = read(&packed(&[("imsmanifest.xml", &text), ("a.html", "a")]));

    let tree = package.tree.unwrap();
    assert_eq!((tree.title.as_str(), tree.children[0].title.as_str()), ("Golf for all", "a b"));
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
            "two organizations",
            manifest(&format!("{good}{}", good.replace("'i'", "'j'")), RESOURCE),
            Some("organizations"),
        ),
        (
            "a default organization without items",
            manifest(&format!("{}{good}", organization("").replace("'o'", "'e'")), RESOURCE)
                .replace("<organizations>", "<organizations default='e'>"),
            Some("organization-empty"),
        ),
        (
            "a dependency that is not there",
            manifest(&good, &RESOURCE.replace("/>", "><dependency identifierref='x'/></resource>")),
            Some("missing-dependency"),
        ),
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

/// Packs files whose names are in no encoding that the archive tells.
fn packed_raw(files: &[(&[u8], &[u8])]) -> Vec<u8> {
    let placeholder = |at: usize, name: &[u8]| ["A", "B"][at].repeat(name.len());
    let mut writer = ZipWriter::new(Cursor::new(vec![]));
    for (at, (name, bytes)) in files.iter().enumerate() {
        writer.start_file(placeholder(at, name), SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    for (at, (name, _)) in files.iter().enumerate() {
        let wanted = placeholder(at, name);
        let places: Vec<usize> = (0..bytes.len() - wanted.len())
            .filter(|at| bytes[*at..].starts_with(wanted.as_bytes()))
            .filter(|at| {
                bytes[at - 30..].starts_with(b"PK\x03\x04")
                    || bytes[at - 46..].starts_with(b"PK\x01\x02")
            })
            .collect();
        for place in places {
            bytes[place..place + name.len()].copy_from_slice(name);
        }
    }
    bytes
}

#[test]
fn manifests_and_names_of_older_computers_are_read() {
    for (encoding, name) in [
        ("GB2312", "\u{8bfe}\u{7a0b}/\u{7b2c}\u{4e00}.html"),
        ("Shift_JIS", "\u{8868}\u{7d19}/\u{30bd}.html"),
        ("Big5", "\u{8ab2}\u{7a0b}/\u{529f}.html"),
        ("EUC-KR", "\u{acfc}\u{c815}/\u{ac00}.html"),
        ("windows-1251", "\u{43a}\u{443}\u{440}\u{441}/\u{430}.html"),
        ("windows-1250", "\u{17e}lu\u{165}/\u{10d}.html"),
    ] {
        let resource = format!("<resource identifier='r' adlcp:scormtype='sco' href='{name}'/>");
        let text = one(&resource).replace(">T<", &format!(">{name}<"));
        let own = encoding_rs::Encoding::for_label(encoding.as_bytes()).unwrap();
        let old =
            text.replace("version=\"1.0\"", &format!("version=\"1.0\" encoding=\"{encoding}\""));
        let (old, _, lost) = own.encode(&old);
        let (raw, _, _) = own.encode(name);
        assert!(!lost, "{encoding}");
        let url =
            percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string();

        for (what, manifest, path, warned) in [
            ("manifest alone", &old[..], name.as_bytes(), &[][..]),
            ("manifest and names", &old[..], &raw[..], &["names-encoding"][..]),
            ("names alone", text.as_bytes(), &raw[..], &["names-encoding"][..]),
        ] {
            let bytes = packed_raw(&[(b"imsmanifest.xml", manifest), (path, b"a")]);
            let (package, paths) = unpacked(&bytes);

            assert_eq!(package.tree.as_ref().unwrap().title, name, "{encoding}, {what}");
            assert_eq!(launched(&package), url, "{encoding}, {what}: {paths:?}");
            assert_eq!(codes(&package), warned, "{encoding}, {what}");
        }
    }
}

#[test]
fn a_manifest_in_a_folder_uses_files_beside_it() {
    let resource = "<resource identifier='r' adlcp:scormtype='sco' href='../shared/a.html'/>";
    let files = |prefix: &str| {
        let path = |name: &str| format!("{prefix}{name}");
        let names = [path("course/imsmanifest.xml"), path("shared/a.html"), path("course/b.html")];
        packed(&[(&names[0], &one(resource)), (&names[1], "a"), (&names[2], "b")])
    };
    for prefix in ["", "outer/", "outer/inner/"] {
        let (package, paths) = unpacked(&files(prefix));

        assert_eq!(launched(&package), "shared/a.html", "{prefix}");
        assert_eq!(paths, ["course/imsmanifest.xml", "shared/a.html", "course/b.html"], "{prefix}");
    }
}

#[test]
fn of_two_manifests_at_one_depth_the_one_that_is_taken_is_told() {
    let files = [("b/imsmanifest.xml", one(RESOURCE)), ("a/imsmanifest.xml", one(RESOURCE))];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let package = read(&packed(&[files[0], files[1], ("a/a.html", "a"), ("b/a.html", "b")]));

    assert_eq!(launched(&package), "b/a.html");
    let found = package.findings.iter().find(|one| one.code == "manifest-twice").unwrap();
    assert_eq!(found.file.as_deref(), Some("a/imsmanifest.xml"));
    assert!(found.message.contains("b/imsmanifest.xml"), "{found:?}");
}

#[test]
fn manifests_within_a_manifest_are_played() {
    let inner = |id: &str, base: &str| {
        format!(
            "<manifest identifier='{id}' xml:base='{base}'><organizations>\
             <organization identifier='o'><title>{id}</title>\
             <item identifier='i' identifierref='r'><title>{id} 1</title></item></organization>\
             </organizations><resources xml:base='pages'>\
             <resource identifier='r' href='a.html' adlcp:scormtype='sco'/></resources></manifest>"
        )
    };
    let inner = format!("{}{}", inner("first", "one/"), inner("second", "two/"));
    let whole = |organizations: &str| {
        manifest(organizations, RESOURCE).replace("</manifest>", &format!("{inner}</manifest>"))
    };
    let named = "<organization identifier='o'><title>T</title>\
        <item identifier='x' identifierref='second'><title>X</title></item>\
        <item identifier='y' identifierref='r'><title>Y</title></item>\
        <item identifier='z' identifierref='first'><title>Z</title></item></organization>";
    let alone = whole("").replace(RESOURCE, "");
    for (text, wanted) in [
        (whole(named), &["two/pages/a.html", "a.html", "one/pages/a.html"][..]),
        (whole(""), &["one/pages/a.html", "two/pages/a.html"]),
        (alone, &["one/pages/a.html", "two/pages/a.html"]),
    ] {
        let files = [("a.html", "0"), ("one/pages/a.html", "1"), ("two/pages/a.html", "2")];
        let package = read(&packed(&[("imsmanifest.xml", &text), files[0], files[1], files[2]]));

        let tree = package.tree.as_ref().unwrap_or_else(|| panic!("{:?}", package.findings));
        let all: Vec<_> = tree.launchable().iter().map(|one| one.href.clone().unwrap()).collect();
        assert_eq!(all, wanted, "{:?}", package.findings);
    }
}

#[test]
fn of_two_resources_of_one_identifier_the_one_that_is_there_is_taken() {
    let gone = "<resource identifier='r' adlcp:scormtype='sco' href='gone.html'/>";
    for resources in [format!("{gone}{RESOURCE}"), format!("{RESOURCE}{gone}")] {
        let text = manifest(&one_item(""), &resources);

        let package = read(&packed(&[("imsmanifest.xml", &text), ("a.html", "a")]));

        assert_eq!(launched(&package), "a.html");
        assert_eq!(codes(&package), ["resource-twice"]);
    }
}

/// Returns an organization of one item that says this, too.
fn one_item(more: &str) -> String {
    format!(
        "<organization identifier='o'><title>T</title><item identifier='i' identifierref='r' \
         isvisible='0'><title>I</title>{more}</item></organization>"
    )
}

#[test]
fn values_of_items_are_read_as_their_schemas_say_or_told() {
    for (more, score, time, codes_of) in [
        ("<adlcp:masteryscore>\n 80 </adlcp:masteryscore>", Some("80"), None, &[][..]),
        ("<adlcp:masteryscore>80%</adlcp:masteryscore>", Some("80"), None, &["bad-value"][..]),
        ("<adlcp:masteryscore>most</adlcp:masteryscore>", None, None, &["bad-value"]),
        ("<adlcp:maxtimeallowed>00:30:00</adlcp:maxtimeallowed>", None, Some("00:30:00"), &[]),
        ("<adlcp:maxtimeallowed>half</adlcp:maxtimeallowed>", None, None, &["bad-value"]),
    ] {
        let text = manifest(&one_item(more), RESOURCE);

        let package = read(&packed(&[("imsmanifest.xml", &text), ("a.html", "a")]));

        let found = &package.tree.as_ref().unwrap().children[0];
        assert!(!found.visible, "isvisible='0'");
        assert_eq!(found.mastery_score.as_deref(), score, "{more}");
        assert_eq!(found.max_time_allowed.as_deref(), time, "{more}");
        assert_eq!(codes(&package), codes_of, "{more}");
    }
    let more = "<adlcp:completionThreshold completedByMeasure='1' minProgressMeasure=' 0.75 ' \
        progressWeight='.5'/><adlcp:data><adlcp:map targetID='d' writeSharedData='0'/></adlcp:data>";
    let text = manifest(&one_item(more), RESOURCE).replace(">1.2<", ">2004 4th Edition<");
    let text = text.replace("adlcp_rootv1p2", "adlcp_v1p3");

    let package = read(&packed(&[("imsmanifest.xml", &text), ("a.html", "a")]));

    let found = &package.tree.as_ref().unwrap().children[0];
    let threshold = found.completion_threshold.as_ref().unwrap();
    assert!(threshold.completed_by_measure);
    assert_eq!((threshold.min_progress_measure, threshold.progress_weight), (0.75, 0.5));
    assert_eq!(found.data_maps[0]["write"], false);
    assert_eq!(found.data_maps[0]["read"], true);
}

#[test]
fn bases_are_joined_at_every_level() {
    let text = |manifest: &str, list: &str, resource: &str, href: &str| {
        let own = format!(
            "<resource identifier='r' xml:base='{resource}' adlcp:scormtype='sco' href='{href}'/>"
        );
        one(&own)
            .replace("<manifest ", &format!("<manifest xml:base='{manifest}' "))
            .replace("<resources>", &format!("<resources xml:base='{list}'>"))
    };
    for (manifest, list, resource, href, file) in [
        ("a/", "b/", "c/", "p.html", "a/b/c/p.html"),
        ("a", "b", "c", "p.html", "a/b/c/p.html"),
        ("./a/", "../b/", "", "p.html", "b/p.html"),
        ("a/x.xml", "b/", "c/index", "p.html", "a/b/c/p.html"),
        ("\u{fc}ber uns/", "b c/", "", "m\u{e4}r%20z.html", "\u{fc}ber uns/b c/m\u{e4}r z.html"),
    ] {
        let text = text(manifest, list, resource, href);

        let (package, paths) = unpacked(&packed(&[("imsmanifest.xml", &text), (file, "p")]));

        assert!(paths.contains(&file.to_owned()), "{file}");
        assert_eq!(codes(&package), [""; 0], "{file}: {:?}", package.findings);
        let shown = percent_encoding::percent_decode_str(launched(&package)).decode_utf8_lossy();
        assert_eq!(shown, file);
    }
}
