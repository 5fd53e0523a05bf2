//! A command's output never overwrites a file that is not an earlier output of the same kind.

use std::path::{Path, PathBuf};

use crate::help::commands;
use crate::support::{Place, STUDENTS, Server, student};

/// Arguments that name a file or folder to write, each with a command line that would write to
/// `OUT`; a folder ends with `/`.
const WRITES: &[(&str, &[&str])] = &[
    ("--results", &["load", "students.jsonl", "--results", "OUT"]),
    ("--rejects", &["load", "students.jsonl", "--rejects", "OUT/"]),
    (
        "--results",
        &[
            "upload",
            "students.jsonl",
            "--server",
            "http://127.0.0.1:1/",
            "--key",
            "k",
            "--secret",
            "s",
            "--results",
            "OUT",
        ],
    ),
    ("--out", &["export", "--out", "OUT/"]),
    ("--out", &["export", "--out", "OUT/", "--force"]),
    ("--out", &["generate", "--students", "1", "--out", "OUT/"]),
    ("--out", &["man", "--out", "OUT/"]),
    ("TO", &["backup", "OUT"]),
    ("--out", &["model", "import", "--extension", "x.json", "--out", "OUT"]),
    ("--out", &["claim-sets", "import", "x.json", "--model", "x.model", "--out", "OUT"]),
    ("--json", &["lab", "quick", "--target", "http://127.0.0.1:1/", "--json", "OUT"]),
    ("--html", &["lab", "quick", "--target", "http://127.0.0.1:1/", "--html", "OUT"]),
    ("--markdown", &["lab", "quick", "--target", "http://127.0.0.1:1/", "--markdown", "OUT"]),
    ("--csv", &["lab", "quick", "--target", "http://127.0.0.1:1/", "--csv", "OUT"]),
    ("--json", &["lab", "run", "--rate", "1", "--target", "http://127.0.0.1:1/", "--json", "OUT"]),
    ("--html", &["lab", "run", "--rate", "1", "--target", "http://127.0.0.1:1/", "--html", "OUT"]),
    (
        "--markdown",
        &["lab", "run", "--rate", "1", "--target", "http://127.0.0.1:1/", "--markdown", "OUT"],
    ),
    ("--csv", &["lab", "run", "--rate", "1", "--target", "http://127.0.0.1:1/", "--csv", "OUT"]),
    ("--json", &["lab", "capacity", "--target", "http://127.0.0.1:1/", "--json", "OUT"]),
    ("--html", &["lab", "capacity", "--target", "http://127.0.0.1:1/", "--html", "OUT"]),
    ("--markdown", &["lab", "capacity", "--target", "http://127.0.0.1:1/", "--markdown", "OUT"]),
    ("--csv", &["lab", "capacity", "--target", "http://127.0.0.1:1/", "--csv", "OUT"]),
    (
        "--json",
        &[
            "lab",
            "compare",
            "--target",
            "http://127.0.0.1:1/",
            "--against",
            "http://127.0.0.1:1/",
            "--rate",
            "1",
            "--json",
            "OUT",
        ],
    ),
    (
        "--markdown",
        &[
            "lab",
            "compare",
            "--target",
            "http://127.0.0.1:1/",
            "--against",
            "http://127.0.0.1:1/",
            "--rate",
            "1",
            "--markdown",
            "OUT",
        ],
    ),
    ("--json", &["lab", "gateway", "--target", "http://127.0.0.1:1/", "--json", "OUT"]),
    ("--html", &["lab", "gateway", "--target", "http://127.0.0.1:1/", "--html", "OUT"]),
    ("--markdown", &["lab", "gateway", "--target", "http://127.0.0.1:1/", "--markdown", "OUT"]),
    ("--csv", &["lab", "gateway", "--target", "http://127.0.0.1:1/", "--csv", "OUT"]),
    ("--json", &["lab", "bulk", "students.jsonl", "--json", "OUT"]),
    ("--html", &["lab", "bulk", "students.jsonl", "--html", "OUT"]),
    ("--json", &["lab", "learners", "--target", "http://127.0.0.1:1/", "--json", "OUT"]),
    ("--html", &["lab", "learners", "--target", "http://127.0.0.1:1/", "--html", "OUT"]),
    ("--markdown", &["lab", "learners", "--target", "http://127.0.0.1:1/", "--markdown", "OUT"]),
    ("--csv", &["lab", "learners", "--target", "http://127.0.0.1:1/", "--csv", "OUT"]),
    ("--junit", &["lab", "gate", "x.json", "--fail-if", "p99 > 1s", "--junit", "OUT"]),
    ("--markdown", &["lab", "gate", "x.json", "--fail-if", "p99 > 1s", "--markdown", "OUT"]),
];

