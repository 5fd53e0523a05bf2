//! `homeroom load`, at the command line and by a server.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Database, Place, STUDENTS, Server, eventually, student};

fn pupil(id: &str) -> String {
    let mut document = student(id, "Ada");
    document["birthDate"] = json!("2014-05-15");
    document.to_string()
}

#[test]
fn a_direct_load_into_a_store_that_is_open_or_has_documents_ends_with_2_and_the_reason() {
    let place = Place::new();
    place.write("students.jsonl", student("1", "Ada").to_string());
    place.done(&["load", "students.jsonl", "--direct"]);

    let filled = place.run(&["load", "students.jsonl", "--direct"]);
    let server = Server::start(&place);
    let there = place.run(&["load", "students.jsonl", "--direct"]);
    let by_server = place.done(&["load", "students.jsonl"]);
    server.stop();

    assert_eq!((filled.code, there.code), (Some(2), Some(2)), "{filled:?} {there:?}");
    assert!(filled.stderr.contains("empty"), "{filled:?}");
    assert!(there.stderr.contains("a server has the store open"), "{there:?}");
    assert!(by_server.contains("1 was already stored"), "{by_server}");
}

#[test]
fn a_record_that_the_input_repeats_is_not_told_as_stored_before() {
    let place = Place::new();
    let lines = [student("1", "Ada"), student("2", "Bo"), student("1", "Ada")];
    place.write("students.jsonl", lines.map(|line| line.to_string()).join("\n"));

    let first = place.done(&["load", "students.jsonl"]);
    let server = Server::start(&place);
    let again = place.done(&["load", "students.jsonl"]);
    server.stop();

    let told = "2 documents loaded, 0 were already stored, 1 repeated in the input, 0 rejected";
    assert!(first.starts_with(told), "{first}");
    assert!(again.starts_with("0 documents loaded, 3 were already stored, 0 rejected"), "{again}");
}

#[test]
fn the_items_of_loads_by_a_server_are_metrics_that_equal_the_summaries() {
    Place::on_each_store(items_are_metrics);
}

