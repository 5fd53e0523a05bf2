//! Commits of several pages, launches, attempts and registrations: nothing acknowledged is dropped, and
//! nothing old takes the place of what is newer.

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{Answer, Database, Learning, Place, Server};

/// Runs a test on each store, with the sample course and the registration `r-1`.
fn on_each_store(test: impl Fn(&mut Learning)) {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        lms.register("r-1", "library");
        test(&mut lms);
    });
}

/// A page that a launch was opened in.
struct Page {
    launch: String,
    boot: Value,
}

impl Page {
    fn open(lms: &mut Learning, launch: &str) -> Self {
        let boot = lms.boot(launch);
        assert_eq!(boot["sequence"], 0, "{boot}");
        Self { launch: launch.to_owned(), boot }
    }

    fn session(&self) -> &str {
        self.boot["session"].as_str().unwrap()
    }

    fn send(&self, lms: &mut Learning, sequence: u32, rest: &Value) -> Answer {
        let mut commit = json!({ "session": self.session(), "sequence": sequence });
        for (name, value) in rest.as_object().unwrap() {
            commit[name] = value.clone();
        }
        lms.commit(&self.launch, &commit)
    }

    /// Commits values and returns the answer.
    fn set(&self, lms: &mut Learning, sequence: u32, values: &Value) -> Value {
        let answer = self.send(lms, sequence, &json!({ "cmi": values }));
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert!(answer["sequence"].as_u64().unwrap() >= u64::from(sequence), "{answer}");
        answer
    }
}

fn opened(lms: &mut Learning) -> Page {
    let launch = lms.launch("r-1");
    Page::open(lms, &launch)
}

fn report(lms: &mut Learning) -> Value {
    let all = "includeChildResults=true&includeInteractionsAndObjectives=true&includeRuntime=true";
    lms.get(&format!("/registrations/r-1?{all}"))
}

fn history(lms: &mut Learning) -> Vec<Value> {
    let all = lms.get("/registrations/r-1/launchHistory");
    all["launchHistory"].as_array().unwrap().clone()
}

#[test]
fn a_page_of_a_link_does_not_silence_another_one() {
    on_each_store(|lms| {
        let launch = lms.launch("r-1");
        let (first, second) = (Page::open(lms, &launch), Page::open(lms, &launch));
        assert_ne!(first.session(), second.session());
        for sequence in 1..=5 {
            let values = json!({ "cmi.core.lesson_status": "incomplete" });
            assert_eq!(first.set(lms, sequence, &values)["sequence"], sequence);
        }

        let passed = second.set(
            lms,
            1,
            &json!({ "cmi.core.lesson_status": "passed", "cmi.core.score.raw": "95" }),
        );

        assert_eq!(passed["sequence"], 1);
        let found = report(lms);
        assert_eq!(found["registrationSuccess"], "PASSED", "{found}");
        assert_eq!(found["score"]["scaled"], 95.0);
        // Repeated and reordered commits of the first change nothing.
        for sequence in [5, 3] {
            let late = first.set(lms, sequence, &json!({ "cmi.core.lesson_status": "failed" }));
            assert_eq!(late["sequence"], 5);
        }
        assert_eq!(report(lms)["registrationSuccess"], "PASSED");
    });
}

#[test]
fn a_player_without_sessions_is_told_that_its_number_was_used() {
    on_each_store(|lms| {
        let launch = lms.launch("r-1");
        for sequence in 1..=2 {
            let commit = json!({ "sequence": sequence, "cmi": {
                "cmi.core.lesson_location": format!("p{sequence}") } });
            assert_eq!(lms.commit(&launch, &commit).json()["sequence"], sequence);
        }
        assert_eq!(lms.boot(&launch)["sequence"], 2);

        let other = json!({ "sequence": 1, "cmi": { "cmi.core.lesson_status": "passed" } });
        let answer = lms.commit(&launch, &other);

        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.text().contains("saved before"), "{answer:?}");
    });
}

#[test]
fn a_commit_in_parts_is_saved_when_all_have_come() {
    on_each_store(|lms| {
        let page = opened(lms);
        let part = |part: u32, name: &str| json!({ "part": part, "parts": 2, "cmi": { format!("cmi.core.{name}"): "1" } });

        let last = page.send(lms, 1, &part(1, "score.raw")).json();
        let first = page.send(lms, 1, &part(0, "lesson_location")).json();

        assert_eq!((&last["sequence"], &first["sequence"]), (&json!(0), &json!(1)));
        let found = report(lms);
        let runtime = &found["activityDetails"]["runtime"];
        assert_eq!((&runtime["location"], &runtime["scoreRaw"]), (&json!("1"), &json!("1")));
        assert_eq!(page.send(lms, 2, &part(2, "lesson_location")).status, 400);
    });
}

