//! Attempts and the pages that play them: when another one begins, what belongs to it, and what a page says
//! that goes.

use homeroom_course::{packed, sample_package};
use homeroom_store::{Answer as Found, Decision, Options, Plan, Sql, Store, StoreUrl, Write};
use serde_json::{Value, json};

use crate::support::{Answer, Learning, Place, Server};

/// Runs a test on each store, with the sample course of SCORM 1.2 as `old` and one of SCORM 2004 as `new`, and a
/// registration for each under the same name.
fn on_each_store(test: impl Fn(&mut Learning)) {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("old", &sample_package());
        let imported = lms.import("new", &of_2004());
        assert_eq!(imported["status"], "COMPLETE", "{imported}");
        for name in ["old", "new"] {
            lms.register(name, name);
        }
        test(&mut lms);
    });
}

/// A course of SCORM 2004 with the activity `lesson`.
fn of_2004() -> Vec<u8> {
    of_2004_with("")
}

/// The same, with something more of its item.
fn of_2004_with(more: &str) -> Vec<u8> {
    let manifest = format!(
        "<manifest identifier='m' xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_v1p3'><metadata>\
        <schemaversion>2004 4th Edition</schemaversion></metadata><organizations><organization identifier='o'>\
        <title>T</title><item identifier='lesson' identifierref='r'><title>L</title>{more}</item></organization>\
        </organizations><resources><resource identifier='r' adlcp:scormType='sco' href='a.html'/></resources>\
        </manifest>"
    );
    packed(&[("imsmanifest.xml", &manifest), ("a.html", "a")])
}

/// A page that a launch was opened in.
struct Page {
    launch: String,
    boot: Value,
}

impl Page {
    fn open(lms: &mut Learning, launch: &str) -> Self {
        Self { launch: launch.to_owned(), boot: lms.boot(launch) }
    }

    fn of(lms: &mut Learning, registration: &str) -> Self {
        let launch = lms.launch(registration);
        Self::open(lms, &launch)
    }

    fn state(&self) -> &Value {
        &self.boot["states"]["lesson"]
    }

    fn send(&self, lms: &mut Learning, sequence: u32, rest: &Value) -> Answer {
        let mut commit = json!({ "session": self.boot["session"], "sequence": sequence });
        for (name, value) in rest.as_object().unwrap() {
            commit[name] = value.clone();
        }
        let answer = lms.commit(&self.launch, &commit);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    }
}

fn report(lms: &mut Learning, registration: &str) -> Value {
    let all = "includeChildResults=true&includeInteractionsAndObjectives=true&includeRuntime=true";
    lms.get(&format!("/registrations/{registration}?{all}"))
}

fn lesson(report: &Value) -> &Value {
    &report["activityDetails"]["children"][0]
}

/// The interactions of a run-time, each with its result.
fn answers(runtime: &Value) -> Vec<(String, String)> {
    let all = runtime["runtimeInteractions"].as_array().unwrap();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    all.iter().map(|one| (text(one, "id"), text(one, "result"))).collect()
}

fn said(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, result)| ((*id).to_owned(), (*result).to_owned())).collect()
}

