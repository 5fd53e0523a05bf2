//! What all learners of a course have answered: interactions and objectives as rows.

use homeroom_course::sample_package;
use homeroom_store::{Answer, Decision, Options, Plan, Sql, Store, StoreUrl, Write};
use serde_json::{Value, json};

use crate::support::{Learning, Place, Server, eventually};

/// Two interactions and an objective, as content of SCORM 1.2 tells them.
fn told(response: &str, result: &str) -> Value {
    json!({
        "cmi.interactions.0.id": "q1", "cmi.interactions.0.type": "choice",
        "cmi.interactions.0.student_response": response, "cmi.interactions.0.result": result,
        "cmi.interactions.1.id": "q2", "cmi.interactions.1.type": "fill-in",
        "cmi.interactions.1.student_response": "a\u{0}b",
        "cmi.objectives.0.id": "books", "cmi.objectives.0.status": "passed",
    })
}

/// Makes a store one that an older version has left: without rows of interactions and objectives.
const AS_BEFORE: [&str; 3] = [
    "DELETE FROM course_interaction",
    "DELETE FROM course_objective",
    "INSERT INTO course_carry (part, registration, instance, activity, attempt) \
     VALUES ('activity', '', 0, '', 0), ('attempt', '', 0, '', 0)",
];

/// Registers a learner of that name.
fn register(lms: &mut Learning, name: &str) {
    let body = json!({
        "courseId": "library", "registrationId": name, "learner": { "id": format!("learner-{name}") },
    });
    let answer = lms.post("/registrations", &body);
    assert_eq!(answer.status, 204, "{answer:?}");
}

/// Has a learner say something in a launch.
fn learn(lms: &mut Learning, name: &str, cmi: &Value, is_exit: bool) -> String {
    let launch = lms.launch(name);
    let commit = json!({ "sequence": 1, "cmi": cmi, "exit": is_exit, "final": is_exit });
    assert_eq!(lms.commit(&launch, &commit).status, 200);
    launch
}

fn answers(lms: &mut Learning) -> Value {
    lms.get("/courses/library/answers")
}

/// The counts of an interaction: all, learners, correct, incorrect.
fn counts(answers: &Value, id: &str) -> [i64; 4] {
    let all = answers["interactions"].as_array().unwrap();
    let one = all.iter().find(|one| one["id"] == id);
    ["count", "learners", "correct", "incorrect"]
        .map(|name| one.map_or(0, |one| one[name].as_i64().unwrap()))
}

/// Changes a store that no server has open, and counts the rows of both tables.
fn rows(place: &Place, writes: &'static [&'static str]) -> Vec<i64> {
    let url: StoreUrl = place.store_url().parse().unwrap();
    let store = Store::open(&Options::new(url)).unwrap();
    let decide = move |_: Vec<Answer>| {
        let writes = writes.iter().map(|text| Write::Part(Sql::new(text, vec![])));
        Decision::<(), ()>::Write(writes.collect(), ())
    };
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
    let count = |text| {
        let ask = homeroom_store::Ask::Part(Sql::new(text, vec![]));
        let decide = |found: Vec<Answer>| {
            let Some(Answer::Rows(rows)) = found.into_iter().next() else { panic!("no rows") };
            Decision::<i64, ()>::Write(vec![], rows[0][0].as_integer().unwrap())
        };
        store.run_blocking(Plan { ask: vec![ask], decide }).unwrap().value
    };
    let found = vec![
        count("SELECT count(*) FROM course_interaction"),
        count("SELECT count(*) FROM course_objective"),
        count("SELECT count(*) FROM course_carry"),
    ];
    store.close();
    found
}