fn items_are_metrics(place: &Place) {
    let lines = [student("1", "Ada").to_string(), "{}".into(), student("2", "Bo").to_string()];
    place.write("students.jsonl", lines.join("\n"));
    let server = Server::start(place);

    let loaded = place.run(&["load", "students.jsonl", "--json", "--results", "results.jsonl"]);
    let again = place.run(&["load", "students.jsonl", "--json", "--results", "results.jsonl"]);
    let back = place.run(&["load", "students.jsonl", "--delete", "--json", "--results", "r.jsonl"]);

    let metrics = server.admin_client().get("/metrics").text();
    let tally = |ran: &crate::support::Ran| -> Value {
        let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
        summary["summary"]["resources"]["ed-fi/students"].clone()
    };
    let sum = |outcome: &str| -> u64 {
        [&loaded, &again, &back].map(|ran| tally(ran)[outcome].as_u64().unwrap()).iter().sum()
    };
    assert_eq!(tally(&loaded)["loaded"], 2, "{loaded:?}");
    assert_eq!(tally(&back)["deleted"], 2, "{back:?}");
    for outcome in ["loaded", "unchanged", "rejected", "deleted"] {
        let line = format!(
            "homeroom_load_items_total{{resource=\"ed-fi/students\",outcome=\"{outcome}\"}} {}\n",
            sum(outcome)
        );
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

#[test]
fn a_load_into_a_database_goes_through_the_server_of_its_folder_or_beside_it() {
    for (database, other) in Database::on_each_server().iter().zip(Database::on_each_server()) {
        let place = Place::with_store(&database.url());
        place.write("1.jsonl", json_line("1"));
        let line = |number: &str| place.write(&format!("students-{number}.jsonl"), pupil(number));
        let server = Server::start(&place);
        let items = || {
            let metrics = server.admin_client().get("/metrics").text();
            metrics.matches("homeroom_load_items_total{").count()
        };
        let load = |number: &str| {
            let file = line(number);
            let told = place.done(&["load", file.to_str().unwrap()]);
            assert!(told.starts_with("1 document loaded"), "{told}");
        };
        let socket = || {
            let all = std::fs::read_dir(place.data()).unwrap().map(|entry| entry.unwrap().path());
            all.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect::<Vec<_>>()
        };

        let [own] = &socket()[..] else { panic!("{:?}", socket()) };
        let direct = place.run(&["load", "1.jsonl", "--direct"]);
        assert_eq!(direct.code, Some(2), "{direct:?}");
        // Another database, with the same folder, is another store.
        let mut elsewhere = place.command(&["load", "1.jsonl"]);
        let elsewhere = elsewhere.env("HOMEROOM_STORE__URL", other.url()).output().unwrap();
        assert_eq!(elsewhere.status.code(), Some(0), "{elsewhere:?}");
        assert_eq!(items(), 0);
        load("2");
        assert_eq!(items(), 1, "it went through the server");
        let key = place.key("FullAccess");
        std::fs::remove_file(own).unwrap();
        load("3");

        // What was loaded beside the server is there as well.
        let mut client = server.client_of(&key);
        for number in ["2", "3"] {
            let found = client.get(&format!("{STUDENTS}?studentUniqueId={number}")).json();
            assert_eq!(found.as_array().map(Vec::len), Some(1), "{number}");
        }
        let metrics = server.admin_client().get("/metrics").text();
        let counted = "resource=\"ed-fi/students\",outcome=\"loaded\"} 1\n";
        assert!(metrics.contains(counted), "{metrics}");
        server.stop();
        load("4");
        let server = Server::start(&place);
        server.kill();
        assert_eq!(socket().len(), 1, "a killed server leaves its socket");
        load("5");
    }
}

fn json_line(id: &str) -> String {
    format!("{{\"resource\":\"ed-fi/students\",\"document\":{}}}", pupil(id))
}

#[test]
fn more_files_may_be_packed_than_a_process_usually_has_open() {
    let place = Place::new();
    std::fs::create_dir(place.path("students")).unwrap();
    for n in 0..150 {
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        writeln!(packed, "{}", pupil(&n.to_string())).unwrap();
        place.write(&format!("students/{n}.jsonl.gz"), packed.finish().unwrap());
    }
    let limited = |arguments: &[&str]| {
        let whole = place.command(arguments);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -Sn 100 && exec \"$0\" \"$@\""]);
        command.arg(whole.get_program()).args(whole.get_args()).current_dir(place.path(""));
        for (name, value) in whole.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };

    let loaded = limited(&["load", "students"]);
    let (key, secret) = place.key("FullAccess");
    let server = Server::start(&place);
    let url = format!("http://{}", server.api);
    let upload = ["upload", "students", "--server", &url, "--key", &key, "--secret", &secret];
    let uploaded = limited(&upload);
    server.stop();

    assert!(loaded.starts_with("150 documents loaded"), "{loaded}");
    assert!(uploaded.starts_with("0 documents loaded, 150 were already stored"), "{uploaded}");
}

#[test]
fn the_standard_input_may_be_packed() {
    let place = Place::new();
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    writeln!(packed, "{}", json_line("1")).unwrap();
    let packed = packed.finish().unwrap();

    for is_served in [false, true] {
        let server = is_served.then(|| Server::start(&place));
        let mut load = place.command(&["load", "-"]);
        let mut load = load
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        load.stdin.take().unwrap().write_all(&packed).unwrap();
        let ended = load.wait_with_output().unwrap();

        let told = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(told.contains("(1 document, 1 row with"), "{told}");
        drop(server);
    }
}

#[test]
fn files_that_arrive_in_a_watched_folder_are_taken_once_and_moved_with_their_results() {
    let place = Place::new();
    place.write("students.jsonl", student("0", "Ada").to_string());
    place.done(&["load", "students.jsonl"]);
    let drop = place.path("drop");
    std::fs::create_dir(&drop).unwrap();
    std::fs::write(drop.join("students.jsonl"), student("1", "Ada").to_string()).unwrap();
    let mut watching = place.command(&["load", "--watch", "drop"]);
    let mut watching =
        watching.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_there = |name: &str| drop.join(name).exists();
    let read = |name: &str| std::fs::read_to_string(drop.join(name)).unwrap();

    eventually("the first file is done", || is_there("done/students.jsonl"));
    std::fs::write(drop.join("Student.part"), "still being written").unwrap();
    std::fs::write(drop.join("students.jsonl"), "{}\n").unwrap();
    eventually("the second file has failed", || is_there("failed/students.jsonl"));
    std::fs::write(drop.join("students.jsonl"), student("2", "Bo").to_string()).unwrap();
    eventually("the third file is done", || is_there("done/2-students.jsonl"));
    watching.kill().unwrap();
    watching.wait().unwrap();

    let results = read("failed/students.jsonl.results.jsonl");
    let first: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    assert_eq!(first["resource"], "ed-fi/students", "{results}");
    let last: Value = serde_json::from_str(results.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["rejected"], 1, "{results}");
    assert_eq!(read("done/students.jsonl.results.jsonl").lines().count(), 1);
    assert!(is_there("Student.part"));
    let counts = place.json(&["counts", "--json"]);
    assert_eq!(counts["resources"]["ed-fi/students"]["documents"], 3, "{counts}");
}