/// Arguments that name a file to read, in any command.
const READS: &[&str] = &[
    "--config",
    "--data-dir",
    "--file",
    "--map",
    "--watch",
    "--model",
    "--extension",
    "--openapi",
    "--openapi-descriptors",
    "--openapi-domains",
    "--tables",
    "--foreign-keys",
    "--xsd",
    "--rules",
    "--reference",
    "--exceptions",
    "--ca",
    "--tokens",
    "--baseline",
    "--scenario",
    "--standard",
    "--certificate",
    "--private-key",
    "FROM",
    "PATH",
    "FILE",
];

/// Returns a command's arguments that take a path, as its help shows them: `--out`, or `TO` for a
/// positional one.
fn paths(help: &str) -> Vec<String> {
    const NAMES: &[&str] = &["FILE", "DIR", "PATH", "TO", "FROM", "FILE|NAME"];
    let mut found = vec![];
    for line in help.lines() {
        let line = line.trim_start();
        let is_argument = line.starts_with('<') || line.starts_with('[') || line.starts_with('-');
        let Some((before, rest)) = line.split_once('<').filter(|_| is_argument) else { continue };
        let option = before.split_whitespace().find(|word| word.starts_with("--"));
        let Some((name, _)) = rest.split_once('>') else { continue };
        if NAMES.contains(&name) {
            found.push(option.unwrap_or(name).to_owned());
        }
    }
    found
}

#[test]
fn every_path_argument_is_classified_as_read_or_written() {
    let place = Place::new();
    let mut seen = 0;
    for command in commands(&place, &[]) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        for argument in paths(&place.done(&words)) {
            let is_written = WRITES.iter().any(|(name, line)| {
                *name == argument && line.starts_with(&words[..words.len() - 1])
            });
            let is_read = READS.contains(&argument.as_str());
            assert!(is_written != is_read, "{command:?} {argument}: written or read?");
            seen += usize::from(is_written);
        }
    }
    // An export is listed twice.
    assert_eq!(seen, WRITES.len() - 1, "all that are listed are there");
}

/// Puts something where a command is to write. Returns its file.
fn put(place: &Place, is_folder: bool, name: &str, content: &[u8]) -> PathBuf {
    let path = place.path(name);
    if is_folder {
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("students.jsonl"), content).unwrap();
        return path.join("students.jsonl");
    }
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn no_output_overwrites_a_store_or_a_foreign_file() {
    let place = Place::new();
    place.write("students.jsonl", "{}\n");
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    place.done(&["backup", "other.db"]);
    let store = std::fs::read(place.path("other.db")).unwrap();
    let open_file = place.data().join("homeroom.db");
    let letter = b"Dear all,\nwhat I always wanted to say.\n";

    for (number, (_, line)) in WRITES.iter().enumerate() {
        let is_folder = line.contains(&"OUT/");
        let run = |out: &Path| {
            let out = out.to_str().unwrap();
            let arguments: Vec<&str> =
                line.iter().map(|word| if word.starts_with("OUT") { out } else { word }).collect();
            place.run(&arguments)
        };
        let refused = |out: &Path, file: &Path, before: &[u8]| {
            let ran = run(out);
            assert_eq!(ran.code, Some(2), "{line:?}: {ran:?}");
            let name = out.file_name().unwrap().to_str().unwrap();
            assert!(ran.stderr.contains(name), "{line:?}: {ran:?}");
            assert_eq!(std::fs::read(file).unwrap(), before, "{line:?}");
        };
        // A file at the output's path, whatever it is.
        for (what, content) in [("store", &store[..]), ("letter", &letter[..])] {
            let file = put(&place, false, &format!("{what}-{number}"), content);
            refused(&file, &file, content);
            // The same file through a link.
            let link = place.path(format!("link-{what}-{number}"));
            std::os::unix::fs::symlink(&file, &link).unwrap();
            refused(&link, &file, content);
        }
        for ending in ["", "-wal", "-shm", ".lock"] {
            let file = PathBuf::from(format!("{}{ending}", open_file.display()));
            let before = std::fs::metadata(&file).unwrap().len();
            let ran = run(&file);
            assert_eq!(ran.code, Some(2), "{line:?} {ending:?}: {ran:?}");
            assert_eq!(std::fs::metadata(&file).unwrap().len(), before, "{line:?} {ending:?}");
        }
        // A folder that contains such a file.
        if is_folder {
            for (what, content) in [("store", &store[..]), ("letter", &letter[..])] {
                let file = put(&place, true, &format!("with-{what}-{number}"), content);
                if ["generate", "man"].contains(&line[0]) {
                    run(file.parent().unwrap());
                    assert_eq!(std::fs::read(&file).unwrap(), content, "{line:?}");
                } else {
                    refused(file.parent().unwrap(), &file, content);
                }
            }
        }
    }

    let mut client = server.client_of(&key);
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(place.json(&["doctor", "--json"])["problems"], serde_json::json!([]));
}

