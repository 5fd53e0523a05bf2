//! `homeroom upload` against a server: what it prints, its exit codes, and uploads that break off.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, Server, eventually, student};

fn interchange(records: &str) -> String {
    format!("<InterchangeStudent xmlns=\"http://x/5.2.0\">\n{records}</InterchangeStudent>\n")
}

fn record(id: &str) -> String {
    format!(
        "<Student><StudentUniqueId>{id}</StudentUniqueId><Name><FirstName>A</FirstName>\
         <LastSurname>B</LastSurname></Name><BirthData><BirthDate>2010-01-01</BirthDate>\
         </BirthData></Student>\n"
    )
}

fn upload<'a>(
    server: &'a str,
    (key, secret): &'a (String, String),
    more: &[&'a str],
) -> Vec<&'a str> {
    let own = ["upload", "--server", server, "--key", key, "--secret", secret];
    [&own[..], more].concat()
}

/// Reads a rate from a line, such as `… 1,200 documents/s`.
fn rate(line: &str) -> Option<u64> {
    let (before, _) = line.split_once(" documents/s")?;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[test]
fn a_folder_is_loaded_with_the_rights_of_the_key_and_told_as_the_loader_tells_it() {
    Place::on_each_store(told_as_by_the_loader);
}

fn told_as_by_the_loader(place: &Place) {
    let key = place.key("FullAccess");
    let server = Server::start(place);
    let url = format!("http://{}", server.api);
    let long = format!("<FirstName>{}<", "x".repeat(80));
    let bad = record("9").replace("<FirstName>A<", &long);
    std::fs::create_dir(place.path("in")).unwrap();
    place.write("in/Student.xml", interchange(&(record("1") + &bad)));
    place.write("in/students.jsonl", student("2", "Ada").to_string() + "\n");

    let first = place.run(&upload(&url, &key, &["in", "--results", "results.jsonl"]));
    let again = place.run(&upload(&url, &key, &["in", "--json"]));

    assert_eq!(first.code, Some(3), "{first:?}");
    assert!(first.stdout.contains("2 documents loaded"), "{first:?}");
    let rates: Vec<u64> = first.stdout.lines().filter_map(rate).collect();
    assert_eq!(rates.len(), 2, "of the load, and with the transfer: {first:?}");
    assert!(rates[0] >= rates[1] && rates[1] > 0, "{first:?}");
    assert!(first.stdout.contains("first in in/Student.xml, line 3"), "{first:?}");
    let results = std::fs::read_to_string(place.path("results.jsonl")).unwrap();
    let lines: Vec<Value> = results.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{results}");
    assert_eq!(lines[0]["file"], "in/Student.xml");
    assert_eq!((&lines[0]["line"], &lines[0]["element"]), (&3.into(), &"Student".into()));
    assert_eq!(lines[0]["resource"], "ed-fi/students");
    assert!(lines[0]["hint"].is_string() && lines[0]["key"].is_string(), "{results}");
    assert_eq!(lines[1]["summary"]["loaded"], 2);
    assert_eq!(again.code, Some(3), "{again:?}");
    let last = again.stdout.lines().last().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["summary"]["unchanged"], 2, "{again:?}");
    assert_eq!(again.stdout.lines().count(), 2);
    place.write("students.jsonl", student("3", "Ada").to_string() + "\n");
    assert_eq!(place.run(&upload(&url, &key, &["students.jsonl"])).code, Some(0));
}