#[test]
fn a_watched_folder_outlives_a_bad_file_and_a_server_that_restarts() {
    let place = Place::new();
    place.write("students.jsonl", student("0", "Ada").to_string());
    place.done(&["load", "students.jsonl"]);
    let drop = place.path("drop");
    std::fs::create_dir(&drop).unwrap();
    let put = |name: &str, text: &str| std::fs::write(drop.join(name), text).unwrap();
    let server = Server::start(&place);
    put("manifest.json", "{\"name\": \"x\"}");
    put("students.jsonl", &student("1", "Ada").to_string());
    let mut watching = place.command(&["load", "--watch", "drop"]);
    let mut watching =
        watching.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_there = |name: &str| drop.join(name).exists();

    eventually("the bad file has failed", || is_there("failed/manifest.json"));
    eventually("the good file is done", || is_there("done/students.jsonl"));
    server.stop();
    let server = Server::start(&place);
    put("students.jsonl", &student("2", "Bo").to_string());
    eventually("the next file is done", || is_there("done/2-students.jsonl"));
    assert!(watching.try_wait().unwrap().is_none(), "it goes on");
    watching.kill().unwrap();
    watching.wait().unwrap();
    server.stop();

    let results = std::fs::read_to_string(drop.join("failed/manifest.json.results.jsonl")).unwrap();
    assert!(results.contains("no manifest of an export"), "{results}");
    assert_eq!(std::fs::read_dir(drop.join("failed")).unwrap().count(), 2);
}

#[test]
fn a_load_that_cannot_be_continued_says_so() {
    let place = Place::new();
    place.write("students.jsonl", student("1", "Ada").to_string());

    let ended = place.run(&["load", "students.jsonl", "--json", "--resume"]);

    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--results"), "{ended:?}");
}

/// Documents of the load that is killed.
const KILLED_DOCUMENTS: u32 = 60_000;
/// Times that it is killed.
const KILLS: u64 = 20;

/// Returns the documents that the newest checkpoint of a load knows to be decided.
pub fn checkpointed(place: &Place) -> u64 {
    let read = |name: &str| {
        let text = std::fs::read_to_string(place.path(name)).ok()?;
        // It may be being written.
        let checkpoint: Value = serde_json::from_str(&text).ok()?;
        checkpoint["report"]["counts"]["documents"].as_u64()
    };
    let slots = ["results.jsonl.checkpoint", "results.jsonl.checkpoint.2"];
    slots.into_iter().filter_map(read).max().unwrap_or(0)
}

