//! What a publisher does: versions and roll-back, single files, media, and what becomes of bytes that
//! nothing needs any more.

use homeroom_course::{packed, sample_package};
use homeroom_store::{Options, Sql, Store, StoreUrl};
use serde_json::{Value, json};

use crate::support::{API, Client, Learning, Place, Receiver, Server};

const PRIVATE: [(&str, &str); 1] = [("HOMEROOM_COURSES__PRIVATE_ADDRESSES", "true")];

/// Returns the kinds of the blobs of a store that no server uses.
fn blobs(url: &str) -> Vec<String> {
    let store = Store::open(&Options::new(url.parse::<StoreUrl>().unwrap())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ask =
        Sql::new("SELECT owner_kind FROM blob WHERE removed IS NULL ORDER BY owner_kind", vec![]);
    let rows = runtime.block_on(store.query(ask)).unwrap();
    store.close();
    rows.iter().map(|row| row[0].as_text().unwrap().to_owned()).collect()
}

fn version_of(lms: &mut Learning, registration: &str) -> Value {
    lms.get(&format!("/registrations/{registration}"))["course"]["version"].clone()
}

#[test]
fn an_earlier_version_becomes_the_current_one_and_no_number_is_given_twice() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        for _ in 0..2 {
            assert_eq!(lms.import("library", &sample_package())["status"], "COMPLETE");
        }
        lms.register("r-1", "library");
        assert_eq!(version_of(&mut lms, "r-1"), 1);
        let refused = lms.send("DELETE", "/courses/library/versions/1", None);
        assert_eq!(refused.status, 409, "{refused:?}");
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("currentVersion"), "{message}");

        let back =
            lms.send("PUT", "/courses/library/currentVersion", Some(&json!({ "version": 0 })));

        assert_eq!(back.status, 204, "{back:?}");
        assert_eq!(lms.get("/courses/library")["version"], 0);
        lms.register("r-2", "library");
        assert_eq!(version_of(&mut lms, "r-2"), 0);
        assert_eq!(version_of(&mut lms, "r-1"), 1, "what was begun goes on");
        let versions = lms.get("/courses/library/versions");
        let shown = versions["courses"].as_array().unwrap().iter();
        let shown: Vec<_> = shown.map(|one| (&one["version"], &one["current"])).collect();
        assert_eq!(shown, [(&json!(0), &json!(true)), (&json!(1), &json!(false))]);

        // A new version becomes the current one, and is the third.
        let third = lms.import("library", &sample_package());
        assert_eq!(third["importResult"]["course"]["version"], 2, "{third}");
        assert_eq!(lms.send("DELETE", "/courses/library/versions/2", None).status, 204);
        assert_eq!(lms.get("/courses/library")["version"], 1, "the latest that is left");
        let fourth = lms.import("library", &sample_package());
        assert_eq!(fourth["importResult"]["course"]["version"], 3, "{fourth}");
        assert_eq!(lms.send("DELETE", "/courses/library/versions/0", None).status, 409);
        for (path, version, wanted) in [
            ("/courses/library/currentVersion", json!(2), "no version 2 of course library"),
            ("/courses/nowhere/currentVersion", json!(0), "no course nowhere"),
        ] {
            let refused = lms.send("PUT", path, Some(&json!({ "version": version })));
            assert_eq!(refused.status, 404, "{refused:?}");
            let message = refused.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(wanted), "{message}");
        }
        let gone = lms.send("GET", "/courses/library/versions/2", None);
        let message = gone.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("version 2 of course library"), "{message}");
    });
}

fn upload(lms: &mut Learning, query: &str, parts: &[(&str, &str, &str)]) -> crate::support::Answer {
    let part = |(name, file, content): &(&str, &str, &str)| {
        let file = if file.is_empty() { String::new() } else { format!("; filename=\"{file}\"") };
        format!(
            "--b0\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{content}\r\n"
        )
    };
    let body = parts.iter().map(part).collect::<String>() + "--b0--\r\n";
    lms.send_as("POST", query, "multipart/form-data; boundary=b0", body.as_bytes())
}