#[test]
fn an_earlier_launch_takes_nothing_of_a_later_one_back() {
    on_each_store(|lms| {
        let first = opened(lms);
        let begun = json!({ "cmi.core.lesson_status": "incomplete", "cmi.suspend_data": "p1",
            "cmi.core.session_time": "00:10:00", "cmi.interactions.0.id": "q1" });
        first.set(lms, 1, &begun);
        let second = opened(lms);
        let passed = json!({ "cmi.core.lesson_status": "passed", "cmi.suspend_data": "p9",
            "cmi.core.score.raw": "90", "cmi.core.session_time": "00:05:00",
            "cmi.interactions.0.id": "q9" });
        second.set(lms, 1, &passed);

        let late = json!({ "cmi.core.lesson_status": "incomplete", "cmi.suspend_data": "p2",
            "cmi.core.session_time": "00:11:00", "cmi.interactions.0.id": "q2",
            "cmi.core.score.raw": "10" });
        let answer = first.set(lms, 2, &late);

        let stays = json!({ "lesson": ["cmi.core.lesson_status", "cmi.core.score.raw", "cmi.suspend_data"] });
        assert_eq!(answer["superseded"], stays, "{answer}");
        let found = report(lms);
        assert_eq!(found["registrationSuccess"], "PASSED", "{found}");
        assert_eq!(found["score"]["scaled"], 90.0);
        assert_eq!(found["totalSecondsTracked"], 960.0);
        let runtime = &found["activityDetails"]["runtime"];
        assert_eq!(runtime["suspendData"], "p9");
        let ids: Vec<&Value> =
            runtime["runtimeInteractions"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
        assert_eq!(ids, ["q9", "q2"]);
        let third = opened(lms);
        assert_eq!(third.boot["states"]["lesson"]["cmi"]["cmi.suspend_data"], "p9");
        assert_eq!(third.boot["states"]["lesson"]["session"], second.session());

        // What it has left in a browser comes by way of the third, and as its own.
        let mut left = json!({ "left": first.boot["launch"], "session": first.session(),
            "sequence": 2, "cmi": { "cmi.suspend_data": "p3", "cmi.core.session_time": "00:12:00" } });
        let answer = lms.commit(&third.launch, &left);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["superseded"], json!({ "lesson": ["cmi.suspend_data"] }));
        left["sequence"] = 1.into();
        left["cmi"]["cmi.core.session_time"] = "00:01:00".into();
        assert_eq!(lms.commit(&third.launch, &left).json()["sequence"], 2, "something came later");
        let found = report(lms);
        assert_eq!(found["totalSecondsTracked"], 1_020.0);
        assert_eq!(found["activityDetails"]["runtime"]["suspendData"], "p9");
        // A launch of another registration is none of this.
        lms.register("r-2", "library");
        let other = lms.launch("r-2");
        assert_eq!(lms.commit(&other, &left).status, 410);

        let launches = history(lms);
        let seconds: Vec<f64> =
            launches.iter().map(|one| one["totalSecondsTracked"].as_f64().unwrap()).collect();
        assert_eq!(seconds, [720.0, 300.0, 0.0]);
        let status: Vec<&Value> = launches.iter().map(|one| &one["successStatus"]).collect();
        assert_eq!(status, ["UNKNOWN", "PASSED", "UNKNOWN"]);
        let completion: Vec<&Value> = launches.iter().map(|one| &one["completionStatus"]).collect();
        assert_eq!(completion, ["INCOMPLETE", "COMPLETED", "UNKNOWN"]);
        assert_eq!(launches[1]["score"]["scaled"], 90.0);
        assert_eq!(launches[0]["score"], Value::Null);
    });
}

#[test]
fn a_page_that_is_opened_again_is_the_latest_whatever_its_link() {
    on_each_store(|lms| {
        let first = lms.launch("r-1");
        let second = opened(lms);
        second.set(lms, 1, &json!({ "cmi.suspend_data": "p1" }));
        let again = Page::open(lms, &first);

        let answer = again.set(lms, 1, &json!({ "cmi.suspend_data": "p2" }));

        assert_eq!(answer["superseded"], json!({}));
        assert_eq!(opened(lms).boot["states"]["lesson"]["cmi"]["cmi.suspend_data"], "p2");
    });
}

