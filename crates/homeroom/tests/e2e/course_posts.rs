//! Results that are posted: postbacks, subscriptions, the ends of imports; retries and signatures.

use std::process::Command;

use homeroom_course::sample_package;
use serde_json::{Value, json};

use crate::support::{Learning, Place, Received, Receiver, Server, eventually};

const PRIVATE: [(&str, &str); 1] = [("HOMEROOM_COURSES__PRIVATE_ADDRESSES", "true")];

/// Returns a field of a form.
fn field(body: &str, name: &str) -> String {
    let value = body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let mut bytes = vec![];
    let mut rest = value.unwrap_or_default().bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| char::from(byte.unwrap()).to_digit(16).unwrap();
        let is_escape = byte == b'%';
        let decoded = if is_escape {
            let high = hex(rest.next());
            u8::try_from(high * 16 + hex(rest.next())).unwrap()
        } else {
            byte
        };
        bytes.push(decoded);
    }
    String::from_utf8(bytes).unwrap()
}

fn registration(id: &str, post_back: &Value) -> Value {
    json!({
        "courseId": "library", "registrationId": id,
        "learner": { "id": "l-1", "firstName": "Ann", "lastName": "Lee" },
        "postBack": post_back,
    })
}

fn complete(lms: &mut Learning, registration: &str) {
    let launch = lms.launch(registration);
    let passed = json!({ "sequence": 1, "exit": true, "final": true, "cmi": {
        "cmi.core.score.raw": "87", "cmi.core.lesson_status": "passed",
        "cmi.core.session_time": "00:01:00",
    }});
    assert_eq!(lms.commit(&launch, &passed).status, 200);
}

/// Checks a signature with the server's secret, by a program that is not the server's.
fn is_signed(received: &Received, secret: &str) -> bool {
    let (id, second) = (received.header("webhook-id"), received.header("webhook-timestamp"));
    let script = "import base64,hashlib,hmac,sys\n\
        key = base64.b64decode(sys.argv[1].removeprefix('whsec_'))\n\
        code = hmac.new(key, sys.argv[2].encode(), hashlib.sha256).digest()\n\
        print('v1,' + base64.b64encode(code).decode())";
    let signed = format!("{id}.{second}.{}", received.body);
    let ran = Command::new("python3").args(["-c", script, secret, &signed]).output();
    let Ok(ran) = ran else {
        println!("skipped: there is no python3 to check a signature with");
        return !received.header("webhook-signature").is_empty();
    };
    String::from_utf8(ran.stdout).unwrap().trim() == received.header("webhook-signature")
}

