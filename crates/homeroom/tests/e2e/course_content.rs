//! Files of courses that were asked for before: the same bytes, and none once they are removed.

use std::fmt::Write as _;

use homeroom_course::packed;

use crate::support::{Client, Database, Learning, Place, Server};

const MANIFEST: &str = "<manifest><metadata><schemaversion>1.2</schemaversion></metadata>\
    <organizations><organization identifier='o'><title>T</title>\
    <item identifier='i' identifierref='r'/></organization></organizations>\
    <resources><resource identifier='r' href='index.html'/></resources></manifest>";

/// Returns a text of 600,000 letters, no two parts of which are the same.
fn film() -> String {
    let mut text = String::new();
    for number in 0..100_000 {
        write!(text, "{number:06}").unwrap();
    }
    text
}

/// Returns a connection to the content of a launch, and the path of its files.
fn content(lms: &mut Learning, launch: &str) -> (Client, String) {
    let origin = lms.boot(launch)["origins"]["content"].as_str().unwrap().to_owned();
    let client = Client::new(origin.strip_prefix("http://").unwrap().parse().unwrap());
    (client, format!("{launch}/content"))
}

/// Imports a course and returns the path of a launch of it.
fn launched(lms: &mut Learning, course: &str, film: &str) -> String {
    let files = [("imsmanifest.xml", MANIFEST), ("index.html", "the page"), ("film.txt", film)];
    assert_eq!(lms.import(course, &packed(&files))["status"], "COMPLETE");
    lms.register(course, course);
    lms.launch(course)
}

/// Replaces the page of a course.
fn replace(lms: &mut Learning, course: &str, page: &str) {
    let body = format!(
        "--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"index.html\"\r\n\r\n\
         {page}\r\n--b0\r\nContent-Disposition: form-data; name=\"destination\"\r\n\r\n\
         index.html\r\n--b0--\r\n"
    );
    let path = format!("/courses/{course}/asset/upload");
    let answer = lms.send_as("POST", &path, "multipart/form-data; boundary=b0", body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_range_is_the_same_whether_it_was_asked_for_before_or_not() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        let film = film();
        let launch = launched(&mut lms, "films", &film);
        let (mut client, files) = content(&mut lms, &launch);
        let path = format!("{files}/film.txt");
        for _ in 0..2 {
            for (range, wanted) in [
                ("0-0", 0..1),
                ("10-99999", 10..100_000),
                ("262140-262149", 262_140..262_150),
                ("262143-262144", 262_143..262_145),
                ("262144-524287", 262_144..524_288),
                ("200000-462143", 200_000..462_144),
                ("0-262144", 0..262_145),
                ("524288-", 524_288..600_000),
                ("-10", 599_990..600_000),
                ("100-599999", 100..600_000),
            ] {
                let stated = format!("bytes={range}");
                let answer = client.send("GET", &path, &[("range", &stated)], None).unwrap();

                let shown = format!("bytes {}-{}/600000", wanted.start, wanted.end - 1);
                assert_eq!(answer.status, 206, "{range}");
                assert_eq!(answer.header("content-range"), Some(shown.as_str()));
                assert!(answer.body == film.as_bytes()[wanted], "{range}: other bytes");
            }
            assert!(client.get(&path).body == film.as_bytes());
            assert_eq!(client.get(&format!("{files}/index.html")).text(), "the page");
        }
    });
}

/// Takes away the folders of blobs of a place.
fn lose_blobs(place: &Place) {
    let mut lost = 0;
    for folder in [place.path(""), place.data()] {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.display().to_string().ends_with("blobs") {
                std::fs::rename(&path, path.with_extension("lost")).unwrap();
                lost += 1;
            }
        }
    }
    assert_eq!(lost, 1, "one folder of blobs");
}

#[test]
fn what_was_asked_for_before_is_sent_from_memory() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        let launch = launched(&mut lms, "films", &film());
        let (mut client, files) = content(&mut lms, &launch);
        let (page, film) = (format!("{files}/index.html"), format!("{files}/film.txt"));
        let (known, unknown) = ([("range", "bytes=0-5")], [("range", "bytes=300000-300005")]);
        assert_eq!(client.get(&page).text(), "the page");
        assert_eq!(client.send("GET", &film, &known, None).unwrap().text(), "000000");

        lose_blobs(place);

        assert_eq!(client.get(&page).text(), "the page");
        assert_eq!(client.send("GET", &film, &known, None).unwrap().text(), "000000");
        assert_eq!(client.send("GET", &film, &unknown, None).unwrap().status, 500);
        server.stop();
    });
}

#[test]
fn a_link_that_has_ended_serves_nothing() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        launched(&mut lms, "films", "film");
        for (needs, method, end) in [
            ("", "DELETE", "/registrations/films/progress"),
            ("/registrations/films/instances", "DELETE", "/registrations/films/instances/1"),
            ("", "DELETE", "/registrations/films"),
            ("/registrations", "POST", "/learner/l-1/delete-information"),
        ] {
            if needs == "/registrations" {
                lms.register("films", "films");
            } else if !needs.is_empty() {
                assert_eq!(lms.send("POST", needs, None).status, 204);
            }
            let launch = lms.launch("films");
            let (mut client, files) = content(&mut lms, &launch);
            let page = format!("{files}/index.html");
            assert_eq!(client.get(&page).text(), "the page");

            assert_eq!(lms.send(method, end, None).status, 204, "{end}");

            assert_eq!(client.get(&page).status, 404, "{end}");
            assert_eq!(lms.client.get(&format!("{launch}/boot")).status, 404, "{end}");
        }
    });
}

#[test]
fn what_is_replaced_or_removed_is_gone_at_once_though_it_was_asked_for_before() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        gone_at_once(&mut lms, None);
    });
}

#[test]
fn what_one_node_has_removed_no_other_serves() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let (first, second) = (Server::start(&place), Server::start(&place));
        let mut lms = Learning::of(&place, &first);
        gone_at_once(&mut lms, Some(second.client()));
    }
}

/// Reads files, through another node if there is one, and changes them.
fn gone_at_once(lms: &mut Learning, other: Option<Client>) {
    let launch = launched(lms, "films", &film());
    let (mut client, files) = match other {
        None => content(lms, &launch),
        Some(other) => {
            let own = std::mem::replace(&mut lms.client, other);
            let found = content(lms, &launch);
            lms.client = own;
            found
        }
    };
    let (page, film) = (format!("{files}/index.html"), format!("{files}/film.txt"));
    let part = [("range", "bytes=0-5")];
    let before = client.get(&page);
    assert_eq!(before.text(), "the page");
    assert_eq!(client.send("GET", &film, &part, None).unwrap().text(), "000000");

    replace(lms, "films", "another");
    let replaced = client.get(&page);
    let asset = "/courses/films/asset?relativePath=film.txt";
    let removed = lms.send("DELETE", asset, None).status;
    let no_film = client.send("GET", &film, &part, None).unwrap().status;
    let course = lms.send("DELETE", "/courses/films", None).status;

    assert_eq!(replaced.text(), "another");
    assert_ne!(replaced.header("etag"), before.header("etag"));
    assert_eq!((removed, no_film), (204, 404));
    assert_eq!((course, client.get(&page).status), (204, 404));
    let known = [("if-none-match", before.header("etag").unwrap())];
    assert_eq!(client.send("GET", &page, &known, None).unwrap().status, 404);
}