#[test]
fn two_windows_that_take_turns_are_counted_once_each() {
    on_each_store(|lms| {
        let (first, second) = (opened(lms), opened(lms));
        for sequence in 1..=60 {
            let seconds = sequence * 20;
            let time = format!("00:{:02}:{:02}", seconds / 60, seconds % 60);
            for page in [&first, &second] {
                page.set(lms, sequence, &json!({ "cmi.core.session_time": time }));
            }
        }

        assert_eq!(report(lms)["totalSecondsTracked"], 2_400.0);
        let boot = opened(lms).boot;
        assert_eq!(boot["states"]["lesson"]["cmi"]["cmi.core.total_time"], "0000:40:00.00");
    });
}

#[test]
fn a_link_of_a_removed_registration_writes_nothing_into_its_successor() {
    on_each_store(|lms| {
        let page = opened(lms);
        page.set(lms, 1, &json!({ "cmi.suspend_data": "old" }));
        assert_eq!(lms.send("DELETE", "/registrations/r-1", None).status, 204);
        let other = json!({ "courseId": "library", "registrationId": "r-1",
            "learner": { "id": "l-2", "firstName": "Bo", "lastName": "Ray" } });
        assert_eq!(lms.post("/registrations", &other).status, 204);

        let commit = json!({ "cmi": { "cmi.core.lesson_status": "passed" } });
        let answer = page.send(lms, 2, &commit);
        let boot = lms.client.get(&format!("{}/boot", page.launch));

        assert!([404, 410].contains(&answer.status), "{answer:?}");
        assert!([404, 410].contains(&boot.status), "{boot:?}");
        let found = report(lms);
        assert_eq!(found["registrationCompletion"], "UNKNOWN", "{found}");
        assert_eq!(found["lastAccessDate"], Value::Null);
        let new = opened(lms);
        let left = json!({ "left": page.boot["launch"], "session": page.session(), "sequence": 1,
            "cmi": { "cmi.suspend_data": "old" } });
        assert_eq!(lms.commit(&new.launch, &left).status, 410);
    });
}

#[test]
fn a_reset_begins_again_with_the_newest_version_and_ends_all_links() {
    on_each_store(|lms| {
        let page = opened(lms);
        let call = json!([1, "LMSSetValue", "cmi.suspend_data", "x", "true", 0]);
        let commit = json!({ "cmi": { "cmi.suspend_data": "x" }, "calls": [call] });
        assert_eq!(page.send(lms, 1, &commit).status, 200);
        lms.import("library", &sample_package());
        assert_eq!(report(lms)["course"]["version"], 0);

        assert_eq!(lms.send("DELETE", "/registrations/r-1/progress", None).status, 204);

        for sequence in [1, 2] {
            let answer = page.send(lms, sequence, &commit);
            assert!([404, 410].contains(&answer.status), "{answer:?}");
        }
        let found = report(lms);
        assert_eq!(found["course"]["version"], 1, "{found}");
        assert_eq!(found["registrationCompletion"], "UNKNOWN");
        assert_eq!(history(lms), [Value::Null; 0]);
        let id = page.boot["launch"].as_str().unwrap();
        let trace = lms.send("GET", &format!("/registrations/r-1/launches/{id}/trace"), None);
        assert_eq!(trace.status, 404);
        let new = opened(lms);
        assert_eq!(new.boot["states"]["lesson"]["cmi"]["cmi.core.entry"], "ab-initio");
        assert_eq!(new.boot["course"]["version"], 1);
        new.set(lms, 1, &json!({ "cmi.suspend_data": "y" }));
        let left = json!({ "left": id, "session": page.session(), "sequence": 1,
            "cmi": { "cmi.suspend_data": "x" } });
        assert_eq!(lms.commit(&new.launch, &left).status, 410);
    });
}

#[test]
fn a_session_that_is_forgotten_is_refused_and_its_launch_stays_in_the_history() {
    on_each_store(|lms| {
        let first = opened(lms);
        let passed = json!({ "cmi.core.lesson_status": "passed", "cmi.core.score.raw": "80",
            "cmi.core.session_time": "00:01:00" });
        first.set(lms, 1, &passed);
        for number in 0..50 {
            let page = opened(lms);
            page.set(lms, 1, &json!({ "cmi.suspend_data": number.to_string() }));
        }

        for sequence in [1, 2] {
            let answer =
                first.send(lms, sequence, &json!({ "cmi": { "cmi.suspend_data": "old" } }));
            assert_eq!(answer.status, 409, "{answer:?}");
            assert!(answer.text().contains("open the course again"), "{answer:?}");
        }

        let found = report(lms);
        assert_eq!(found["activityDetails"]["runtime"]["suspendData"], "49", "{found}");
        let launches = history(lms);
        assert_eq!(launches.len(), 51);
        assert_eq!(launches[0]["successStatus"], "PASSED", "{}", launches[0]);
        assert_eq!(launches[0]["totalSecondsTracked"], 60.0);
        assert_eq!(launches[0]["score"]["scaled"], 80.0);
    });
}