#[test]
fn a_result_is_posted_as_the_registration_asks_until_it_is_taken() {
    Place::on_each_store(|place| {
        let server = Server::start_with(place, &PRIVATE);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        let secret = lms.get("/appManagement/signingSecret")["result"].as_str().unwrap().to_owned();
        let busy = Receiver::start(&[500, 404], b"");
        let asked = json!({
            "url": busy.url("/results?x=1"), "authType": "HTTPBASIC", "userName": "lms",
            "password": "s3cret-word", "resultsFormat": "FULL",
        });
        assert_eq!(lms.post("/registrations", &registration("r-1", &asked)).status, 204);

        complete(&mut lms, "r-1");

        let taken = busy.nth(3);
        assert_eq!(taken.line, "POST /results?x=1");
        assert_eq!(taken.header("content-type"), "application/json; charset=UTF-8");
        assert_eq!(taken.header("authorization"), "Basic bG1zOnMzY3JldC13b3Jk");
        let body: Value = serde_json::from_str(&taken.body).unwrap();
        assert_eq!(body["id"], "r-1", "{body}");
        assert_eq!(body["registrationSuccess"], "PASSED");
        assert_eq!(body["score"]["scaled"], 87.0);
        assert_eq!(body["learner"]["firstName"], "Ann");
        let lesson = &body["activityDetails"]["children"][0];
        assert_eq!(lesson["runtime"]["scoreRaw"], "87", "{body}");
        let ids: Vec<_> =
            busy.all().iter().map(|one| one.header("webhook-id").to_owned()).collect();
        assert!(!ids[0].is_empty() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert!(is_signed(&taken, &secret), "{taken:?}");

        // Without more, it is a form with a short result.
        let short = Receiver::start(&[], b"");
        let asked = json!({ "url": short.url("/"), "userName": "a b", "password": "p&q" });
        assert_eq!(lms.post("/registrations", &registration("r-2", &asked)).status, 204);
        complete(&mut lms, "r-2");
        let taken = short.nth(1);
        let media = "application/x-www-form-urlencoded; charset=UTF-8";
        assert_eq!(taken.header("content-type"), media);
        assert_eq!(taken.header("authorization"), "");
        assert_eq!(field(&taken.body, "username"), "a b");
        assert_eq!(field(&taken.body, "password"), "p&q");
        let body: Value = serde_json::from_str(&field(&taken.body, "data")).unwrap();
        assert_eq!(body["registrationCompletion"], "COMPLETED", "{body}");
        assert!(body.get("activityDetails").is_none(), "{body}");
        assert!(is_signed(&taken, &secret), "{taken:?}");

        // A completion is not withdrawn when the course is begun again.
        let launch = lms.launch("r-2");
        let again = json!({ "sequence": 1, "final": true, "suspended": "lesson",
            "cmi": { "cmi.core.lesson_status": "incomplete" } });
        assert_eq!(lms.commit(&launch, &again).status, 200);
        let body: Value = serde_json::from_str(&field(&short.nth(2).body, "data")).unwrap();
        assert_eq!(body["registrationCompletion"], "COMPLETED", "{body}");
        assert_eq!(body["registrationSuccess"], "PASSED");

        // Secrets are shown nowhere.
        let shown = lms.get("/registrations/r-1/configuration").to_string();
        let jobs = place.done(&["jobs", "list", "--json"]);
        for text in [shown.as_str(), &jobs, &server.log()] {
            assert!(!text.contains("s3cret-word"), "{text}");
        }
        assert!(shown.contains("********"), "{shown}");
        assert!(jobs.contains("course-post"), "{jobs}");
    });
}

#[test]
fn the_course_the_standard_and_the_application_say_where_results_are_posted() {
    let place = Place::new();
    let server = Server::start_with(&place, &PRIVATE);
    let mut lms = Learning::of(&place, &server);
    lms.import("library", &sample_package());
    let all = Receiver::start(&[], b"");
    let url = |path: &str| {
        let pair =
            json!({ "settingId": "ApiRollupRegistrationPostBackUrl", "value": all.url(path) });
        json!({ "settings": [pair] })
    };
    for (path, place, registration) in [
        ("/appManagement/configuration", "/application", "r-1"),
        ("/appManagement/configuration?learningStandard=SCORM12", "/standard", "r-2"),
        ("/appManagement/configuration?learningStandard=SCORM12&singleSco=true", "/single", "r-3"),
        ("/courses/library/configuration", "/course", "r-4"),
        ("/courses/library/versions/0/configuration", "/version", "r-5"),
        ("/registrations/r-6/configuration", "/registration", "r-6"),
    ] {
        lms.register(registration, "library");
        assert_eq!(lms.post(path, &url(place)).status, 204, "{path}");
        let sent = all.all().len();

        complete(&mut lms, registration);

        assert_eq!(all.nth(sent + 1).line, format!("POST {place}"));
    }
}

#[test]
fn subscribers_are_told_of_the_changes_that_they_want() {
    Place::on_each_store(|place| {
        let server = Server::start_with(place, &PRIVATE);
        let mut lms = Learning::of(place, &server);
        let everything = Receiver::start(&[], b"");
        let scores = Receiver::start(&[], b"");
        let imports = Receiver::start(&[], b"");
        let path = "/appManagement/subscriptions";
        let mut ids = vec![];
        for definition in [
            json!({ "topic": "RegistrationChanged", "enabled": true, "url": everything.url("/all") }),
            json!({ "topic": "RegistrationChanged", "subtopics": ["ScoreChanged"],
                "url": scores.url("/scores"), "userName": "u", "password": "hidden-word",
                "bodyFormat": "Full", "secret": "whsec_c2VjcmV0" }),
            json!({ "topic": "CourseImport", "subtopics": ["Success"], "url": imports.url("/i") }),
        ] {
            let answer = lms.post(path, &definition);
            assert_eq!(answer.status, 200, "{answer:?}");
            ids.push(answer.json()["result"].as_str().unwrap().to_owned());
        }
        lms.import("broken", b"PK\x03\x04");
        lms.import("library", &sample_package());
        lms.register("r-1", "library");
        let launch = lms.launch("r-1");
        let begun = json!({ "sequence": 1, "cmi": { "cmi.core.lesson_status": "incomplete" } });
        assert_eq!(lms.commit(&launch, &begun).status, 200);
        let told: Value = serde_json::from_str(&everything.nth(1).body).unwrap();
        assert_eq!(told["subtopics"], json!(["CompletionChanged"]), "{told}");

        let passed = json!({ "sequence": 2, "final": true, "exit": true, "cmi": {
            "cmi.core.score.raw": "90", "cmi.core.lesson_status": "passed" }});
        assert_eq!(lms.commit(&launch, &passed).status, 200);

        let told: Value = serde_json::from_str(&everything.nth(2).body).unwrap();
        assert_eq!(told["topic"], "RegistrationChanged");
        let all = ["CompletionChanged", "SuccessChanged", "ScoreChanged", "SessionEnded"];
        assert_eq!(told["subtopics"], json!(all), "{told}");
        assert_eq!(told["body"]["registrationSuccess"], "PASSED");
        let score = scores.nth(1);
        assert_eq!(score.header("authorization"), "Basic dTpoaWRkZW4td29yZA==");
        assert!(is_signed(&score, "whsec_c2VjcmV0"), "{score:?}");
        assert_eq!(scores.all().len(), 1);
        let import: Value = serde_json::from_str(&imports.nth(1).body).unwrap();
        assert_eq!(import["body"]["importResult"]["course"]["id"], "library", "{import}");
        assert_eq!(imports.all().len(), 1);

        let listed = lms.get(path);
        assert_eq!(listed["subscriptions"].as_array().unwrap().len(), 3);
        assert!(!listed.to_string().contains("hidden-word"), "{listed}");
        let own = format!("{path}/{}", ids[1]);
        let mut changed = lms.get(&own)["definition"].clone();
        changed["enabled"] = false.into();
        assert_eq!(lms.send("PUT", &own, Some(&changed)).status, 204);
        assert_eq!(lms.get(&own)["definition"]["enabled"], false);
        assert_eq!(lms.send("DELETE", &own, None).status, 204);
        assert_eq!(lms.send("GET", &own, None).status, 404);
        for (wrong, status) in [
            (json!({ "topic": "Weather", "url": "https://a/" }), 400),
            (json!({ "topic": "CourseImport", "url": "ftp://a/" }), 400),
            (json!({ "topic": "CourseImport", "subtopics": ["Rain"], "url": "https://a/" }), 400),
            (json!({ "topic": "CourseImport", "url": "https://a/", "authId": "x" }), 501),
        ] {
            assert_eq!(lms.post(path, &wrong).status, status, "{wrong}");
        }
    });
}

#[test]
fn what_can_never_be_sent_is_a_dead_job_that_can_be_sent_again() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    lms.import("library", &sample_package());
    let inside = Receiver::start(&[], b"");
    let asked = json!({ "url": inside.url("/secret-path") });
    assert_eq!(lms.post("/registrations", &registration("r-1", &asked)).status, 204);

    complete(&mut lms, "r-1");

    let mut dead = Value::Null;
    eventually("the job is dead", || {
        let arguments = ["jobs", "list", "--kind", "course-post", "--state", "dead", "--json"];
        dead = place.json(&arguments);
        !dead.as_array().unwrap().is_empty()
    });
    let error = dead[0]["error"].as_str().unwrap();
    assert!(error.contains("courses.private_addresses"), "{error}");
    assert!(!error.contains("secret-path"), "{error}");
    drop(server);
    let server = Server::start_with(&place, &PRIVATE);
    let id = dead[0]["id"].as_str().unwrap();
    place.done(&["jobs", "retry", id]);
    assert_eq!(inside.nth(1).line, "POST /secret-path");
    drop(server);
}