#[test]
fn accompanying_tables_overwrite_no_foreign_file_either() {
    let place = Place::new();
    for name in ["r.stages.csv", "r.levels.csv", "r.trials.csv"] {
        let letter = place.write(name, "Dear all");

        let ran = place.run(&[
            "lab",
            "run",
            "--rate",
            "1",
            "--target",
            "http://127.0.0.1:1/",
            "--csv",
            "r.csv",
        ]);

        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(name), "{ran:?}");
        assert!(!place.path("r.csv").exists());
        std::fs::remove_file(letter).unwrap();
    }
}

#[test]
fn an_output_overwrites_an_earlier_output_of_its_kind() {
    let place = Place::new();
    place.write("students.jsonl", "{}\n");
    place.write("r.json", "");
    let server = Server::start(&place);
    let target = format!("http://{}/readyz", server.api);
    let run = [
        "lab",
        "run",
        "--target",
        &target,
        "--rate",
        "20",
        "--duration",
        "1s",
        "--json",
        "r.json",
        "--html",
        "r.html",
        "--markdown",
        "r.md",
        "--csv",
        "r.csv",
    ];
    let gate = [
        "lab",
        "gate",
        "r.json",
        "--fail-if",
        "p99 > 100s",
        "--junit",
        "r.xml",
        "--markdown",
        "gate.md",
    ];
    let compare = [
        "lab",
        "compare",
        "--target",
        &target,
        "--against",
        &target,
        "--rate",
        "20",
        "--duration",
        "200ms",
        "--blocks",
        "2",
        "--json",
        "c.json",
        "--markdown",
        "c.md",
    ];
    let load = ["load", "students.jsonl", "--results", "results.jsonl"];
    let export = ["export", "--out", "out", "--force"];
    for (arguments, codes) in [
        (&run[..], &[0][..]),
        (&gate, &[0, 2]),
        (&compare, &[0, 6]),
        (&load, &[3]),
        (&export, &[0]),
    ] {
        for round in ["first", "second"] {
            let ran = place.run(arguments);
            assert!(codes.contains(&ran.code.unwrap()), "{round} {arguments:?}: {ran:?}");
            assert!(!ran.stderr.contains("already exists"), "{round} {arguments:?}: {ran:?}");
        }
    }
    // Each file is an output, but of another kind than the option writes.
    for (option, file) in [("--html", "r.md"), ("--markdown", "r.html"), ("--csv", "r.json")] {
        let ran = place.run(&["lab", "run", "--rate", "1", "--target", &target, option, file]);
        assert_eq!(ran.code, Some(2), "{option} {file}: {ran:?}");
    }
    let results = place.run(&["load", "students.jsonl", "--results", "r.json"]);
    assert_eq!(results.code, Some(2), "{results:?}");
}

#[test]
fn two_concurrent_loads_cannot_share_a_folder_of_rejects() {
    let place = Place::new();
    place.key("FullAccess");
    place.write("students.jsonl", "{}\n");
    let load = ["load", "students.jsonl", "--rejects", "rejects"];
    assert_eq!(place.run(&load).code, Some(3));
    let mark = std::fs::File::open(place.path("rejects/.homeroom-rejects")).unwrap();
    mark.lock().unwrap();
    let used = place.run(&load);
    std::fs::remove_file(place.path("rejects/students.jsonl")).unwrap();

    let refused = place.run(&load);

    assert_eq!((used.code, refused.code), (Some(2), Some(2)), "{used:?} {refused:?}");
    assert!(used.stderr.contains("new or empty"), "{used:?}");
    assert!(refused.stderr.contains("another load"), "{refused:?}");
    mark.unlock().unwrap();
    assert_eq!(place.run(&load).code, Some(3));
}

#[test]
fn a_load_does_not_open_the_files_of_a_store_that_is_served() {
    let place = Place::new();
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    for ending in ["", "-wal", "-shm"] {
        let file = format!("{}{ending}", place.data().join("homeroom.db").display());

        let ran = place.run(&["load", &file]);

        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("it is a store"), "{ran:?}");
    }
    assert_eq!(server.client_of(&key).post(STUDENTS, &student("1", "Ada")).status, 201);
}
