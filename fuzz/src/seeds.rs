//! A corpus to begin with and a dictionary for each target, made by our own tools: the documents of
//! a small district, and the model's names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use homeroom_district::{Format, documents, write};
use homeroom_model::Resource;

use crate::world::World;

/// Most seeds of one kind of resource.
const EACH: usize = 2;
/// Most records of one kind in an interchange.
const RECORDS: usize = 2;

/// Longest word of a dictionary that the fuzzer takes.
const WORD_BYTES_MAX: usize = 48;

/// Names the folder; a target that finds it writes the seeds of all and ends.
const FOLDER: &str = "HOMEROOM_FUZZ_SEEDS";

/// The first step of each target.
pub fn begin() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_all(Path::new(&folder));
        std::process::exit(0);
    }
}

fn write_all(folder: &Path) {
    let world = World::get();
    let resources = &world.model().resources;
    let put = |target: &str, name: &str, bytes: &[u8]| {
        std::fs::create_dir_all(folder.join(target)).expect("a folder can be made");
        std::fs::write(folder.join(target).join(name), bytes).expect("a seed can be written");
    };
    let chosen = |resource: &Resource| -> [u8; 2] {
        let at =
            resources.iter().position(|one| one.id == resource.id).expect("it is of the model");
        u16::try_from(at).expect("a model has fewer resources").to_le_bytes()
    };

    let mut kinds: Vec<&str> = vec![];
    for document in documents(&World::district()) {
        let before = kinds.iter().filter(|kind| **kind == document.resource).count();
        if before == EACH {
            continue;
        }
        kinds.push(document.resource);
        let resource = resources.iter().find(|one| one.name == document.resource);
        let resource = resource.expect("a district has what the model has");
        let seed = [&chosen(resource), document.json.as_bytes()].concat();
        put("json", &format!("{}-{before}", document.resource), &seed);
    }

    for resource in resources.iter().filter(|one| kinds.contains(&one.name.as_str())) {
        let fields: Vec<String> = resource
            .query_fields
            .iter()
            .zip(
                ["1", "2026", "true", "a%20b", "2026-01-31", "uri://ed-fi.org/X%23Y"]
                    .iter()
                    .cycle(),
            )
            .map(|(field, value)| format!("{}={value}", field.name))
            .collect();
        let seed = [&chosen(resource)[..], fields.join("&").as_bytes()].concat();
        put("query", &resource.endpoint, &seed);
    }
    for (at, text) in [
        "limit=25&offset=10&totalCount=true",
        "pageToken=AAAA&pageSize=5",
        "minChangeVersion=1&maxChangeVersion=900",
        "id=01a201255e237788a9f0e036aae052f1",
    ]
    .iter()
    .enumerate()
    {
        put("query", &format!("paging-{at}"), &[&[0, 0], text.as_bytes()].concat());
    }

    put("token", "good", &[1]);
    put("token", "flipped", &[1, 90, 0, 1, 60, 0, 4]);
    put("token", "bearer", b"\0Bearer eyJhbGciOiJFZERTQSJ9.e30.AAAA");
    put("token", "basic", b"\0Basic YTpi");

    let of_apis: &[(&str, &[u8])] = &[
        ("foreign/good", b"\x01"),
        ("foreign/changed", b"\x01\x05\0\x04"),
        ("foreign/token", b"\0eyJhbGciOiJFZERTQSJ9.e30.AAAA"),
        ("foreign/keys", b"\x02{\"keys\": [{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"AAAA\", \"y\": \"AAAA\"}]}"),
        ("foreign/changed-keys", b"\x03\x05\0\x04"),
        ("transform/all", b"\xff{\"aa\": 1.0, \"dd\": {\"ee\": []}, \"gg\": [{\"aa\": \"\\u00e9\"}, 2]}"),
        ("transform/none", b"\0[1e400, \"x\", null]"),
        ("definition/plans", b"[[plans]]\nname = 'p'\nquota = '10/day'\nburst = 3\nrequests_per_second = 0.5\n"),
        ("definition/api", include_bytes!("../seeds/api.toml")),
        ("openapi/items", include_bytes!("../seeds/items.bin")),
        ("openapi/yaml", b"openapi: 3.1.0\npaths:\n  /a/{b}:\n    get: {}\n\0GET /a/1?x=2\0\0"),
    ];
    for (name, seed) in of_apis {
        let (target, name) = name.split_once('/').expect("a target and a name");
        put(target, name, seed);
    }

    let xml = std::env::temp_dir().join("homeroom-fuzz-seeds");
    write(&World::district(), None, world.model(), &xml, &[Format::Xml])
        .expect("a district can be written");
    for entry in std::fs::read_dir(&xml).expect("it was written") {
        let path = entry.expect("it was written").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        put("xml", &path.file_stem().expect("a name").to_string_lossy(), cut(&text).as_bytes());
    }
    _ = std::fs::remove_dir_all(&xml);

    dictionaries(folder, resources);
}