#[test]
fn a_receiver_is_tried_out_with_an_example() {
    let place = Place::new();
    let server = Server::start_with(&place, &PRIVATE);
    let mut lms = Learning::of(&place, &server);
    let receiver = Receiver::start(&[200, 503], b"");
    let asked =
        json!({ "url": receiver.url("/"), "authType": "HTTPBASIC", "resultsFormat": "FULL" });

    assert_eq!(lms.post("/registrations/postBackTest", &asked).status, 204);
    let refused = lms.post("/registrations/postBackTest", &asked);

    let body: Value = serde_json::from_str(&receiver.nth(1).body).unwrap();
    assert_eq!(body["registrationSuccess"], "PASSED", "{body}");
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.json()["message"].as_str().unwrap().contains("503"), "{refused:?}");
    for (wrong, status) in [
        (json!({}), 400),
        (json!({ "url": "nowhere" }), 400),
        (json!({ "url": receiver.url("/"), "authType": "DIGEST" }), 400),
        (json!({ "url": receiver.url("/"), "legacy": true }), 501),
    ] {
        let answer = lms.post("/registrations/postBackTest", &wrong);
        assert_eq!(answer.status, status, "{wrong}: {answer:?}");
        if wrong.get("url").is_some() {
            let answer = lms.post("/registrations", &registration("r-1", &wrong));
            assert_eq!(answer.status, status, "{wrong}: {answer:?}");
        }
    }
}

