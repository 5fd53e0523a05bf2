//! Tests from the first start in an empty folder to the drain.

use std::process::Command;

use serde_json::json;

use crate::support::{Place, Ran, STUDENTS, Server, Wire, eventually, student};

#[test]
fn a_server_in_an_empty_folder_starts_with_the_standards_school_years() {
    let place = Place::new();

    let server = Server::start(&place);

    let mut client = server.client_of(&place.key("FullAccess"));
    let years = client.get("/data/v3/ed-fi/schoolYearTypes?limit=500");
    assert_eq!(years.status, 200, "{years:?}");
    assert!(years.json().as_array().unwrap().len() > 50);
    let created = client.post(STUDENTS, &student("1", "Ada"));
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(client.get(&created.location()).json()["firstName"], "Ada");
}

#[test]
fn probes_and_version_are_served_on_both_listeners_and_metrics_on_one() {
    let place = Place::new();
    let server = Server::start(&place);

    for mut client in [server.client(), server.admin_client()] {
        for (path, member) in [("/livez", "live"), ("/readyz", "ready"), ("/startupz", "started")] {
            let answer = client.get(path);
            assert_eq!((answer.status, &answer.json()[member]), (200, &json!(true)), "{path}");
        }
        assert_eq!(client.get("/version").json()["name"], "homeroom");
        let health = client.get("/health");
        assert_eq!((health.status, &health.json()["status"]), (200, &json!("Healthy")));
        let parts = health.json()["results"].as_array().unwrap().clone();
        assert!(
            parts.len() > 1 && parts.iter().all(|part| part["status"] == "Healthy"),
            "{parts:?}"
        );
    }

    server.client().get("/data/v3/ed-fi/students");
    let metrics = server.admin_client().get("/metrics");
    assert_eq!(metrics.status, 200);
    let counted = metrics.text().lines().any(|line| {
        line.starts_with("http_server_request_duration_seconds_count")
            && line.contains("http_route=\"/data/v3/{schema}/{endpoint}\"")
            && line.contains("http_response_status_code=\"401\"")
    });
    assert!(counted, "{}", metrics.text());
    assert_eq!(server.client().get("/metrics").status, 404);
    assert_eq!(server.admin_client().get(STUDENTS).status, 404);
}