#[test]
fn a_load_killed_twenty_times_ends_with_the_store_and_the_counts_of_one_that_was_not() {
    let of = |n: u32| student(&n.to_string(), &format!("A{}", n % 7)).to_string();
    let line = |n: u32| match n % 1_000 {
        7 => "{}\n".to_owned(),
        8 => of(n - 1_000 * u32::from(n > 1_000) + 1) + "\n",
        _ => of(n) + "\n",
    };
    let lines: String = (0..KILLED_DOCUMENTS).map(line).collect();
    let (whole, broken) = (Place::new(), Place::new());
    for place in [&whole, &broken] {
        place.write("students.jsonl", &lines);
    }
    let load = ["load", "students.jsonl", "--results", "results.jsonl", "--json"];
    let resumed = [&load[..], &["--resume"]].concat();
    let once: Value = serde_json::from_str(&whole.run(&load).stdout).unwrap();
    let mut kills = vec![];

    // Each part gets on by a thirtieth at least, and is killed before the load has ended.
    while (kills.len() as u64) < KILLS {
        let due = kills.last().unwrap_or(&0) + u64::from(KILLED_DOCUMENTS) / 30;
        let mut command = broken.command(if kills.is_empty() { &load } else { &resumed });
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        while checkpointed(&broken) < due {
            assert!(child.try_wait().unwrap().is_none(), "it ended before {due}, after {kills:?}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it ended before it was killed, after {kills:?}");
        kills.push(checkpointed(&broken));
    }
    let ended: Value = serde_json::from_str(&broken.run(&resumed).stdout).unwrap();

    let is_in_steps = kills.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(is_in_steps && kills[19] < u64::from(KILLED_DOCUMENTS), "{kills:?}");
    let results = |place: &Place| {
        let text = std::fs::read_to_string(place.path("results.jsonl")).unwrap();
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // The last one is the summary.
        lines.pop();
        // The place of a record that was stored before an interruption is not known any more.
        for line in lines.iter_mut().filter(|line| line["repeats"].is_object()) {
            line["repeats"] = Value::Null;
            line["message"] = Value::Null;
        }
        let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(results(&broken).len(), 120);
    assert_eq!(results(&broken), results(&whole), "after {kills:?}");
    let counts = |summary: &Value| {
        ["loaded", "unchanged", "rejected", "documents", "repeated", "repeated_unchanged"]
            .map(|name| summary["summary"][name].clone())
    };
    assert_eq!(counts(&ended), counts(&once), "after {kills:?}: {ended}");
    let documents = |place: &Place| {
        let out = place.path("out");
        place.done(&["export", "--out", out.to_str().unwrap(), "--format", "jsonl"]);
        let text = std::fs::read_to_string(out.join("ed-fi/students.jsonl")).unwrap();
        let bare = |line: &str| {
            let mut document: Value = serde_json::from_str(line).unwrap();
            let members = document.as_object_mut().unwrap();
            members.retain(|name, _| !matches!(&**name, "id" | "_etag" | "_lastModifiedDate"));
            document.to_string()
        };
        let mut all: Vec<String> = text.lines().map(bare).collect();
        all.sort();
        all
    };
    assert!(documents(&broken) == documents(&whole), "after {kills:?}");
}

/// Documents of the load whose bytes are counted.
const COUNTED_DOCUMENTS: u32 = 400_000;

/// Waits until a process has ended, and returns the bytes that it has read from files.
fn bytes_read(mut child: std::process::Child) -> u64 {
    let about = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id()));
    // It stays there until it is waited for.
    let has_ended = || about("stat").unwrap().rsplit(") ").next().unwrap().starts_with('Z');
    while !has_ended() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let io = about("io").unwrap();
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    let read = read.parse().unwrap();
    assert!(child.wait().unwrap().success());
    read
}

#[test]
fn after_a_kill_at_nine_tenths_at_most_a_hundredth_of_the_bytes_is_read_again() {
    // A store in a file is read by the process as well; there the bytes of the input cannot be told.
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let long = "x".repeat(70);
        let line = |n: u32| {
            let mut document = student(&n.to_string(), &long);
            for name in ["middleName", "maidenName", "preferredFirstName", "preferredLastSurname"] {
                document[name] = long.clone().into();
            }
            document.to_string() + "\n"
        };
        let input =
            place.write("students.jsonl", (0..COUNTED_DOCUMENTS).map(line).collect::<String>());
        let bytes = std::fs::metadata(&input).unwrap().len();
        let load = ["load", "students.jsonl", "--results", "results.jsonl", "--json"];
        let start = |arguments: &[&str]| {
            let mut command = place.command(arguments);
            let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            quiet.spawn().unwrap()
        };

        let mut killed = start(&load);
        while checkpointed(&place) < u64::from(COUNTED_DOCUMENTS) / 10 * 9 {
            assert!(killed.try_wait().unwrap().is_none(), "it ended before it was killed");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        killed.kill().unwrap();
        assert!(!killed.wait().unwrap().success());
        let counts = || {
            let counts = place.json(&["counts", "--json"]);
            counts["resources"]["ed-fi/students"]["documents"].as_u64().unwrap()
        };
        let stored = counts();
        let read = bytes_read(start(&[&load[..], &["--resume"]].concat()));

        let rest = bytes - bytes * stored / u64::from(COUNTED_DOCUMENTS);
        let again = read.saturating_sub(rest);
        println!("{again} of {bytes} bytes were read again; {stored} documents had been stored");
        assert!(rest < bytes / 8, "{stored}");
        assert!(again * 100 <= bytes, "{again} of {bytes} after {stored}");
        assert_eq!(counts(), u64::from(COUNTED_DOCUMENTS));
    }
}