#[test]
fn a_launch_after_an_attempt_of_scorm_2004_that_has_ended_begins_another_one() {
    on_each_store(|lms| {
        let first = Page::of(lms, "new");
        assert_eq!((&first.state()["attempts"], &first.state()["attempt"]), (&json!(0), &json!(1)));
        let passed = json!({ "cmi.completion_status": "completed", "cmi.success_status": "passed",
            "cmi.score.scaled": "0.9", "cmi.session_time": "PT10M", "cmi.suspend_data": "page=9",
            "cmi.exit": "normal", "cmi.interactions.0.id": "q1", "cmi.interactions.0.result": "correct" });
        first.send(
            lms,
            1,
            &json!({ "cmi": passed, "exit": true, "final": true, "suspended": null }),
        );

        let second = Page::of(lms, "new");

        let cmi = &second.state()["cmi"];
        assert_eq!(cmi["cmi.entry"], "ab-initio", "{cmi}");
        assert_eq!(
            (&cmi["cmi.suspend_data"], &cmi["cmi.score.scaled"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(cmi["cmi.total_time"], "PT0S", "{cmi}");
        assert_eq!(second.state()["attempt"], 2);
        assert_eq!(
            report(lms, "new")["registrationSuccess"],
            "PASSED",
            "a page that is opened changes nothing"
        );

        // What is sent again, as a page that goes does, counts once.
        let begun = json!({ "attempt": "new", "cmi": { "cmi.session_time": "PT1M",
            "cmi.interactions.0.id": "q2", "cmi.interactions.0.result": "incorrect" } });
        for sequence in 1..=3 {
            second.send(lms, sequence, &begun);
        }
        let found = report(lms, "new");
        assert_eq!(lesson(&found)["attempts"], 2, "{found}");
        assert_eq!(lesson(&found)["activitySuccess"], "UNKNOWN");
        assert_eq!(found["registrationSuccess"], "PASSED", "what was reached stays");
        assert_eq!(found["totalSecondsTracked"], 660.0);
        assert_eq!(answers(&lesson(&found)["runtime"]), said(&[("q2", "incorrect")]));
        let former = lesson(&found)["earlierAttempts"].as_array().unwrap();
        assert_eq!(former.len(), 1, "{found}");
        assert_eq!(former[0]["activitySuccess"], "PASSED");
        assert_eq!(former[0]["runtime"]["suspendData"], "page=9");

        // What the first page says late is of its own attempt.
        let late = json!({ "cmi.interactions.1.id": "q3", "cmi.interactions.1.result": "correct" });
        first.send(lms, 2, &json!({ "cmi": late }));
        let found = report(lms, "new");
        assert_eq!(answers(&lesson(&found)["runtime"]), said(&[("q2", "incorrect")]));
        let former = &lesson(&found)["earlierAttempts"][0]["runtime"];
        assert_eq!(answers(former), said(&[("q1", "correct"), ("q3", "correct")]));

        // An attempt that is suspended goes on, and so does one whose window was closed.
        let suspended = json!({ "cmi.exit": "suspend", "cmi.location": "p4" });
        second.send(
            lms,
            4,
            &json!({ "cmi": suspended, "exit": true, "final": true, "suspended": "lesson" }),
        );
        let third = Page::of(lms, "new");
        assert_eq!(third.state()["cmi"]["cmi.entry"], "resume");
        third.send(lms, 1, &json!({ "cmi": { "cmi.location": "p5" } }));
        let fourth = Page::of(lms, "new");
        assert_eq!(fourth.state()["cmi"]["cmi.location"], "p5");
        fourth.send(lms, 1, &json!({ "cmi": { "cmi.location": "p6" } }));
        assert_eq!(lesson(&report(lms, "new"))["attempts"], 2);

        // A page may say itself which attempt it is at, as often as it likes.
        for sequence in 2..=3 {
            fourth.send(lms, sequence, &json!({ "attempt": 3, "cmi": { "cmi.location": "p1" } }));
        }
        assert_eq!(lesson(&report(lms, "new"))["attempts"], 3);
    });
}

/// What a registration has come to: completion, success, score and date.
fn result(lms: &mut Learning, registration: &str) -> Value {
    let found = lms.get(&format!("/registrations/{registration}"));
    let of = |name: &str| found[name].clone();
    assert_eq!(found["completedDate"].is_null(), found["registrationCompletion"] != "COMPLETED");
    json!([
        of("registrationCompletion"),
        of("registrationSuccess"),
        found["score"]["scaled"],
        of("completedDate")
    ])
}

#[test]
fn a_finished_course_that_is_opened_again_keeps_its_result() {
    on_each_store(|lms| {
        let passed = json!({ "cmi.completion_status": "completed", "cmi.success_status": "passed",
            "cmi.score.scaled": "0.9", "cmi.exit": "normal" });
        let passed = json!({ "cmi": passed, "exit": true, "final": true, "suspended": null });
        Page::of(lms, "new").send(lms, 1, &passed);
        let reached = result(lms, "new");
        assert_eq!(
            reached.as_array().unwrap()[..3],
            [json!("COMPLETED"), json!("PASSED"), json!(90.0)]
        );

        // Content only begins, gets the objectives of the manifest, and its window is closed or left.
        let begun = json!({ "activity": "lesson", "cmi": { "cmi.objectives.0.id": "aim" }, "exit": false,
            "suspended": "lesson", "calls": [[1, "Initialize", "", "", "true", 0]] });
        let second = Page::of(lms, "new");
        second.send(lms, 1, &begun);
        second.send(
            lms,
            2,
            &json!({ "closing": true, "activity": "lesson", "suspended": "lesson" }),
        );
        let third = Page::of(lms, "new");
        third.send(lms, 1, &begun);
        third.send(
            lms,
            2,
            &json!({ "activity": "lesson", "exit": true, "final": true, "suspended": null }),
        );
        assert_eq!(result(lms, "new"), reached);
        let found = report(lms, "new");
        assert_eq!(lesson(&found)["attempts"], 1, "{found}");
        assert_eq!(lesson(&found)["activitySuccess"], "PASSED");

        // Once it sets something, another attempt begins. Its result counts when it is completed, if it is no worse.
        let fourth = Page::of(lms, "new");
        fourth.send(lms, 1, &begun);
        fourth.send(
            lms,
            2,
            &json!({ "cmi": { "cmi.completion_status": "incomplete",
            "cmi.objectives.0.success_status": "failed" } }),
        );
        let found = report(lms, "new");
        assert_eq!(lesson(&found)["attempts"], 2, "{found}");
        assert_eq!(lesson(&found)["activityCompletion"], "INCOMPLETE");
        assert_eq!(lesson(&found)["runtime"]["runtimeObjectives"][0]["id"], "aim", "{found}");
        assert_eq!(result(lms, "new"), reached);
        let done = |success: &str, score: &str| {
            json!({ "cmi": { "cmi.completion_status": "completed", "cmi.success_status": success,
                "cmi.score.scaled": score } })
        };
        fourth.send(lms, 3, &done("failed", "0.1"));
        assert_eq!(result(lms, "new"), reached);
        fourth.send(lms, 4, &done("passed", "0.8"));
        let mut better = reached;
        better[2] = json!(80.0);
        assert_eq!(result(lms, "new"), better);

        // Where the setting says so, statuses follow the content.
        let setting = json!({ "settingId": "PlayerAllowCompleteStatusChange", "value": "true" });
        let settings = json!({ "settings": [setting] });
        assert_eq!(lms.post("/registrations/new/configuration", &settings).status, 204);
        fourth.send(lms, 5, &json!({ "cmi": { "cmi.completion_status": "incomplete" } }));
        assert_eq!(result(lms, "new")[0], "INCOMPLETE");

        // Content of SCORM 1.2 that says "incomplete" whenever it begins.
        let passed = json!({ "cmi.core.lesson_status": "passed", "cmi.core.score.raw": "95" });
        Page::of(lms, "old").send(lms, 1, &json!({ "cmi": passed, "exit": true, "final": true }));
        let reached = result(lms, "old");
        assert_eq!(reached[2], 95.0);
        let second = Page::of(lms, "old");
        second.send(lms, 1, &json!({ "cmi": { "cmi.core.lesson_status": "incomplete" } }));
        assert_eq!(result(lms, "old"), reached);
    });
}

#[test]
fn a_course_whose_attempts_are_used_up_can_only_be_reviewed() {
    on_each_store(|lms| {
        let limit = "<imsss:sequencing xmlns:imsss='http://www.imsglobal.org/xsd/imsss'>\
            <imsss:limitConditions attemptLimit='1'/></imsss:sequencing>";
        lms.import("once", &of_2004_with(limit));
        lms.register("once", "once");
        let first = Page::of(lms, "once");
        let suspended = json!({ "cmi.exit": "suspend", "cmi.location": "p1" });
        first.send(
            lms,
            1,
            &json!({ "cmi": suspended, "exit": true, "final": true, "suspended": "lesson" }),
        );
        let second = Page::of(lms, "once");
        assert_eq!(second.boot["mode"], "normal", "the attempt goes on");
        let failed = json!({ "cmi.completion_status": "completed", "cmi.success_status": "failed",
            "cmi.score.scaled": "0.4", "cmi.location": "p9", "cmi.exit": "normal" });
        second.send(
            lms,
            1,
            &json!({ "cmi": failed, "exit": true, "final": true, "suspended": null }),
        );
        let reached = report(lms, "once");

        let third = Page::of(lms, "once");

        let of = |name: &str| third.boot[name].clone();
        assert_eq!(
            json!([of("mode"), of("credit"), of("tracking")]),
            json!(["review", "no-credit", false])
        );
        let cmi = &third.state()["cmi"];
        assert_eq!(json!([cmi["cmi.mode"], cmi["cmi.location"]]), json!(["review", "p9"]), "{cmi}");
        assert_eq!(third.boot["start"], "lesson");
        let passed = json!({ "cmi.success_status": "passed", "cmi.score.scaled": "1" });
        for (sequence, attempt) in [(1, Value::Null), (2, json!("new")), (3, json!(2))] {
            let answer =
                third.send(lms, sequence, &json!({ "cmi": passed, "attempt": attempt })).json();
            assert_eq!(answer["recorded"], false, "{answer}");
        }
        let found = report(lms, "once");
        assert_eq!(lesson(&found), lesson(&reached));
        assert_eq!(found["registrationSuccess"], "FAILED");
    });
}

#[test]
fn a_course_of_several_lessons_that_was_ended_keeps_its_result_when_it_is_opened_again() {
    on_each_store(|lms| {
        let manifest = "<manifest identifier='m' xmlns:adlcp='http://www.adlnet.org/xsd/adlcp_v1p3'><metadata>\
            <schemaversion>2004 4th Edition</schemaversion></metadata><organizations><organization identifier='o'>\
            <title>T</title><item identifier='one' identifierref='r'><title>1</title></item>\
            <item identifier='two' identifierref='r'><title>2</title></item></organization></organizations>\
            <resources><resource identifier='r' adlcp:scormType='sco' href='a.html'/></resources></manifest>";
        lms.import("two", &packed(&[("imsmanifest.xml", manifest), ("a.html", "a")]));
        lms.register("two", "two");
        let first = Page::of(lms, "two");
        for (sequence, id) in [(1, "one"), (2, "two")] {
            let cmi = json!({ "cmi.completion_status": "completed", "cmi.success_status": "passed",
                "cmi.score.scaled": "0.7", "cmi.exit": "normal" });
            first.send(lms, sequence, &json!({ "activity": id, "cmi": cmi, "exit": true }));
        }
        first.send(lms, 3, &json!({ "final": true, "suspended": null }));
        let reached = result(lms, "two");
        assert_eq!(reached[1], "PASSED", "{reached}");

        let second = Page::of(lms, "two");
        second.send(lms, 1, &json!({ "activity": "one", "exit": false, "suspended": "one" }));
        assert_eq!(result(lms, "two"), reached);
        assert_eq!(report(lms, "two")["activityDetails"]["activitySuccess"], "PASSED");
        second.send(lms, 2, &json!({ "activity": "one", "cmi": { "cmi.location": "p1" } }));
        assert_eq!(result(lms, "two"), reached);
    });
}

#[test]
fn an_attempt_goes_on_where_the_learner_has_suspended_the_course_or_the_page_knew_no_end() {
    on_each_store(|lms| {
        let normal = json!({ "cmi.exit": "normal", "cmi.location": "p1" });
        let first = Page::of(lms, "new");
        first.send(lms, 1, &json!({ "cmi": normal, "exit": true }));
        first.send(lms, 2, &json!({ "final": true, "suspended": "lesson" }));

        let second = Page::of(lms, "new");
        assert_eq!(second.state()["cmi"]["cmi.location"], "p1");
        // The next one is opened before this one's end is known.
        let third = Page::of(lms, "new");
        second.send(
            lms,
            1,
            &json!({ "cmi": normal, "exit": true, "final": true, "suspended": null }),
        );
        third.send(lms, 1, &json!({ "cmi": { "cmi.score.raw": "1" } }));

        let found = report(lms, "new");
        assert_eq!(lesson(&found)["attempts"], 1, "{found}");
        assert_eq!(lesson(&found)["runtime"]["location"], "p1");
    });
}

#[test]
fn values_of_scorm_12_go_on_unless_a_setting_says_otherwise() {
    on_each_store(|lms| {
        let done = json!({ "cmi.core.lesson_status": "passed", "cmi.suspend_data": "page=9" });
        let done = json!({ "cmi": done, "exit": true, "final": true });
        Page::of(lms, "old").send(lms, 1, &done);

        let second = Page::of(lms, "old");
        let cmi = &second.state()["cmi"];
        assert_eq!(
            (&cmi["cmi.core.entry"], &cmi["cmi.suspend_data"]),
            (&json!(""), &json!("page=9"))
        );
        second.send(lms, 1, &done);
        let found = report(lms, "old");
        assert_eq!(lesson(&found)["attempts"], 2, "{found}");
        assert_eq!(found["registrationSuccess"], "PASSED");

        let name = "PlayerResetRunTimeData";
        let settings =
            json!({ "settings": [{ "settingId": name, "value": "when-exit-is-not-suspend" }] });
        assert_eq!(lms.post("/registrations/old/configuration", &settings).status, 204);
        let third = Page::of(lms, "old");
        let cmi = &third.state()["cmi"];
        assert_eq!(cmi["cmi.core.entry"], "ab-initio", "{cmi}");
        assert_eq!(cmi["cmi.suspend_data"], Value::Null);
        third.send(lms, 1, &json!({ "cmi": { "cmi.core.lesson_status": "incomplete" } }));
        let found = report(lms, "old");
        assert_eq!(lesson(&found)["attempts"], 3, "{found}");
        assert_eq!(lesson(&found)["earlierAttempts"][0]["runtime"]["suspendData"], "page=9");

        let of_2004 = lms.get("/registrations/new/configuration");
        let items = of_2004["settingItems"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"] == name).unwrap();
        assert_eq!(item["effectiveValue"], "on-each-new-sequencing-attempt", "{item}");
        assert_eq!(item["effectiveValueSource"], "default");
        let wrong = json!({ "settings": [{ "settingId": name, "value": "sometimes" }] });
        assert_eq!(lms.post("/registrations/old/configuration", &wrong).status, 400);
    });
}

#[test]
fn interactions_of_two_sittings_never_become_one() {
    on_each_store(|lms| {
        let first = Page::of(lms, "old");
        let answer = json!({ "cmi.interactions.0.id": "q1", "cmi.interactions.0.type": "choice",
            "cmi.interactions.0.result": "wrong", "cmi.interactions.0.latency": "00:00:09",
            "cmi.interactions.0.correct_responses.0.pattern": "a", "cmi.core.exit": "suspend" });
        first.send(lms, 1, &json!({ "cmi": answer, "exit": true, "final": true }));

        let second = Page::of(lms, "old");
        let other = json!({ "cmi.interactions.0.id": "q5", "cmi.interactions.0.result": "correct",
            "cmi.core.exit": "suspend" });
        second.send(lms, 1, &json!({ "cmi": other, "exit": true, "final": true }));

        let found = report(lms, "old");
        let runtime = &lesson(&found)["runtime"];
        assert_eq!(answers(runtime), said(&[("q5", "correct"), ("q1", "wrong")]));
        let all = runtime["runtimeInteractions"].as_array().unwrap();
        assert_eq!((&all[0]["latency"], &all[0]["type"]), (&json!(""), &json!("Other")), "{all:?}");
        assert_eq!((&all[1]["latency"], &all[1]["type"]), (&json!("00:00:09"), &json!("Choice")));
        assert_eq!(all[1]["correctResponses"], json!(["a"]));

        // What is told again is told once; what belongs to an interaction that goes on is added to it.
        let third = Page::of(lms, "old");
        third.send(lms, 1, &json!({ "cmi": other }));
        assert_eq!(
            answers(&lesson(&report(lms, "old"))["runtime"]),
            said(&[("q5", "correct"), ("q1", "wrong")])
        );
        let fourth = Page::of(lms, "old");
        fourth.send(lms, 1, &json!({ "cmi": { "cmi.interactions.0.result": "neutral" } }));
        assert_eq!(
            answers(&lesson(&report(lms, "old"))["runtime"]),
            said(&[("q5", "neutral"), ("q1", "wrong")])
        );
    });
}

#[test]
fn what_a_page_says_as_it_goes_undoes_nothing_of_the_page_that_was_loaded_in_its_place() {
    on_each_store(|lms| {
        let launch = lms.launch("old");
        let old = Page::open(lms, &launch);
        old.send(
            lms,
            1,
            &json!({ "cmi": { "cmi.suspend_data": "p1", "cmi.core.score.raw": "10" } }),
        );
        let new = Page::open(lms, &launch);
        let values = json!({ "cmi.suspend_data": "p2", "cmi.core.lesson_status": "passed" });
        new.send(lms, 1, &json!({ "cmi": values, "suspended": "lesson" }));

        let late = json!({ "closing": true, "exit": true, "final": true, "suspended": null, "cmi": {
            "cmi.suspend_data": "p1", "cmi.core.lesson_status": "incomplete", "cmi.core.score.raw": "20",
            "cmi.core.exit": "logout" } });
        let answer = old.send(lms, 2, &late).json();

        let stays = &answer["superseded"]["lesson"];
        assert_eq!(*stays, json!(["cmi.core.lesson_status", "cmi.suspend_data"]), "{answer}");
        let found = report(lms, "old");
        assert_eq!(lesson(&found)["runtime"]["suspendData"], "p2", "{found}");
        assert_eq!(found["registrationSuccess"], "PASSED");
        assert_eq!(found["suspendedActivityId"], "lesson");
        assert_eq!(lesson(&found)["runtime"]["scoreRaw"], "20", "nobody has set it later");
        let history = lms.get("/registrations/old/launchHistory");
        assert_eq!(history["launchHistory"][0]["endedBy"], Value::Null, "{history}");

        // Without a later page all of it counts.
        let last = json!({ "closing": true, "final": true, "cmi": { "cmi.suspend_data": "p3" } });
        let answer = new.send(lms, 2, &last).json();
        assert_eq!(answer["superseded"], json!({}));
        assert_eq!(Page::of(lms, "old").state()["cmi"]["cmi.suspend_data"], "p3");
        let history = lms.get("/registrations/old/launchHistory");
        assert_eq!(history["launchHistory"][0]["endedBy"], "exit", "{history}");
    });
}

/// Writes into a store that no server uses.
fn change(url: &str, texts: &[(&'static str, Vec<String>)]) {
    let store = Store::open(&Options::new(url.parse::<StoreUrl>().unwrap())).unwrap();
    let writes = texts.iter().map(|(text, arguments)| {
        let arguments = arguments.iter().map(|text| text.as_str().into()).collect();
        Write::Part(Sql::new(text, arguments))
    });
    let writes: Vec<Write> = writes.collect();
    let decide = move |_: Vec<Found>| Decision::<(), ()>::Write(writes.clone(), ());
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
    store.close();
}

#[test]
fn a_result_from_before_an_upgrade_stays_when_the_course_is_opened_again() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("old", &sample_package());
        lms.register("old", "old");
        let passed = json!({ "cmi.core.lesson_status": "passed", "cmi.core.score.raw": "95" });
        let first = Page::of(&mut lms, "old");
        first.send(&mut lms, 1, &json!({ "cmi": passed, "exit": true, "final": true }));
        let reached = result(&mut lms, "old");
        assert_eq!(reached[1], "PASSED");
        assert_eq!(server.stop().code, Some(0));
        change(
            &place.store_url(),
            &[("UPDATE course_registration SET progress = ?1", vec!["{}".into()])],
        );

        let server = Server::start(place);
        lms.client = server.client();
        let again = json!({ "cmi": { "cmi.core.lesson_status": "incomplete" } });
        Page::of(&mut lms, "old").send(&mut lms, 1, &again);
        assert_eq!(result(&mut lms, "old"), reached);
    });
}

#[test]
fn the_time_of_a_launch_from_before_an_upgrade_stays_in_its_history() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("old", &sample_package());
        lms.register("old", "old");
        let former = Page::of(&mut lms, "old");
        former.send(&mut lms, 1, &json!({ "cmi": { "cmi.suspend_data": "p1" } }));
        assert_eq!(server.stop().code, Some(0));
        let id = former.boot["launch"].as_str().unwrap();
        let first = 1_700_000_000_000_000_i64;
        let progress =
            json!({ "launches": { id: { "sequence": 1, "first": first, "last": first } } });
        let state = json!({ "attempts": 1, "cmi": { "cmi.suspend_data": "p1" }, "launch": id,
            "earlier": 0, "session": 6_000, "is_told": true, "begun": first, "is_finished": false, "exit": "" });
        change(
            &place.store_url(),
            &[
                ("UPDATE course_registration SET progress = ?1", vec![progress.to_string()]),
                ("UPDATE course_activity SET state = ?1", vec![state.to_string()]),
            ],
        );

        let server = Server::start(place);
        lms.client = server.client();
        let seconds = |lms: &mut Learning| {
            let found = lms.get("/registrations/old/launchHistory");
            let all = found["launchHistory"].as_array().unwrap().iter();
            all.map(|one| one["totalSecondsTracked"].as_f64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(seconds(&mut lms), [60.0]);
        let next = Page::of(&mut lms, "old");
        next.send(&mut lms, 1, &json!({ "cmi": { "cmi.core.session_time": "00:02:00" } }));
        assert_eq!(seconds(&mut lms), [60.0, 120.0]);
        // The page from before the upgrade, which sends no session, goes on.
        let late = json!({ "sequence": 2, "cmi": { "cmi.core.session_time": "00:03:00" } });
        assert_eq!(lms.commit(&former.launch, &late).status, 200);
        assert_eq!(seconds(&mut lms), [180.0, 120.0]);
        assert_eq!(report(&mut lms, "old")["totalSecondsTracked"], 300.0);
    });
}
