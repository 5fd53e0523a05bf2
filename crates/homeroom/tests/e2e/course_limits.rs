//! What a registration keeps at most, what is said of the rest, and what is read page by page.

use homeroom_course::{packed, sample_package};
use serde_json::{Value, json};

use crate::support::{Learning, Place, Server};

/// Runs a test on each store, with a course of SCORM 2004 and its registration `r-1`.
fn on_each_store(package: &[u8], test: impl Fn(&mut Learning)) {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        let imported = lms.import("c", package);
        assert_eq!(imported["status"], "COMPLETE", "{imported}");
        lms.register("r-1", "c");
        test(&mut lms);
    });
}

/// A course of SCORM 2004 with activities `a0`, `a1`… that share the buckets `d0`, `d1` and `d2`.
fn of_2004(activities: usize) -> Vec<u8> {
    let maps = "<adlcp:data><adlcp:map targetID='d0'/><adlcp:map targetID='d1'/>\
        <adlcp:map targetID='d2'/></adlcp:data>";
    let items = (0..activities).map(|at| {
        format!("<item identifier='a{at}' identifierref='r'><title>A</title>{maps}</item>")
    });
    let manifest = format!(
        "<manifest identifier='m' xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_v1p3'><metadata>\
         <schemaversion>2004 4th Edition</schemaversion></metadata><organizations>\
         <organization identifier='o'><title>T</title>{}</organization></organizations><resources>\
         <resource identifier='r' adlcp:scormType='sco' href='a.html'/></resources></manifest>",
        items.collect::<String>()
    );
    packed(&[("imsmanifest.xml", &manifest), ("a.html", "a")])
}

/// Commits and returns the warnings.
fn warned(lms: &mut Learning, launch: &str, commit: &Value) -> String {
    let answer = lms.commit(launch, commit);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["sequence"], commit["sequence"], "{answer:?}");
    answer.json()["warnings"].to_string()
}

#[test]
fn what_cannot_be_stored_is_warned_of_and_the_rest_of_the_commit_is_kept() {
    on_each_store(&of_2004(10), |lms| {
        let launch = lms.launch("r-1");
        let (long, half) = ("x".repeat(600 << 10), "x".repeat(500 << 10));
        let shared = |sequence: u32, id: &str| {
            json!({ "sequence": sequence, "sharedData": { id: long },
                "cmi": { "cmi.location": sequence.to_string() } })
        };
        assert_eq!(warned(lms, &launch, &shared(1, "d0")), "[]");
        assert!(warned(lms, &launch, &shared(2, "d1")).contains("no room for d1"));
        assert_eq!(warned(lms, &launch, &shared(3, "d0")), "[]", "it takes its own place");
        warned(lms, &launch, &shared(4, "undeclared"));
        let boot = lms.boot(&launch);
        let buckets: Vec<&String> = boot["sharedData"].as_object().unwrap().keys().collect();
        assert_eq!(buckets, ["d0"]);
        assert_eq!(boot["states"]["a0"]["cmi"]["cmi.location"], "4");

        let mut sequence = 4;
        let mut filled = |lms: &mut Learning, activity: usize, first: &str, second: &str| {
            sequence += 1;
            let activity = format!("a{activity}");
            let cmi = json!({ first: half, second: half, "cmi.score.raw": "7" });
            warned(lms, &launch, &json!({ "sequence": sequence, "activity": activity, "cmi": cmi }))
        };
        let objective = |at: u32| format!("cmi.objectives.{at}.description");
        assert!(!filled(lms, 1, &objective(0), &objective(1)).contains("no room"));
        let warnings = filled(lms, 1, &objective(2), "cmi.suspend_data");
        assert!(warnings.contains("no room for cmi.objectives.2.description"), "{warnings}");
        assert!(!warnings.contains("no room for cmi.suspend_data"), "{warnings}");
        let mut full = vec![];
        for activity in 2..10 {
            filled(lms, activity, &objective(0), &objective(1));
            full.push(
                filled(lms, activity, "cmi.location", "cmi.suspend_data").contains("no room"),
            );
        }
        assert_eq!(full.iter().position(|is_full| *is_full), Some(7), "{full:?}");
        let boot = lms.boot(&launch);
        let cmi = &boot["states"]["a9"]["cmi"];
        assert_eq!(cmi["cmi.score.raw"], "7", "small values have room");
        let cmi = &boot["states"]["a1"]["cmi"];
        assert_eq!(cmi["cmi.suspend_data"].as_str().map(str::len), Some(half.len()));
    });
}