#[test]
fn metrics_have_the_form_that_the_scraper_accepts_and_the_state_of_store_and_process() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut client = server.client_of(&place.key("FullAccess"));
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    let scrape = |accept: &str| {
        let headers = [("accept", accept)];
        server.admin_client().send("GET", "/metrics", &headers, None).unwrap()
    };

    let (older, newer) = (scrape("*/*"), scrape("application/openmetrics-text; version=1.0.0"));

    assert!(older.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    assert!(newer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let (older, newer) = (older.text(), newer.text());
    assert!(newer.ends_with("\n# EOF\n") && newer.matches("# EOF").count() == 1, "{newer}");
    assert!(!older.contains("# EOF"), "{older}");
    assert!(older.contains("\n# TYPE homeroom_store_commits_total counter\n"), "{older}");
    assert!(newer.contains("\n# TYPE homeroom_store_commits counter\n"), "{newer}");
    for text in [older, newer] {
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        assert!(value("homeroom_store_up") > 0.0);
        for name in [
            "homeroom_store_bytes",
            "homeroom_store_free_bytes",
            "homeroom_store_commits_total",
            "homeroom_store_sync_seconds_total",
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_start_time_seconds",
        ] {
            assert!(value(name) > 0.0, "{name}");
        }
    }
}

#[test]
fn a_server_that_is_told_to_read_its_configuration_again_goes_on() {
    let place = Place::new();
    let server = Server::start(&place);
    let pid = server.id().to_string();

    let told = Command::new("sh").args(["-c", "kill -HUP \"$0\"", &pid]).status().unwrap();

    assert!(told.success());
    eventually("it says so", || server.log().contains("SIGHUP has no effect"));
    assert_eq!(server.client().get("/readyz").status, 200);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn more_clients_can_stay_connected_than_files_may_be_open_at_first() {
    let place = Place::new();
    let serve =
        place.command(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    let mut limited = Command::new("prlimit");
    limited.arg("--nofile=256:4096").arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let server = Server::of(limited.current_dir(serve.get_current_dir().unwrap()));

    let mut clients: Vec<_> = (0..400).map(|_| server.client()).collect();

    assert!(clients.iter_mut().all(|client| client.get("/livez").status == 200));
    assert!(clients.iter_mut().all(|client| client.get("/livez").status == 200));
}

#[test]
fn a_stopping_server_ends_a_load_and_reports_it() {
    const STUDENTS_IN_ALL: usize = 100_000;
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let students = (0..STUDENTS_IN_ALL).map(|id| student(&id.to_string(), "Ada"));
    let lines: Vec<String> = students.map(|student| student.to_string()).collect();
    place.write("students.jsonl", lines.join("\n"));

    let loading = place.command(&["load", "students.jsonl"]);
    let load = std::thread::scope(|scope| {
        let loading = scope.spawn(move || Ran::of(&mut { loading }));
        eventually("something is loaded", || client.get(STUDENTS).json() != json!([]));
        server.tell_to_stop();
        loading.join().unwrap()
    });
    let ended = server.ended();

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(load.code, Some(1), "{load:?}");
    assert!(load.stderr.contains("the load was stopped"), "{load:?}");
    let again = Server::start(&place);
    let counted = again.client_of(&key).get(&format!("{STUDENTS}?limit=1&totalCount=true"));
    let count: usize = counted.header("total-count").unwrap().parse().unwrap();
    assert!(0 < count && count < STUDENTS_IN_ALL, "{count}");
}

#[test]
fn a_server_told_to_stop_finishes_what_it_has_begun() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let client = server.client_of(&key);
    let body = student("1", "Slow").to_string();
    let (begin, end) = body.split_at(20);
    let json = [("content-type", "application/json")];
    let mut idle = server.wire();
    idle.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(idle.answer().status, 200);
    let mut slow = server.wire();
    slow.send(client.head("POST", STUDENTS, &json, Some(body.len())));
    slow.send(begin);
    eventually("the request is in flight", || in_flight(&server) == 1);

    server.tell_to_stop();

    eventually("new connections are refused", || Wire::try_open(server.api).is_err());
    assert_eq!(idle.rest(), b"", "an idle connection is closed");
    let ready = server.admin_client().get("/readyz");
    assert_eq!(
        (ready.status, ready.json()),
        (503, json!({"ready": false, "server": "It is stopping."}))
    );
    assert_eq!(server.admin_client().get("/livez").status, 200);
    slow.send(end);
    let answer = slow.answer();
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(slow.rest(), b"");
    let ended = server.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let server = Server::start(&place);
    let found = server.client_of(&key).get(&answer.location());
    assert_eq!(found.json()["firstName"], "Slow");
}

#[test]
fn a_request_that_never_ends_does_not_keep_a_server_from_stopping() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__DRAIN", "300ms")]);
    let client = server.client_of(&key);
    let mut stuck = server.wire();
    stuck.send(client.head("POST", STUDENTS, &[("content-type", "application/json")], Some(100)));
    eventually("the request is in flight", || in_flight(&server) == 1);

    let ended = server.stop();

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("still open after the drain time"), "{ended:?}");
    assert_eq!(stuck.rest(), b"");
}

#[test]
fn a_server_stops_without_waiting_for_connections_that_are_idle() {
    let place = Place::new();
    let server = Server::start(&place);
    let idle: Vec<Wire> = (0..20).map(|_| server.wire()).collect();

    let ended = server.stop();

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("still open after the drain time"), "{ended:?}");
    drop(idle);
    assert!(!place.data().join("control.sock").exists());
}

/// Returns the number of API requests in progress, as the admin listener reports it.
fn in_flight(server: &Server) -> i64 {
    let metrics = server.admin_client().get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("http_server_active_requests "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}