#[test]
fn a_course_tells_what_its_learners_have_answered_until_they_are_erased() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        for name in ["ann", "bob", "cal"] {
            register(&mut lms, name);
        }
        assert_eq!(answers(&mut lms)["interactions"], json!([]));

        learn(&mut lms, "ann", &told("b", "correct"), false);
        learn(&mut lms, "bob", &told("c", "wrong"), true);
        let launch = learn(&mut lms, "cal", &told("c", "wrong"), false);
        let corrected = json!({ "sequence": 2, "cmi": {
            "cmi.interactions.0.student_response": "b", "cmi.interactions.0.result": "correct",
        }});
        assert_eq!(lms.commit(&launch, &corrected).status, 200);

        let found = answers(&mut lms);
        assert_eq!(counts(&found, "q1"), [3, 3, 2, 1], "{found}");
        assert_eq!(counts(&found, "q2"), [3, 3, 0, 0], "{found}");
        let first = &found["interactions"][0];
        assert_eq!((&first["type"], &first["activity"]), (&json!("choice"), &json!("lesson")));
        assert_eq!(
            first["responses"],
            json!([
                { "response": "b", "result": "correct", "count": 2 },
                { "response": "c", "result": "incorrect", "count": 1 },
            ])
        );
        assert_eq!(
            found["objectives"],
            json!([{ "activity": "lesson", "id": "books", "count": 3, "learners": 3, "passed": 3,
                "failed": 0, "completed": 3 }])
        );
        // The command tells the same.
        assert_eq!(place.json(&["course", "answers", "library", "--json"]), found);
        let printed = place.done(&["course", "answers", "library"]);
        assert!(printed.contains("q1  choice  answers 3, learners 3, correct 2"), "{printed}");

        // Another attempt is another answer, and an instance that is reset or deleted takes its own along.
        learn(&mut lms, "bob", &told("b", "correct"), false);
        assert_eq!(counts(&answers(&mut lms), "q1"), [4, 3, 3, 1]);
        assert_eq!(lms.send("POST", "/registrations/ann/instances", None).status, 204);
        learn(&mut lms, "ann", &told("d", "wrong"), false);
        assert_eq!(counts(&answers(&mut lms), "q1"), [5, 3, 3, 2]);
        assert_eq!(lms.send("DELETE", "/registrations/ann/instances/1", None).status, 204);
        assert_eq!(counts(&answers(&mut lms), "q1"), [4, 3, 3, 1]);
        assert_eq!(lms.send("DELETE", "/registrations/ann/progress", None).status, 204);
        assert_eq!(counts(&answers(&mut lms), "q1"), [3, 2, 2, 1]);
        let erased = lms.send("POST", "/learner/learner-bob/delete-information", None);
        assert_eq!(erased.status, 204, "{erased:?}");
        assert_eq!(counts(&answers(&mut lms), "q1"), [1, 1, 1, 0]);
        assert_eq!(lms.send("DELETE", "/registrations/cal", None).status, 204);
        assert_eq!(answers(&mut lms)["objectives"], json!([]));
        let unknown = lms.send("GET", "/courses/nobody/answers", None);
        assert_eq!(unknown.status, 404, "{unknown:?}");
        server.stop();
        assert_eq!(rows(place, &[]), [0, 0, 0]);
    });
}

#[test]
fn what_an_older_homeroom_has_saved_is_told_too() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        let anew =
            json!({ "settingId": "PlayerResetRunTimeData", "value": "when-exit-is-not-suspend" });
        let set = lms.post("/courses/library/configuration", &json!({ "settings": [anew] }));
        assert_eq!(set.status, 204, "{set:?}");
        for at in 0..3 {
            let name = format!("r-{at}");
            register(&mut lms, &name);
            learn(&mut lms, &name, &told("b", "correct"), at > 0);
        }
        // Two attempts that have ended are kept apart from those that followed.
        for name in ["r-1", "r-2"] {
            learn(&mut lms, name, &told("c", "wrong"), false);
        }
        let before = answers(&mut lms);
        assert_eq!([counts(&before, "q1"), counts(&before, "q2")], [[5, 3, 3, 2], [5, 3, 0, 0]]);
        server.stop();
        assert_eq!(rows(place, &AS_BEFORE), [0, 0, 2]);

        let server = Server::start(place);
        lms.client = server.client();
        // Somebody goes on before the older rows are there.
        let more = json!({ "cmi.interactions.1.result": "correct" });
        learn(&mut lms, "r-0", &more, false);
        let early = lms.send("GET", "/courses/library/answers", None);
        // Commands do what a sweep has not yet done, two of them at once.
        let command = || place.json(&["course", "answers", "library", "--json"]);
        let told = std::thread::scope(|scope| {
            let both = [scope.spawn(command), scope.spawn(command)];
            both.map(|one| one.join().unwrap())
        });
        let after = answers(&mut lms);

        assert_eq!((early.status, early.header("retry-after")), (503, Some("10")), "{early:?}");
        assert_eq!(told, [after.clone(), after.clone()]);
        assert_eq!(counts(&after, "q2"), [5, 3, 1, 0], "{after}");
        assert_eq!(after["interactions"][0], before["interactions"][0]);
        assert_eq!(after["objectives"], before["objectives"]);
        server.stop();
        assert_eq!(rows(place, &[]), [10, 5, 0]);
    });
}