#[test]
fn a_package_is_fetched_by_its_url_and_its_end_is_told() {
    let place = Place::new();
    let files = Receiver::start(&[], &sample_package());
    let told = Receiver::start(&[], b"");
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    let ended = |lms: &mut Learning, answer: Value| {
        let job = answer["result"].as_str().unwrap().to_owned();
        let mut ended = Value::Null;
        eventually("the import ends", || {
            ended = lms.get(&format!("/courses/importJobs/{job}"));
            ended["status"] != "RUNNING"
        });
        ended
    };
    let path = "/courses/importJobs?courseId=fetched&mayCreateNewVersion=true";
    let asked = json!({ "url": files.url("/library.zip?token=x") });
    let refused = lms.post(path, &asked).json();
    let refused = ended(&mut lms, refused);
    assert_eq!(refused["status"], "ERROR", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("courses.private_addresses"), "{message}");
    drop(server);

    let server = Server::start_with(&place, &PRIVATE);
    lms.client = server.client();
    let telling = format!("{path}&postbackUrl={}", told.url("/end"));
    let answer = lms.post(&telling, &asked).json();
    let done = ended(&mut lms, answer);
    assert_eq!(done["status"], "COMPLETE", "{done}");
    let taken = told.nth(1);
    assert_eq!(taken.line, "POST /end");
    let body: Value = serde_json::from_str(&taken.body).unwrap();
    assert_eq!((&body["status"], &body["jobId"]), (&json!("COMPLETE"), &done["jobId"]), "{body}");
    assert_eq!(lms.post(&format!("{path}&postbackUrl=x"), &asked).status, 400);

    // An asset is fetched, too.
    let asset = json!({ "fetchUrl": files.url("/a/extra%20file.txt"), "destination": "more" });
    let answer = lms.post("/courses/fetched/asset", &asset);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), json!({ "filename": "extra file.txt", "destination": "more" }));
    let listed = lms.get("/courses/fetched/asset/list").to_string();
    assert!(listed.contains("more/extra file.txt"), "{listed}");
    let again = lms.post("/courses/fetched/asset?updateAssetPolicy=reject", &asset);
    assert_eq!(again.status, 409, "{again:?}");
    let broken = json!({ "fetchUrl": "http://127.0.0.1:1/x", "destination": "" });
    assert_eq!(lms.post("/courses/fetched/asset", &broken).status, 400);
}