#[test]
fn a_killed_load_is_continued_and_its_results_are_those_of_one_load() {
    let place = Place::new();
    let lines: String = (0..30_000)
        .map(|n| {
            if n % 100 == 7 {
                "{}\n".to_owned()
            } else {
                format!("{}\n", student(&n.to_string(), "A"))
            }
        })
        .collect();
    place.write("students.jsonl", lines);
    let results = place.path("results.jsonl");
    let mut kills = 0;

    let ended = loop {
        let mut load = vec!["load", "students.jsonl", "--results", "results.jsonl", "--json"];
        if kills > 0 {
            load.push("--resume");
        }
        let mut command = place.command(&load);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let size = || std::fs::metadata(&results).map_or(0, |about| about.len());
        let before = size();
        let mut is_over = false;
        eventually("it gets on", || {
            is_over = child.try_wait().unwrap().is_some();
            is_over || (kills < 3 && size() > before + 10_000)
        });
        if is_over {
            break child.wait_with_output().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    };

    let told = String::from_utf8(ended.stdout).unwrap();
    let summary: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{told}");
    assert_eq!(summary["summary"]["documents"], 30_000, "{told}");
    assert_eq!(summary["summary"]["loaded"], 29_700, "{told}");
    assert_eq!(summary["summary"]["rejected"], 300, "{told}");
    let results = std::fs::read_to_string(&results).unwrap();
    assert_eq!(results.lines().count(), 301);
    let places: std::collections::BTreeSet<&str> = results.lines().collect();
    assert_eq!(places.len(), 301, "no reject is told twice");
    assert!(kills > 0, "{kills}");
}

#[test]
fn the_lab_loads_interchanges_by_the_published_method_and_reports_each() {
    let place = Place::new();

    let told = place.done(&[
        "lab",
        "bulk",
        "--students",
        "20",
        "--modes",
        "trusted,direct,service",
        "--json",
        "b.json",
        "--html",
        "b.html",
    ]);

    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let result: Value = serde_json::from_str(&read("b.json")).unwrap();
    let [trusted, direct, service] = &result["modes"].as_array().unwrap()[..] else {
        panic!("{result}")
    };
    let rows = trusted["interchanges"].as_array().unwrap();
    assert_eq!(rows.len(), 25, "{result}");
    let sum: u64 = rows.iter().map(|row| row["records"].as_u64().unwrap()).sum();
    assert_eq!(trusted["total"]["records"], direct["total"]["records"]);
    assert_eq!(direct["total"]["rejected"], 0, "{direct}");
    assert_eq!(trusted["total"]["records"].as_u64().unwrap(), sum, "{trusted}");
    for row in rows {
        let before = row["records_before"].as_u64().unwrap();
        assert_eq!(
            row["records_after"].as_u64().unwrap(),
            before + row["records"].as_u64().unwrap()
        );
        assert_eq!(row["rejected"], 0, "{row}");
    }
    assert_eq!(service["total"]["rejected"], 0, "{service}");
    assert_eq!(service["total"]["records"], trusted["total"]["records"], "{service}");
    assert_eq!(service["interchanges"].as_array().unwrap().len(), 25, "{service}");
    assert_ne!(trusted["fastest"], trusted["slowest"]);
    let page = read("b.html");
    assert_eq!(page.matches("<svg").count(), 3);
    for mode in ["trusted", "direct", "service"] {
        assert_eq!(page.matches(&format!("\">{mode}</text>")).count(), 3, "{mode}: {page}");
    }
    assert!(page.contains("<th>By thread</th>") && page.contains("store-writer "), "{page}");
    assert!(page.contains("<th>Read, MB</th>"), "{page}");
    assert!(page.contains("StudentAttendance") && !page.contains("http://"), "{page}");
    assert!(told.contains("documents/s"), "{told}");
}

#[test]
fn the_lab_measures_each_mode_with_each_number_of_cores_and_counts_the_transfer() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).unwrap();
    place.write("in/students.jsonl", pupil("1"));
    let modes = ["--modes", "direct,service", "--cores", "1,2", "--json", "b.json"];

    let told = place.done(&[&["lab", "bulk", "in"], &modes[..]].concat());

    let text = std::fs::read_to_string(place.path("b.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let modes = result["modes"].as_array().unwrap();
    let names: Vec<&str> = modes.iter().map(|mode| mode["mode"].as_str().unwrap()).collect();
    let expected =
        ["direct on 1 core", "service on 1 core", "direct on 2 cores", "service on 2 cores"];
    assert_eq!(names, expected);
    assert!(names.iter().all(|name| told.contains(name)), "{told}");
    for mode in modes {
        let (name, total) = (mode["mode"].as_str().unwrap(), &mode["total"]);
        assert_eq!(total["documents"], 1, "{mode}");
        let is_upload = name.starts_with("service");
        assert_eq!(total["transfer_seconds"].is_number(), is_upload, "{mode}");
        if is_upload {
            assert_eq!(total["seconds"], total["process_seconds"], "{mode}");
            assert!(total["network_bytes"].as_u64().unwrap() > 0, "{mode}");
        }
    }
}
