//! Blobs of the real program, in a folder and in a bucket: swept by a server, checked by `doctor`, in
//! backups and back again.

use std::path::{Path, PathBuf};

use homeroom_blobs::{Blob, BlobPlace, Blobs, BucketSettings, Limits};
use homeroom_course::sample_package;
use homeroom_store::{ChangedAt, Options, Store, StoreUrl};
use homeroom_testkit::s3::{ACCESS_KEY_ID, BUCKET, Fault, REGION, S3, SECRET_ACCESS_KEY};

use crate::support::{Database, Learning, Place, Ran, Server, eventually, metric};

/// Where the blobs of a place are.
enum At {
    Folder(PathBuf),
    Bucket(S3),
}

impl At {
    /// Makes a place with its blobs in each kind of place.
    fn each(make: impl Fn() -> Place, folder: impl Fn(&Place) -> PathBuf) -> [(Place, Self); 2] {
        let (in_folder, in_bucket) = (make(), make());
        let (folder, s3) = (folder(&in_folder), S3::start());
        let secret = in_bucket.write("secret", format!("{SECRET_ACCESS_KEY}\n"));
        let settings = format!(
            "[blobs]\nurl = \"s3://{BUCKET}/school\"\nendpoint = \"{}\"\nregion = \"{REGION}\"\n\
             access_key_id = \"{ACCESS_KEY_ID}\"\nsecret_access_key = \"file:{}\"\n",
            s3.endpoint(),
            secret.display(),
        );
        in_bucket.write("homeroom.toml", settings);
        [(in_folder, Self::Folder(folder)), (in_bucket, Self::Bucket(s3))]
    }

    fn place(&self, place: &Place) -> BlobPlace {
        match self {
            Self::Folder(folder) => BlobPlace::folder(folder),
            Self::Bucket(s3) => {
                let mut settings = BucketSettings::read(&format!("s3://{BUCKET}/school")).unwrap();
                (settings.endpoint, settings.region) = (s3.endpoint(), REGION.to_owned());
                settings.key = Some((ACCESS_KEY_ID.to_owned(), SECRET_ACCESS_KEY.to_owned()));
                settings.spool = place.path("spool");
                BlobPlace::bucket(settings)
            }
        }
    }

    fn text(&self, blob: &Blob) -> Option<String> {
        match self {
            Self::Folder(folder) => std::fs::read_to_string(file(folder, blob)).ok(),
            Self::Bucket(s3) => s3.object(&key(blob)).map(|text| String::from_utf8(text).unwrap()),
        }
    }

    fn lose(&self, blob: &Blob) {
        match self {
            Self::Folder(folder) => std::fs::remove_file(file(folder, blob)).unwrap(),
            Self::Bucket(s3) => s3.take_away(&key(blob)),
        }
    }

    fn change(&self, blob: &Blob, text: &str) {
        match self {
            Self::Folder(folder) => std::fs::write(file(folder, blob), text).unwrap(),
            Self::Bucket(s3) => s3.put(&key(blob), text.as_bytes()),
        }
    }
}

/// Makes places with a store in a file.
fn each() -> [(Place, At); 2] {
    let make = || {
        let place = Place::new();
        place.key("FullAccess");
        place
    };
    At::each(make, |place| place.data().join("homeroom.db.blobs"))
}

fn url(place: &Place) -> StoreUrl {
    StoreUrl::Sqlite(place.data().join("homeroom.db"))
}

fn key(blob: &Blob) -> String {
    file(Path::new("school"), blob).display().to_string()
}