#[test]
fn a_launch_for_review_records_nothing() {
    on_each_store(|lms| {
        let page = opened(lms);
        let passed = json!({ "cmi.core.lesson_status": "passed", "cmi.core.score.raw": "90" });
        page.set(lms, 1, &passed);
        let before = report(lms);
        let asked = json!({ "redirectOnExitUrl": "https://lms.example.org", "forceReview": true });
        let answer = lms.post("/registrations/r-1/launchLink", &asked).json();
        let link = answer["launchLink"].as_str().unwrap();
        let review = Page::open(lms, &link[link.find("/play/").unwrap()..]);
        assert_eq!(review.boot["mode"], "review");
        assert_eq!(review.boot["credit"], "no-credit");
        assert_eq!(review.boot["tracking"], false);

        let failed = json!({ "cmi.core.lesson_status": "failed", "cmi.core.score.raw": "10" });
        let answer = review.send(lms, 1, &json!({ "cmi": failed, "final": true, "exit": true }));

        assert_eq!(answer.json()["recorded"], false, "{answer:?}");
        assert_eq!(report(lms), before);
    });
}

#[test]
fn a_new_attempt_begins_with_nothing_and_the_former_one_is_kept() {
    on_each_store(|lms| {
        let first = opened(lms);
        let failed = json!({ "cmi.core.lesson_status": "failed", "cmi.core.score.raw": "40",
            "cmi.core.session_time": "00:10:00", "cmi.interactions.0.id": "q1",
            "cmi.interactions.0.type": "choice" });
        let answer = first.send(lms, 1, &json!({ "cmi": failed, "exit": true, "final": true }));
        assert_eq!(answer.status, 200, "{answer:?}");
        let second = opened(lms);
        let again = json!({ "cmi.core.session_time": "00:01:00" });

        let answer = second.send(lms, 1, &json!({ "attempt": "new", "cmi": again }));

        assert_eq!(answer.status, 200, "{answer:?}");
        let found = report(lms);
        let lesson = &found["activityDetails"]["children"][0];
        assert_eq!(found["activityDetails"]["attempts"], 2, "{found}");
        assert_eq!(lesson["attempts"], 2);
        assert_eq!(found["totalSecondsTracked"], 660.0);
        assert_eq!(lesson["runtime"]["totalTime"], "0000:01:00.00");
        assert_eq!(lesson["runtime"]["runtimeInteractions"], json!([]));
        let former = &lesson["earlierAttempts"];
        assert_eq!(former.as_array().unwrap().len(), 1, "{former}");
        assert_eq!(former[0]["attempt"], 1);
        assert_eq!(former[0]["activitySuccess"], "FAILED");
        assert_eq!(former[0]["score"]["scaled"], 40.0);
        assert_eq!(former[0]["timeTracked"], "0000:10:00.00");
        assert_eq!(former[0]["runtime"]["runtimeInteractions"][0]["id"], "q1");
        assert_eq!(lms.send("DELETE", "/registrations/r-1", None).status, 204);
        lms.register("r-1", "library");
        assert_eq!(report(lms)["activityDetails"]["children"][0]["earlierAttempts"], Value::Null);
    });
}

#[test]
fn a_node_that_remembers_a_link_refuses_it_after_another_node_has_ended_it() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let (first, second) = (Server::start(&place), Server::start(&place));
        let mut lms = Learning::of(&place, &first);
        lms.import("library", &sample_package());
        lms.register("r-1", "library");
        let page = opened(&mut lms);
        let away = std::mem::replace(&mut lms.client, second.client());
        page.set(&mut lms, 1, &json!({ "cmi.suspend_data": "old" }));
        lms.client = away;
        assert_eq!(lms.send("DELETE", "/registrations/r-1", None).status, 204);
        lms.register("r-1", "library");

        lms.client = second.client();
        let answer =
            page.send(&mut lms, 2, &json!({ "cmi": { "cmi.core.lesson_status": "passed" } }));

        assert_eq!(answer.status, 410, "{answer:?}");
        assert_eq!(report(&mut lms)["registrationCompletion"], "UNKNOWN");
        let reset = opened(&mut lms);
        reset.set(&mut lms, 1, &json!({ "cmi.suspend_data": "old" }));
        lms.client = first.client();
        assert_eq!(lms.send("DELETE", "/registrations/r-1/progress", None).status, 204);
        lms.client = second.client();
        let late = json!({ "cmi": { "cmi.suspend_data": "late" } });
        assert_eq!(reset.send(&mut lms, 1, &late).status, 410);
    }
}