#[test]
fn a_file_goes_where_its_destination_says() {
    Place::on_each_store(|place| {
        let url = &place.store_url();
        let server = Server::start_with(place, &PRIVATE);
        let mut lms = Learning::of(place, &server);
        lms.import("library", &sample_package());
        let before = {
            lms.register("r-1", "library");
            lms.launch("r-1")
        };
        let zip = lms.send("GET", "/courses/library/zip", None);
        assert_eq!(zip.body, sample_package(), "as it was handed in");
        let path = "/courses/library/asset/upload";
        for (destination, stored) in [
            ("/Etiquette/Course.html", "Etiquette/Course.html"),
            ("Etiquette", "Etiquette/local.txt"),
            ("/new.folder/", "new.folder/local.txt"),
            ("new.folder", "new.folder/local.txt"),
            ("", "local.txt"),
        ] {
            let parts = [("file", "local.txt", "hello"), ("destination", "", destination)];
            let answer = upload(&mut lms, path, &parts);
            assert_eq!(answer.status, 200, "{destination}: {answer:?}");
            let place = answer.json();
            let folder = place["destination"].as_str().unwrap();
            let path = format!("{folder}/{}", place["filename"].as_str().unwrap());
            assert_eq!(path.trim_start_matches('/'), stored, "{destination}");
            let read =
                lms.send("GET", &format!("/courses/library/asset?relativePath={stored}"), None);
            assert_eq!((read.status, read.text().as_str()), (200, "hello"), "{destination}");
        }
        let out = upload(&mut lms, path, &[("file", "a", "x"), ("destination", "", "../a.html")]);
        assert_eq!(out.status, 400, "{out:?}");
        let source = Receiver::start(&[], b"fetched");
        let fetch =
            json!({ "fetchUrl": source.url("/page.html?x"), "destination": "sub/other.html" });
        let answer = lms.post("/courses/library/asset", &fetch);
        assert_eq!(answer.json()["filename"], "other.html", "{answer:?}");

        // What is replaced or removed leaves nothing, what is refused neither; a package's file shares.
        let refused = upload(
            &mut lms,
            &format!("{path}?updateAssetPolicy=reject"),
            &[("file", "a", "y"), ("destination", "", "local.txt")],
        );
        assert_eq!(refused.status, 409, "{refused:?}");
        let index =
            upload(&mut lms, path, &[("file", "a", "<p>new"), ("destination", "", "index.html")]);
        assert_eq!(index.status, 200, "{index:?}");
        for removed in ["sub/other.html", "new.folder/local.txt", "Etiquette/local.txt"] {
            let path = format!("/courses/library/asset?relativePath={removed}");
            assert_eq!(lms.send("DELETE", &path, None).status, 204, "{removed}");
            assert_eq!(lms.send("DELETE", &path, None).status, 404, "{removed}");
        }
        let origin = lms.boot(&before)["origins"]["content"].as_str().unwrap().to_owned();
        let mut content = Client::new(origin.strip_prefix("http://").unwrap().parse().unwrap());
        assert_eq!(content.get(&format!("{before}/content/index.html")).text(), "<p>new");
        assert_eq!(content.get(&format!("{before}/content/imsmanifest.xml")).status, 200);

        // The package has what the course has now.
        let packed = |lms: &mut Learning| lms.send("GET", "/courses/library/zip", None);
        let zip = packed(&mut lms);
        assert_eq!(zip.status, 200, "{zip:?}");
        assert_eq!(lms.import("copy", &zip.body)["status"], "COMPLETE");
        let read = |lms: &mut Learning, path: &str| {
            let answer = lms.send("GET", &format!("/courses/copy/asset?relativePath={path}"), None);
            (answer.status, answer.text())
        };
        assert_eq!(read(&mut lms, "index.html"), (200, "<p>new".into()));
        assert_eq!(read(&mut lms, "Etiquette/Course.html"), (200, "hello".into()));
        assert_eq!(read(&mut lms, "lesson.css").0, 200);
        assert_eq!(read(&mut lms, "sub/other.html").0, 404);
        assert_eq!(packed(&mut lms).body, zip.body, "it is packed once");
        assert_eq!(
            lms.send("DELETE", "/courses/library/asset?relativePath=lesson.css", None).status,
            204
        );
        assert_ne!(packed(&mut lms).body, zip.body);
        assert_eq!(lms.send("DELETE", "/courses/copy", None).status, 204);
        assert_eq!(server.stop().code, Some(0));
        let kinds =
            ["course-asset", "course-asset", "course-asset", "course-content", "course-package"];
        assert_eq!(blobs(url), kinds, "index.html, local.txt and Etiquette/Course.html");
    });
}