#[test]
fn a_state_that_cannot_be_read_harms_no_other() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        for name in ["r-0", "r-1", "r-2"] {
            register(&mut lms, name);
            learn(&mut lms, name, &told("b", "correct"), false);
        }
        server.stop();
        assert_eq!(rows(place, &AS_BEFORE), [0, 0, 2]);
        rows(place, &["UPDATE course_activity SET state = '{' WHERE registration = 'r-0'"]);

        let server = Server::start_with(place, &[("HOMEROOM_COURSES__SESSION_SILENCE", "400ms")]);
        lms.client = server.client();

        for name in ["r-1", "r-2"] {
            eventually("the session ends", || {
                // The end changes the registration, but nobody has been there.
                let report = lms.get(&format!("/registrations/{name}"));
                report["updated"] != report["lastAccessDate"]
            });
        }
        eventually("there are rows", || {
            lms.send("GET", "/courses/library/answers", None).status == 200
        });
        assert_eq!(counts(&answers(&mut lms), "q1"), [2, 2, 2, 0]);
        let told = ["a silent session cannot be ended", "interactions get no rows"];
        eventually("both are logged", || told.iter().all(|told| server.log().contains(told)));
        server.stop();
        assert_eq!(rows(place, &[]), [4, 2, 0]);
        let ran = place.run(&["doctor", "--json"]);
        let wanted = "the state of activity lesson of registration r-0 cannot be read";
        assert!(ran.stdout.contains(wanted), "{ran:?}");
    });
}

#[test]
fn answers_come_in_pages_with_the_beginnings_of_long_responses() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        lms.import("other", &sample_package());
        register(&mut lms, "ann");
        let mut cmi = json!({ "cmi.objectives.0.id": "books" });
        for at in 0..200 {
            let response = "é".repeat(if at == 7 { 251 } else { 250 });
            cmi[format!("cmi.interactions.{at}.id")] = format!("q{at:03}").into();
            cmi[format!("cmi.interactions.{at}.type")] = "fill-in".into();
            cmi[format!("cmi.interactions.{at}.student_response")] = response.into();
        }
        learn(&mut lms, "ann", &cmi, false);

        let first = answers(&mut lms);
        let more = |page: &Value| page["more"].as_str().unwrap().to_owned();
        let mut next = |more: &str| lms.get(&format!("/courses/library/answers?more={more}"));
        let second = next(&more(&first));
        let third = next(&more(&second));

        let of = |page: &Value, name: &str| page[name].as_array().unwrap().clone();
        let pages = [&first, &second, &third];
        let sizes =
            pages.map(|page| (of(page, "interactions").len(), of(page, "objectives").len()));
        assert_eq!(sizes, [(100, 0), (100, 0), (0, 1)]);
        assert_eq!(third["more"], Value::Null);
        let all: Vec<_> = pages.iter().flat_map(|page| of(page, "interactions")).collect();
        for (at, one) in all.iter().enumerate() {
            let mut response = json!({ "response": "é".repeat(250), "result": null, "count": 1 });
            if at == 7 {
                response["isCut"] = true.into();
            }
            assert_eq!(one["id"], format!("q{at:03}"));
            assert_eq!(one["responses"], json!([response]));
        }
        let told = place.json(&["course", "answers", "library", "--json"]);
        assert_eq!(told["interactions"], Value::from(all));
        assert_eq!((&told["objectives"], &told["isCut"]), (&third["objectives"], &Value::Null));
        for path in [
            format!("/courses/other/answers?more={}", more(&first)),
            format!("/courses/library/answers?more={}x", more(&first)),
            format!("/courses?more={}", more(&first)),
        ] {
            assert_eq!(lms.send("GET", &path, None).status, 400, "{path}");
        }
        server.stop();
    });
}