/// Writes blobs as a part would, while no server runs; the last one gets no row.
fn write(url: &StoreUrl, place: BlobPlace, texts: &[&str]) -> Vec<Blob> {
    let store = Store::open(&Options::new(url.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let made = runtime.block_on(async {
        let blobs = Blobs::new(place, store.clone(), Limits::default());
        let mut made = vec![];
        for (at, text) in texts.iter().enumerate() {
            let mut writing = blobs.begin("test").await.unwrap();
            writing.write(text.as_bytes()).await.unwrap();
            let written = writing.finish(ChangedAt::now()).await.unwrap();
            made.push(written.blob().clone());
            if at + 1 < texts.len() {
                blobs.keep(written, ChangedAt::now()).await.unwrap();
            }
        }
        made
    });
    store.close();
    made
}

/// Returns the file of a blob in a folder of blobs.
fn file(folder: &Path, blob: &Blob) -> PathBuf {
    let name = blob.id.to_string();
    folder.join(&name[..6]).join(name)
}

/// Removes a blob as a part would.
fn forget(url: &StoreUrl, place: BlobPlace, blob: &Blob) {
    let store = Store::open(&Options::new(url.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let blobs = Blobs::new(place, store.clone(), Limits::default());
    runtime.block_on(blobs.remove(blob.id, ChangedAt::now())).unwrap();
    store.close();
}

fn problems(place: &Place) -> Vec<String> {
    let ran = place.run(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = found["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["problem"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_backup_has_the_blobs_and_brings_back_what_was_lost() {
    for (place, at) in each() {
        let blobs = write(&url(&place), at.place(&place), &["first", "second", "nobody's"]);
        let backup = place.path("backup.db");
        let server = Server::start(&place);
        place.done(&["backup", backup.to_str().unwrap()]);
        server.stop();
        let in_backup = place.path("backup.db.blobs");
        assert_eq!(std::fs::read_to_string(file(&in_backup, &blobs[1])).unwrap(), "second");
        assert!(!file(&in_backup, &blobs[2]).exists(), "only what a row names is copied");
        assert_eq!(problems(&place), Vec::<String>::new());
        let again = place.run(&["backup", backup.to_str().unwrap()]);
        assert_eq!(again.code, Some(2), "{again:?}");

        let later = write(&url(&place), at.place(&place), &["later", "nobody's"]);
        at.lose(&blobs[0]);
        at.change(&blobs[1], "sec0nd");
        let found = problems(&place);
        assert_eq!(found.len(), 2, "{found:?}");
        let damaged = place.run(&["backup", place.path("other.db").to_str().unwrap()]);
        assert_eq!(damaged.code, Some(1), "{damaged:?}");
        assert!(!place.path("other.db").exists() && !place.path("other.db.blobs").exists());

        at.lose(&blobs[1]);
        let restored = place.run(&["restore", backup.to_str().unwrap(), "--yes"]);

        assert_eq!(restored.code, Some(0), "{restored:?}");
        assert_eq!(problems(&place), Vec::<String>::new());
        assert_eq!(at.text(&blobs[0]).as_deref(), Some("first"));
        let kept = place.data().join("homeroom.db.before-restore.blobs");
        let kept = std::fs::read_to_string(file(&kept, &later[0]));
        assert_eq!(kept.unwrap(), "later", "the previous store's blobs are kept beside it");
        // The place is the restored store's: it can write there.
        write(&url(&place), at.place(&place), &["third", "nobody's"]);
    }
}

#[test]
fn a_backup_without_its_blobs_is_restored_only_where_that_is_said() {
    for (place, at) in each() {
        let blobs = write(&url(&place), at.place(&place), &["first", "nobody's"]);
        let backup = place.path("backup.db");
        place.done(&["backup", backup.to_str().unwrap()]);
        std::fs::remove_dir_all(place.path("backup.db.blobs")).unwrap();
        at.lose(&blobs[0]);

        let refused = place.run(&["restore", backup.to_str().unwrap(), "--yes"]);
        let done = place.run(&["restore", backup.to_str().unwrap(), "--yes", "--without-blobs"]);

        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("its bytes are missing"), "{refused:?}");
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(problems(&place).len(), 1);
    }
}

#[test]
fn a_server_sweeps_what_nobody_owns_and_nothing_else() {
    for (place, at) in each() {
        let blobs = write(&url(&place), at.place(&place), &["own", "nobody's"]);

        let server = Server::start_with(&place, &[("HOMEROOM_BLOBS__GRACE", "200ms")]);

        eventually("the blob is swept", || at.text(&blobs[1]).is_none());
        assert!(at.text(&blobs[0]).is_some());
        server.stop();
        assert_eq!(problems(&place), Vec::<String>::new());
    }
}

#[test]
fn doctor_compares_the_blobs_of_a_database_with_their_place() {
    for database in Database::on_each_server() {
        let make = || {
            let place = Place::with_store(&database.url());
            place.key("FullAccess");
            place
        };
        for (place, at) in At::each(make, |place| place.data().join("blobs")) {
            let url: StoreUrl = database.url().parse().unwrap();
            let blobs = write(&url, at.place(&place), &["first", "nobody's"]);
            assert_eq!(problems(&place), Vec::<String>::new());

            at.lose(&blobs[0]);

            let found = problems(&place);
            assert!(found.len() == 1 && found[0].contains("its bytes are missing"), "{found:?}");
            // The database is shared by both kinds of place.
            forget(&url, at.place(&place), &blobs[0]);
        }
    }
}

#[test]
fn a_bucket_that_is_set_wrong_refuses_the_start_and_doctor_says_why() {
    let [_, (place, _s3)] = each();
    let wrong = [
        ("HOMEROOM_BLOBS__URL", "s3://no-such-bucket/school"),
        ("HOMEROOM_SERVER__LISTEN", "127.0.0.1:0"),
        ("HOMEROOM_SERVER__ADMIN_LISTEN", "127.0.0.1:0"),
    ];
    let mut command = place.command(&["serve"]);
    let served = Ran::of(command.envs(wrong));
    let mut command = place.command(&["doctor"]);
    let examined = Ran::of(command.envs(wrong));

    assert_eq!(served.code, Some(2), "{served:?}");
    assert_eq!(examined.code, Some(6), "{examined:?}");
    for said in [served.stderr, examined.stdout] {
        assert!(
            said.contains("there is no such bucket; create it, or correct blobs.url"),
            "{said}"
        );
        assert!(said.contains("s3://no-such-bucket/school at http://127.0.0.1:"), "{said}");
    }
}

#[test]
fn a_server_serves_without_its_bucket_and_shows_what_goes_there() {
    let [_, (place, at)] = each();
    let At::Bucket(s3) = &at else { panic!("the second place is a bucket") };
    write(&url(&place), at.place(&place), &["own", "nobody's"]);
    s3.fail("GET", "", 1_000, Fault::Status(500));

    let server = Server::start_with(&place, &[("HOMEROOM_BLOBS__GRACE", "200ms")]);

    let failed = "homeroom_bucket_requests_total{method=\"GET\",outcome=\"failed\"}";
    eventually("the sweep fails", || metric(&server, failed) > 0);
    server.stop();
}

#[test]
fn a_course_is_imported_and_read_from_a_bucket() {
    let [_, (place, at)] = each();
    let At::Bucket(s3) = &at else { panic!("the second place is a bucket") };
    let server = Server::start(&place);
    let mut lms = Learning::of(&place, &server);

    let done = lms.import("library", &sample_package());
    let package = lms.send("GET", "/courses/library/zip", None);

    assert_eq!(done["status"], "COMPLETE", "{done}");
    assert!(package.status == 200 && package.body == sample_package());
    let stored = s3.keys();
    assert!(stored.iter().filter(|key| *key != "school/store").count() >= 2, "{stored:?}");

    s3.fail("GET", "", 1_000, Fault::Status(500));
    let refused = lms.send("GET", "/courses/library/zip", None);
    assert_eq!(refused.status, 503, "{refused:?}");
    s3.recover();
    assert_eq!(lms.send("GET", "/courses/library/zip", None).status, 200);
}