#[test]
fn an_import_that_fails_leaves_no_blob() {
    Place::on_each_store(|place| {
        let url = &place.store_url();
        let settings = [PRIVATE[0], ("HOMEROOM_JOBS__QUEUED_OF_OWNER_MAX", "1")];
        let server = Server::start_with(place, &settings);
        let mut lms = Learning::of(place, &server);
        let bad = Receiver::start(&[], b"no package");
        let good = packed(&[("imsmanifest.xml", "<manifest")]);
        assert_eq!(lms.import("broken", &good)["status"], "ERROR");
        for _ in 0..2 {
            let asked = json!({ "url": bad.url("/a.zip") });
            let answer = lms.post("/courses/importJobs?courseId=broken", &asked);
            let ended = lms.ended(answer.json()["result"].as_str().unwrap());
            assert_eq!(ended["status"], "ERROR", "{ended}");
        }
        assert_eq!(server.stop().code, Some(0));
        assert_eq!(blobs(url), [""; 0]);

        // A package that is fetched is kept with the version that is made of it; one that cannot be
        // queued is not.
        let package = Receiver::start(&[], &sample_package());
        let server = Server::start_with(place, &PRIVATE);
        lms.client = server.client();
        let asked = json!({ "url": package.url("/a.zip") });
        let answer = lms.post("/courses/importJobs?courseId=fetched", &asked);
        let ended = lms.ended(answer.json()["result"].as_str().unwrap());
        assert_eq!(ended["status"], "COMPLETE", "{ended}");
        let zip = lms.send("GET", "/courses/fetched/zip", None);
        assert_eq!(zip.status, 200, "{zip:?}");
        assert_eq!(server.stop().code, Some(0));
        let full =
            [("HOMEROOM_JOBS__RUNNING_MAX", "0"), ("HOMEROOM_JOBS__QUEUED_OF_OWNER_MAX", "1")];
        let server = Server::start_with(place, &full);
        lms.client = server.client();
        assert_eq!(lms.upload("first", &sample_package()).status, 200);
        assert_eq!(lms.upload("second", &sample_package()).status, 503);
        assert_eq!(server.stop().code, Some(0));
        assert_eq!(blobs(url), ["course-content", "course-package", "course-package"]);
    });
}

#[test]
fn a_medium_has_the_metadata_that_is_sent_with_it() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);
    let metadata = json!({
        "title": "My PDF", "description": "About it", "contentLanguage": "es",
        "estimatedDuration": "PT10M",
    });
    let path = "/courses/importJobs/upload?courseId=m";
    let parts =
        [("contentMetadata", "", metadata.to_string()), ("file", "m.pdf", "%PDF-1.7 x".into())];
    let parts = parts.each_ref().map(|(name, file, text)| (*name, *file, text.as_str()));

    let answer = upload(&mut lms, path, &parts);

    assert_eq!(answer.status, 200, "{answer:?}");
    let ended = lms.ended(answer.json()["result"].as_str().unwrap());
    assert_eq!(ended["status"], "COMPLETE", "{ended}");
    let shown = lms.get("/courses/m?includeCourseMetadata=true");
    assert_eq!(shown["title"], "My PDF", "{shown}");
    assert_eq!(shown["rootActivity"]["title"], "My PDF");
    let metadata = &shown["metadata"];
    assert_eq!(
        (&metadata["description"], &metadata["duration"]),
        (&json!("About it"), &json!("PT10M"))
    );
    assert_eq!(metadata["titleLanguage"], "es");
    let path = "/courses/importJobs/upload?courseId=n";
    let bad =
        upload(&mut lms, path, &[("contentMetadata", "", "no JSON"), ("file", "m.pdf", "%PDF-")]);
    assert_eq!(bad.status, 400, "{bad:?}");
    assert!(lms.client.get(&format!("{API}/courses/n")).status == 401);
}

