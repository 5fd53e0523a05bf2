//! Sessions that nobody has ended, and what is removed after a while.

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{Learning, Place, Receiver, Server, eventually};

const SHORT: [(&str, &str); 2] = [
    ("HOMEROOM_COURSES__SESSION_SILENCE", "400ms"),
    ("HOMEROOM_COURSES__PRIVATE_ADDRESSES", "true"),
];

fn last_launch(lms: &mut Learning) -> Value {
    let all = lms.get("/registrations/r-1/launchHistory");
    all["launchHistory"].as_array().unwrap().last().unwrap().clone()
}

fn silent(place: &Place, server: &Server) {
    let mut lms = Learning::of(place, server);
    lms.import("library", &sample_package());
    let told = Receiver::start(&[], b"");
    let registration = json!({
        "courseId": "library", "registrationId": "r-1", "learner": { "id": "l-1" },
        "postBack": { "url": told.url("/"), "authType": "HTTPBASIC" },
    });
    assert_eq!(lms.post("/registrations", &registration).status, 204);
    let launch = lms.launch("r-1");
    let begun = json!({ "sequence": 1, "cmi": {
        "cmi.core.lesson_status": "incomplete", "cmi.suspend_data": "page=3",
        "cmi.core.session_time": "00:01:00",
    }});

    assert_eq!(lms.commit(&launch, &begun).status, 200);

    // The end changes the registration, but nobody has been there.
    eventually("the session is ended", || {
        let report = lms.get("/registrations/r-1");
        report["updated"] != report["lastAccessDate"]
    });
    told.nth(1);
    let history = last_launch(&mut lms);
    assert_eq!(history["endedBy"], "time-out", "{history}");
    assert_eq!(history["exitTime"], history["lastRuntimeUpdate"], "{history}");
    let full = lms.get("/registrations/r-1?includeRuntime=true");
    assert_eq!(full["activityDetails"]["runtime"]["entry"], "resume", "{full}");
    assert_eq!(full["registrationCompletion"], "INCOMPLETE", "{full}");
    assert_eq!(full["totalSecondsTracked"], 60.0);

    // The phone wakes up: the session goes on.
    let late = json!({ "sequence": 2, "cmi": {
        "cmi.core.session_time": "00:02:00", "cmi.suspend_data": "page=4" }});
    assert_eq!(lms.commit(&launch, &late).status, 200);
    let resumed = lms.launch("r-1");
    let boot = lms.boot(&resumed);
    let cmi = &boot["states"]["lesson"]["cmi"];
    assert_eq!(cmi["cmi.core.entry"], "resume");
    assert_eq!(cmi["cmi.suspend_data"], "page=4");
    assert_eq!(cmi["cmi.core.total_time"], "0000:02:00.00");
    let passed = json!({ "sequence": 1, "exit": true, "final": true, "cmi": {
        "cmi.core.lesson_status": "passed", "cmi.core.session_time": "00:01:00" }});
    assert_eq!(lms.commit(&resumed, &passed).status, 200);
    assert_eq!(last_launch(&mut lms)["endedBy"], "exit");
    let report = lms.get("/registrations/r-1");
    assert_eq!(report["registrationSuccess"], "PASSED", "{report}");
    assert_eq!(report["totalSecondsTracked"], 180.0, "{report}");
}

#[test]
fn a_session_that_never_said_goodbye_ends_by_time_out_and_is_resumed() {
    Place::on_each_store(|place| silent(place, &Server::start_with(place, &SHORT)));
}

fn old_traces(place: &Place) {
    let environment =
        [("HOMEROOM_COURSES__SESSION_SILENCE", "400ms"), ("HOMEROOM_COURSES__TRACES_KEPT", "1s")];
    let server = Server::start_with(place, &environment);
    let mut lms = Learning::of(place, &server);
    lms.import("library", &sample_package());
    lms.register("r-1", "library");
    let launch = lms.launch("r-1");
    let call = json!([1, "LMSSetValue", "cmi.suspend_data", "x", "true", 0]);
    let commit = json!({ "sequence": 1, "cmi": { "cmi.suspend_data": "x" }, "calls": [call] });
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    let id = last_launch(&mut lms)["id"].as_str().unwrap().to_owned();
    let path = format!("/registrations/r-1/launches/{id}/trace");

    eventually("the calls are removed", || {
        lms.get(&path)["commits"].as_array().unwrap().is_empty()
    });

    assert_eq!(lms.boot(&launch)["states"]["lesson"]["cmi"]["cmi.suspend_data"], "x");
}

#[test]
fn the_calls_of_old_launches_are_removed_and_what_was_saved_stays() {
    Place::on_each_store(old_traces);
}