/// An interchange with the first records of each kind.
fn cut(text: &str) -> String {
    let (mut out, mut seen, mut is_wanted) = (String::new(), vec![], true);
    for line in text.lines() {
        let name = line.strip_prefix("\t<").filter(|rest| !rest.starts_with(['/', '\t']));
        if let Some(name) = name {
            let record = name.split(['>', ' ']).next().unwrap_or_default();
            is_wanted = seen.iter().filter(|one| **one == record).count() < RECORDS;
            seen.push(record);
        }
        if is_wanted || !line.starts_with('\t') {
            _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Words that a mutation may put in: the grammar's and the model's.
fn dictionaries(folder: &Path, resources: &[Resource]) {
    let grammar: &[(&str, &[&str])] = &[
        ("json", &["{", "}", "[", "]", ":", ",", "null", "true", "false", "1e9", "\\ud83d\\ude00"]),
        ("query", &["&", "=", "%20", "%23", "+", "limit=", "offset=", "pageToken=", "pageSize="]),
        ("foreign", &["\"kty\":", "\"RSA\"", "\"EC\"", "\"n\":", "\"e\":", "\"crv\":", ".", "eyJ"]),
        (
            "transform",
            &[
                "\"aa\":", "\"bb\":", "\"cc\":", "\"dd\":", "\"ee\":", "\"gg\":", "[", "]", "{",
                "}", "\\u0061",
            ],
        ),
        (
            "definition",
            &[
                "[[apis]]",
                "[[plans]]",
                "upstream = ",
                "limits = ",
                "transform.request = ",
                "groups = ",
                "'",
            ],
        ),
        (
            "openapi",
            &[
                "\"$ref\":",
                "\"type\":",
                "\"allOf\":",
                "\"oneOf\":",
                "\"anyOf\":",
                "\"not\":",
                "\"items\":",
                "\"pattern\":",
                "\"format\":",
                "\"enum\":",
                "\"properties\":",
                "\"required\":",
                "\"multipleOf\":",
                "\"style\":",
                "\"explode\":",
                "\"in\":",
                "#/components/schemas/A",
            ],
        ),
        ("token", &["Bearer ", ".", "-", "_", "eyJ", "Basic "]),
        (
            "xml",
            &[
                "<?xml version='1.0'?>",
                "<!--",
                "-->",
                "<![CDATA[",
                "]]>",
                "&amp;",
                "&#x41;",
                "xsi:nil='true'",
                " id='a'",
                " ref='a'",
                "</",
                "/>",
                "<!DOCTYPE",
                "&#0;",
            ],
        ),
    ];
    for (target, words) in grammar {
        let mut all: BTreeSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
        for resource in resources {
            match *target {
                "json" => {
                    all.extend(resource.properties.iter().map(|one| format!("\"{}\":", one.name)));
                }
                "query" => {
                    all.extend(resource.query_fields.iter().map(|one| format!("{}=", one.name)));
                }
                "xml" => _ = all.insert(format!("<{}>", resource.element)),
                _ => {}
            }
        }
        let mut text = String::new();
        for word in all.into_iter().filter(|word| word.len() <= WORD_BYTES_MAX) {
            let escaped: String = word
                .bytes()
                .map(|byte| match byte {
                    b'"' | b'\\' => format!("\\{}", byte as char),
                    byte => (byte as char).to_string(),
                })
                .collect();
            _ = writeln!(text, "\"{escaped}\"");
        }
        std::fs::write(folder.join(format!("{target}.dict")), text).expect("it can be written");
    }
}