#[test]
fn attempts_beyond_the_room_for_them_keep_what_they_have_come_to() {
    on_each_store(&of_2004(1), |lms| {
        let half = "x".repeat(500 << 10);
        for attempt in 0..19 {
            let launch = lms.launch("r-1");
            let session = lms.boot(&launch)["session"].clone();
            let objective = |at: u32| format!("cmi.objectives.{at}.description");
            let cmi = json!({ objective(0): half, objective(1): half, "cmi.exit": "normal",
                "cmi.score.raw": attempt.to_string(), "cmi.success_status": "passed" });
            let commit = json!({ "session": session, "sequence": 1, "cmi": cmi, "exit": true,
                "final": true, "suspended": null });
            let warnings = warned(lms, &launch, &commit);
            assert_eq!(
                warnings.contains("status, score and time alone"),
                attempt > 16,
                "{warnings}"
            );
        }

        let all =
            "includeRuntime=true&includeInteractionsAndObjectives=true&includeChildResults=true";
        let full = lms.get(&format!("/registrations/r-1?{all}"));

        let attempts =
            full["activityDetails"]["children"][0]["earlierAttempts"].as_array().unwrap();
        let objectives = |at: usize| {
            let runtime = &attempts[at]["runtime"];
            (runtime["scoreRaw"].clone(), runtime["runtimeObjectives"].as_array().unwrap().len())
        };
        assert_eq!(attempts.len(), 18);
        assert_eq!((objectives(15), objectives(16)), (("15".into(), 2), ("16".into(), 0)));
        assert_eq!(attempts[17]["activitySuccess"], "PASSED");
    });
}

#[test]
fn more_state_than_a_beacon_takes_is_whole_when_it_comes_in_parts_right_before_the_end() {
    on_each_store(&of_2004(1), |lms| {
        let launch = lms.launch("r-1");
        let session = lms.boot(&launch)["session"].clone();
        let part = |at: usize| format!("{at:05};").repeat(5_000);
        // Deltas while content runs, each of another value, and then what is left in parts, in any order.
        for sequence in 1..=4_usize {
            let name = format!("cmi.comments_from_learner.{}.comment", sequence - 1);
            let commit = json!({ "session": session, "sequence": sequence, "cmi": { name: part(sequence) } });
            assert_eq!(lms.commit(&launch, &commit).json()["sequence"], sequence);
        }
        let values = ["cmi.suspend_data", "cmi.location", "cmi.objectives.0.description"];
        for at in [2, 0, 1] {
            let commit = json!({ "session": session, "sequence": 5, "part": at, "parts": 3,
                "closing": true, "final": at == 2, "exit": at == 2, "cmi": { values[at]: part(10 + at) } });
            assert_eq!(lms.commit(&launch, &commit).status, 200);
        }

        let full =
            lms.get("/registrations/r-1?includeRuntime=true&includeInteractionsAndObjectives=true");
        let runtime = &full["activityDetails"]["runtime"];
        let comments = runtime["learnerComments"].as_array().unwrap();
        let found = comments.iter().map(|one| one["value"].as_str().unwrap().to_owned());
        assert_eq!(found.collect::<Vec<_>>(), (1..=4).map(part).collect::<Vec<_>>());
        assert_eq!(runtime["suspendData"], part(10));
        assert_eq!(runtime["location"], part(11));
        assert_eq!(runtime["runtimeObjectives"][0]["description"], part(12));
    });
}