#[test]
fn of_a_file_with_damage_of_every_kind_the_server_rejects_the_damaged_records_alone() {
    let kinds = [
        ("</FirstName>", "</FirstNam>"),
        ("2010-01-01", "soon"),
        ("<FirstName>A</FirstName>", ""),
        ("<Student>", "<Student id=\"a>"),
    ];
    let records = (0..10 * kinds.len()).map(|number| {
        let (from, to) = kinds[number / 10];
        let record = record(&number.to_string());
        assert!(record.contains(from), "{record} lacks {from}");
        if number % 10 == 7 { record.replacen(from, to, 1) } else { record }
    });
    let students = interchange(&records.collect::<String>());
    let enrolled = serde_json::json!({
        "studentReference": {"studentUniqueId": "1"}, "schoolReference": {"schoolId": 8},
        "entryDate": "2021-08-23", "entryGradeLevelDescriptor": "uri://x/GradeLevelDescriptor#Nineth",
    });
    Place::on_each_store(|place| {
        let key = place.key("FullAccess");
        let server = Server::start(place);
        let url = format!("http://{}", server.api);
        std::fs::create_dir(place.path("in")).unwrap();
        place.write("in/Student.xml", &students);
        place.write("in/studentSchoolAssociations.jsonl", format!("{enrolled}\n"));

        let ended = place.run(&upload(&url, &key, &["in", "--results", "results.jsonl"]));

        assert_eq!(ended.code, Some(3), "{ended:?}");
        let results = std::fs::read_to_string(place.path("results.jsonl")).unwrap();
        let all: Vec<Value> = results.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let summary = &all.last().unwrap()["summary"];
        assert_eq!(
            (&summary["loaded"], &summary["rejected"]),
            (&36.into(), &5.into()),
            "{results}"
        );
        let of = |file: &str| {
            let of_it = all.iter().filter(|line| line["file"] == format!("in/{file}"));
            let mut lines: Vec<u64> = of_it.map(|line| line["line"].as_u64().unwrap()).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(of("Student.xml"), [9, 19, 29, 39], "{results}");
        assert_eq!(of("studentSchoolAssociations.jsonl"), [1], "{results}");
    });
}

#[test]
fn packed_files_and_arrays_are_uploaded_and_what_is_not_taken_is_told_by_name() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    let packed = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    std::fs::create_dir(place.path("in")).unwrap();
    place.write("in/Student.xml.gz", packed(&interchange(&record("1"))));
    let array = format!("[\n{},\n{{}},\n{}]\n", student("2", "Ada"), student("3", "Bo"));
    place.write("in/students.json", array);
    place.write("in/pupils.csv", "a,b\n");

    let ended = place.run(&upload(&url, &key, &["in", "--results", "results.jsonl"]));

    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("3 documents loaded"), "{ended:?}");
    assert!(ended.stdout.contains("in/pupils.csv: It was not uploaded"), "{ended:?}");
    let results = std::fs::read_to_string(place.path("results.jsonl")).unwrap();
    let lines: Vec<Value> = results.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&lines[0]["file"], &lines[0]["line"]), (&"in/students.json".into(), &3.into()));
    assert_eq!(lines[1]["file"], "in/pupils.csv", "{results}");
    let summary = &lines[2]["summary"];
    assert_eq!((&summary["loaded"], &summary["rejected"]), (&3.into(), &2.into()), "{summary}");
    // The file is no document.
    assert_eq!((&summary["documents"], &summary["rows"]), (&4.into(), &4.into()), "{summary}");
    assert_eq!(
        (&summary["resources"]["unknown"]["rejected"], &summary["files"]),
        (&1.into(), &3.into())
    );
    let causes = summary["causes"].as_array().unwrap();
    let counts = causes.iter().map(|cause| cause["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 2, "{summary}");
}

#[test]
fn a_server_that_refuses_the_key_or_is_not_there_has_an_exit_code_of_its_own() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    place.write("students.jsonl", student("1", "Ada").to_string() + "\n");
    let wrong = (key.0.clone(), "wrong".to_owned());

    let refused = place.run(&upload(&url, &wrong, &["students.jsonl"]));
    let missing = place.run(&upload(&url, &key, &["nowhere"]));
    let away = place.run(&upload("http://127.0.0.1:1", &key, &["students.jsonl"]));

    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert_eq!(away.code, Some(5), "{away:?}");
}