#[test]
fn a_film_and_a_recording_are_courses_that_play() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        for (course, file, bytes, media) in [
            ("film", "Our garden.mp4", "\0\0\0\x20ftypisom, and a film", "video/mp4"),
            ("sound", "Our song.mp3", "ID3\x04 and a recording of it", "audio/mpeg"),
        ] {
            let path = format!("/courses/importJobs/upload?courseId={course}");
            let answer = upload(&mut lms, &path, &[("file", file, bytes)]);
            assert_eq!(answer.status, 200, "{answer:?}");
            let ended = lms.ended(answer.json()["result"].as_str().unwrap());
            assert_eq!(ended["status"], "COMPLETE", "{ended}");
            let registration = format!("r-{course}");
            lms.register(&registration, course);

            let launch = lms.launch(&registration);

            let page = lms.client.get(&launch);
            assert_eq!(page.status, 200, "{page:?}");
            assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
            let boot = lms.boot(&launch);
            let medium = &boot["tree"]["children"][0];
            assert_eq!(
                (&boot["start"], &medium["media"]),
                (&medium["id"], &json!(media)),
                "{boot}"
            );
            assert_eq!(boot["course"]["title"], file[..file.len() - 4], "{boot}");
            let origin = boot["origins"]["content"].as_str().unwrap();
            let mut content = Client::new(origin.strip_prefix("http://").unwrap().parse().unwrap());
            let below = boot["paths"]["content"].as_str().unwrap();
            let file = format!("{below}{}", medium["href"].as_str().unwrap());
            let whole = content.get(&file);
            let part = content.send("GET", &file, &[("range", "bytes=4-9")], None).unwrap();
            let after = content.send("GET", &file, &[("range", "bytes=1000-")], None).unwrap();
            assert_eq!((whole.status, whole.text().as_str()), (200, bytes));
            assert_eq!(whole.header("content-type"), Some(media), "{whole:?}");
            assert_eq!((part.status, part.text().as_str()), (206, &bytes[4..10]), "{part:?}");
            let range = format!("bytes 4-9/{}", bytes.len());
            assert_eq!(part.header("content-range"), Some(&*range), "{part:?}");
            assert_eq!(part.header("content-type"), Some(media), "{part:?}");
            assert_eq!(after.status, 416, "{after:?}");
        }
    });
}

#[test]
fn a_page_elsewhere_is_a_course_by_its_address() {
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        let url = "https://example.org/garden?page=1";
        let reference = json!({
            "url": url, "contentType": "text/html", "mediaFileMetadata": { "title": "Our garden" },
        });
        let path = "/courses/importJobs/noUpload?courseId=garden";

        let answer = lms.post(path, &json!({ "mediaFileReferenceRequest": reference }));

        assert_eq!(answer.status, 200, "{answer:?}");
        let ended = lms.ended(answer.json()["result"].as_str().unwrap());
        assert_eq!(ended["status"], "COMPLETE", "nothing is fetched: {ended}");
        assert_eq!(ended["importResult"]["course"]["title"], "Our garden", "{ended}");
        lms.register("r-1", "garden");
        let launch = lms.launch("r-1");
        let page = lms.client.get(&launch);
        assert_eq!(page.status, 200, "{page:?}");
        let boot = lms.boot(&launch);
        let link = &boot["tree"]["children"][0];
        assert_eq!(
            (&boot["start"], &link["href"], &boot["course"]["standard"]),
            (&link["id"], &json!(url), &json!("WEBLINK")),
            "{boot}"
        );
        let finished = json!({ "sequence": 1, "activity": link["id"], "cmi": {
            "cmi.progress_measure": "1", "cmi.completion_status": "completed",
        }});
        assert_eq!(lms.commit(&launch, &finished).json()["recorded"], true);
        assert_eq!(lms.get("/registrations/r-1")["registrationCompletion"], "COMPLETED");
        let nothing = lms.post("/courses/importJobs/noUpload?courseId=none", &json!({}));
        assert_eq!(nothing.status, 400, "{nothing:?}");
    });
}