#[test]
fn a_trace_says_what_was_left_out_and_is_read_to_its_end() {
    on_each_store(&sample_package(), |lms| {
        let launch = lms.launch("r-1");
        let id = lms.boot(&launch)["launch"].as_str().unwrap().to_owned();
        let call = |text: &str| json!([1, "LMSSetValue", "cmi.suspend_data", text, "true", 0]);
        let long = "x".repeat(900);
        let mut calls: Vec<Value> = (0..400).map(|_| call(&long)).collect();
        calls.push(call("last"));
        let commit = json!({ "sequence": 1, "cmi": { "cmi.suspend_data": "x" }, "calls": calls });
        assert!(warned(lms, &launch, &commit).contains("left out of the trace"));
        for sequence in 2..=105 {
            let commit = json!({ "sequence": sequence, "calls": [call("x")] });
            warned(lms, &launch, &commit);
        }

        let path = format!("/registrations/r-1/launches/{id}/trace");
        let first = lms.get(&path);
        let commits = first["commits"].as_array().unwrap();
        assert_eq!(commits.len(), 100);
        let kept = commits[0]["calls"].as_array().unwrap();
        assert_eq!(kept.last().unwrap()[3], "last");
        let left_out = usize::try_from(commits[0]["callsLeftOut"].as_u64().unwrap()).unwrap();
        assert_eq!(kept.len() + left_out, calls.len());
        assert_eq!(commits[1]["callsLeftOut"], Value::Null);
        let second = lms.get(&format!("{path}?more={}", first["more"].as_str().unwrap()));
        let commits = second["commits"].as_array().unwrap();
        assert_eq!((commits.len(), &commits[4]["sequence"]), (5, &json!(105)), "{second}");
        assert_eq!(second["more"], Value::Null);
        assert_eq!(lms.send("GET", &format!("{path}?more=x"), None).status, 400);
    });
}

#[test]
fn a_trace_says_what_was_saved_whatever_the_calls_of_a_commit_say() {
    on_each_store(&of_2004(2), |lms| {
        let launch = lms.launch("r-1");
        let boot = lms.boot(&launch);
        let mut sequence = 0;
        let mut sent = |lms: &mut Learning, commit: &Value| {
            sequence += 1;
            let mut commit = commit.clone();
            (commit["session"], commit["sequence"]) = (boot["session"].clone(), sequence.into());
            let answer = lms.commit(&launch, &commit);
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.json()
        };
        let call = |name: &str, value: &str| json!([1, "SetValue", name, value, "true", 0]);
        let lie = call("cmi.score.raw", "100");
        // A call of which the commit says nothing, and a value of which no call says anything.
        sent(lms, &json!({ "cmi": {}, "calls": [lie] }));
        sent(lms, &json!({ "cmi": { "cmi.score.raw": "40" }, "calls": [lie] }));
        // More calls than are kept.
        let long: Vec<Value> = (0..400).map(|_| call("cmi.location", &"x".repeat(900))).collect();
        let calls = [vec![call("cmi.score.max", "50")], long].concat();
        sent(lms, &json!({ "cmi": { "cmi.score.max": "50" }, "calls": calls }));
        // What content may not set, and what is not there.
        let names = ["cmi.learner_id", "cmi.nothing", "cmi.location"];
        let calls = names.map(|name| call(name, "p1"));
        let all = json!({ "cmi.learner_id": "p1", "cmi.nothing": "p1", "cmi.location": "p1" });
        sent(lms, &json!({ "cmi": all, "calls": calls }));
        // Two activities with the same element.
        let of =
            |id: &str, place: &str| json!({ "activity": id, "cmi": { "cmi.location": place } });
        let calls = [call("cmi.location", "p2"), call("cmi.location", "p3")];
        let activities = [of("a0", "p2"), of("a1", "p3"), of("nobody", "p4")];
        sent(lms, &json!({ "activities": activities, "calls": calls }));
        // A later page has set all of it.
        let later = lms.launch("r-1");
        let session = lms.boot(&later)["session"].clone();
        let objective = |value: &str| {
            let all = (0..60).flat_map(|at| {
                let of = format!("cmi.objectives.{at}");
                [
                    (format!("{of}.description"), json!(value)),
                    (format!("{of}.score.raw"), json!("7")),
                ]
            });
            Value::Object(all.collect())
        };
        let commit = json!({ "session": session, "sequence": 1, "cmi": objective("later") });
        assert_eq!(lms.commit(&later, &commit).status, 200);
        let answer = sent(lms, &json!({ "cmi": objective("earlier") }));
        assert_eq!(answer["superseded"]["a0"].as_array().unwrap().len(), 50, "{answer}");
        assert!(answer["warnings"].to_string().contains("70 more elements stay"), "{answer}");

        let id = boot["launch"].as_str().unwrap();
        let trace = lms.get(&format!("/registrations/r-1/launches/{id}/trace"));
        let commits = trace["commits"].as_array().unwrap();
        let of = |at: usize| [&commits[at]["values"], &commits[at]["notSaved"]];
        assert_eq!(of(0), [&json!({}), &Value::Null]);
        assert_eq!(of(1), [&json!({ "a0": { "cmi.score.raw": "40" } }), &Value::Null]);
        assert_eq!(of(2), [&json!({ "a0": { "cmi.score.max": "50" } }), &Value::Null]);
        let not_saved = json!({ "a0": ["cmi.learner_id", "cmi.nothing"] });
        assert_eq!(of(3), [&json!({ "a0": { "cmi.location": "p1" } }), &not_saved]);
        let saved = json!({ "a0": { "cmi.location": "p2" }, "a1": { "cmi.location": "p3" } });
        assert_eq!(of(4), [&saved, &json!({ "nobody": ["cmi.location"] })]);
        assert_eq!(of(5)[0], &json!({}));
        assert_eq!(of(5)[1]["a0"].as_array().unwrap().len(), 120, "{trace}");
    });
}