/// Returns the memory of its own that a process has now, in KiB; 0 once it has ended.
fn memory_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    anonymous.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn an_upload_that_was_killed_is_taken_up_again_where_it_was() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    // The lines between the records make the file long, and quick to load.
    let blank = "\n".repeat(100 << 20);
    place.write("Student.xml", interchange(&(record("1") + &blank + &record("2"))));
    let year = ["Student.xml", "--school-year", "2026"];
    let mut client = server.client_of(&key);
    let mut operations = || {
        let answer = client.get("/api/v2.0/2026/bulkOperations");
        let found = answer.json();
        found.as_array().unwrap_or_else(|| panic!("{found}")).clone()
    };

    let mut command = place.command(&upload(&url, &key, &year));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("a part has arrived", || {
        operations().first().is_some_and(|first| first["status"] != "Initialized")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = operations();
    let file = begun[0]["uploadFiles"][0]["id"].as_str().unwrap().to_owned();
    let mut other = server.client_of(&key);
    let mut arrived = || {
        let upload = other.get(&format!("/api/v2.0/2026/uploads/{file}")).json();
        upload["chunks"].as_array().unwrap().len()
    };
    let taken = || {
        let metrics = server.admin_client().get("/metrics").text();
        let of_chunks = metrics.lines().filter(|line| {
            line.starts_with("http_server_request_duration_seconds_count")
                && line.contains("/chunk\"")
                && line.contains("\"201\"")
        });
        let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        of_chunks.map(count).sum::<usize>()
    };
    // The server may have been about to store another part.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let (there, taken_before) = (arrived(), taken());
    let mut command = place.command(&upload(&url, &key, &year));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    let again = loop {
        most = most.max(memory_kib(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };

    assert!(again.success(), "{again:?}");
    // A part is held, and not the file, which has 100 MiB.
    assert!((1..80 << 10).contains(&most), "{most} KiB");
    let ended = operations();
    assert_eq!(ended.len(), 1, "it is the same operation: {ended:?}");
    // A part has 16 MiB.
    let parts = 7;
    assert!(there > 0 && there < parts, "{there}");
    assert_eq!(taken() - taken_before, parts - there, "what had arrived is not sent again");
    assert_eq!((&ended[0]["id"], &ended[0]["status"]), (&begun[0]["id"], &"Completed".into()));
    assert_eq!(client.get("/data/v3/ed-fi/students").json().as_array().unwrap().len(), 2);
}

#[test]
fn what_the_server_does_not_take_is_told_by_name_and_the_others_are_uploaded() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    for folder in ["in/wide", "in/own"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("in/whatever.jsonl", student("1", "Ada").to_string() + "\n");
    let named = serde_json::json!({"resource": "ed-fi/students", "document": student("2", "Bo")});
    place.write("in/own/students.ndjson", named.to_string() + "\n");
    let wide = format!("\u{feff}{}\n", student("3", "Zoë"));
    let wide = wide.encode_utf16();
    place.write("in/wide/students.jsonl", wide.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    let text = interchange(&(record("4") + "<Student/>\n"));
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    place.write("in/Student.xml.gz", packed.finish().unwrap());

    let first = place.run(&upload(&url, &key, &["in"]));
    let again = place.run(&upload(&url, &key, &["in", "--json"]));
    let loaded = place.run(&["load", "in", "--dry-run"]);
    let only = place.run(&upload(&url, &key, &["in/whatever.jsonl"]));

    assert_eq!(first.code, Some(3), "{first:?}");
    assert!(first.stdout.contains("3 documents loaded"), "{first:?}");
    assert!(first.stdout.contains("in/whatever.jsonl: It was not uploaded"), "{first:?}");
    assert!(first.stdout.contains("there is no resource whatever"), "{first:?}");
    assert!(first.stdout.contains("in/Student.xml.gz, line 3"), "{first:?}");
    assert!(!first.stdout.contains("--rejects"), "{first:?}");
    assert!(loaded.stdout.contains("3 were already stored"), "{loaded:?}");
    assert_eq!(only.code, Some(3), "{only:?}");
    assert!(again.stdout.contains("\"unchanged\":3"), "{again:?}");
    // The items of uploads are metrics, too.
    eventually("the items are counted", || {
        let metrics = server.admin_client().get("/metrics").text();
        [("loaded", 3), ("unchanged", 3), ("rejected", 2)].iter().all(|(outcome, count)| {
            metrics.contains(&format!(
                "homeroom_load_items_total{{resource=\"ed-fi/students\",outcome=\"{outcome}\"}} {count}\n"
            ))
        })
    });
}

#[test]
fn an_upload_says_that_the_server_is_busy_and_why() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    let mut client = server.client_of(&key);
    let file = serde_json::json!({"format": "text/xml", "interchangeType": "Student", "size": 9});
    let body = serde_json::json!({ "uploadFiles": [file] });
    while client.post("/api/v2.0/2026/bulkOperations", &body).status == 201 {}
    place.write("students.jsonl", student("1", "Ada").to_string() + "\n");

    let mut command = place.command(&upload(&url, &key, &["students.jsonl"]));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = std::io::BufReader::new(child.stderr.take().unwrap());
    let said: Vec<String> = std::io::BufRead::lines(said).take(2).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();

    let text = said.join("\n");
    assert!(text.contains("the server says that it is busy (429)"), "{text}");
    assert!(text.contains("operations that have not ended"), "{text}");
    assert!(text.contains("at most 5 minutes"), "{text}");
}

#[test]
fn more_files_than_an_operation_may_have_are_uploaded_as_several_in_their_order() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    let contact = "{\"contactUniqueId\":\"1\",\"firstName\":\"A\",\"lastSurname\":\"B\"}\n";
    for folder in ["in/contacts", "in/studentContactAssociations", "in/students"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("in/contacts/1.jsonl", contact);
    for n in 0..505 {
        place.write(&format!("in/students/{n}.jsonl"), student(&n.to_string(), "A").to_string());
        let reference = serde_json::json!({
            "contactReference": {"contactUniqueId": "1"},
            "studentReference": {"studentUniqueId": n.to_string()},
        });
        // By their names, these come first.
        place.write(&format!("in/studentContactAssociations/{n}.jsonl"), reference.to_string());
    }

    let ended = place.run(&upload(&url, &key, &["in"]));

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("1,011 documents loaded"), "{ended:?}");
    assert!(ended.stderr.contains("1011 files are uploaded as 2 operations"), "{ended:?}");
}