#[test]
fn a_launch_history_begins_with_the_newest_thousand() {
    on_each_store(&sample_package(), |lms| {
        let first = lms.launch("r-1");
        let first = lms.boot(&first)["launch"].clone();
        for _ in 0..999 {
            lms.launch("r-1");
        }
        let last = lms.launch("r-1");
        let last = lms.boot(&last)["launch"].clone();

        let newest = lms.get("/registrations/r-1/launchHistory");

        let all = newest["launchHistory"].as_array().unwrap();
        assert_eq!((all.len(), &all[999]["id"]), (1_000, &last));
        let path =
            format!("/registrations/r-1/launchHistory?more={}", newest["more"].as_str().unwrap());
        let others = lms.get(&path);
        assert_eq!(others["launchHistory"].as_array().unwrap().len(), 1, "{others}");
        assert_eq!((&others["launchHistory"][0]["id"], &others["more"]), (&first, &Value::Null));
    });
}

#[test]
fn the_time_of_a_launch_stays_when_it_is_opened_again_after_its_sessions_are_forgotten() {
    on_each_store(&sample_package(), |lms| {
        let launch = lms.launch("r-1");
        let minute = |lms: &mut Learning, launch: &str| {
            let session = lms.boot(launch)["session"].clone();
            let cmi = json!({ "cmi.core.session_time": "00:01:00" });
            let commit = json!({ "session": session, "sequence": 1, "cmi": cmi });
            assert_eq!(lms.commit(launch, &commit).status, 200);
        };
        minute(lms, &launch);
        for _ in 0..50 {
            let other = lms.launch("r-1");
            minute(lms, &other);
        }

        minute(lms, &launch);

        let history = lms.get("/registrations/r-1/launchHistory");
        assert_eq!(history["launchHistory"][0]["totalSecondsTracked"], 120.0, "{history}");
        assert_eq!(lms.get("/registrations/r-1")["totalSecondsTracked"], 52.0 * 60.0);
    });
}

#[test]
fn results_of_another_origin_are_refused() {
    on_each_store(&sample_package(), |lms| {
        let launch = lms.launch("r-1");
        let origins = lms.boot(&launch)["origins"].clone();
        let mut sequence = 0;
        let mut sent = |lms: &mut Learning, headers: &[(&str, &str)]| {
            sequence += 1;
            let commit =
                json!({ "sequence": sequence, "cmi": { "cmi.suspend_data": "x" } }).to_string();
            let mut all = vec![("content-type", "text/plain;charset=UTF-8")];
            all.extend_from_slice(headers);
            let path = format!("{launch}/results");
            lms.client.send("POST", &path, &all, Some(commit.as_bytes())).unwrap()
        };
        let (main, content) =
            (origins["main"].as_str().unwrap(), origins["content"].as_str().unwrap());
        for (origin, site) in [
            ("https://evil.example.org", "cross-site"),
            ("http://127.0.0.1:1", "same-site"),
            ("null", "cross-site"),
        ] {
            let answer = sent(lms, &[("origin", origin), ("sec-fetch-site", site)]);
            assert_eq!(answer.status, 403, "{origin}: {answer:?}");
            assert!(answer.json()["message"].as_str().unwrap().contains("origin"), "{answer:?}");
        }
        assert_eq!(lms.get("/registrations/r-1")["lastAccessDate"], Value::Null);
        for headers in [&[("origin", main)][..], &[("origin", content)], &[("origin", "null")], &[]]
        {
            assert_eq!(sent(lms, headers).status, 200, "{headers:?}");
        }
    });
}
