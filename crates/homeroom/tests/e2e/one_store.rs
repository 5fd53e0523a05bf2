//! Only one process has a store's file open, whatever path leads to it, and it notices when the
//! file is replaced.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Place, Ran, STUDENTS, Server, eventually, student};

/// Runs a command on the store `homeroom.db` in a folder other than the place's own.
fn run_in(place: &Place, folder: &Path, arguments: &[&str]) -> Ran {
    Ran::to_its_end(place.command(arguments).env("HOMEROOM_STORE__DATA_DIR", folder))
}

const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns other paths to the file of the place's store: a link, a linked folder, a second name.
fn other_ways(place: &Place) -> [PathBuf; 3] {
    let [link, folder, name] = ["link", "folder", "name"].map(|name| place.path(name));
    std::fs::create_dir_all(&link).unwrap();
    std::fs::create_dir_all(&name).unwrap();
    let file = place.data().join("homeroom.db");
    symlink(&file, link.join("homeroom.db")).unwrap();
    symlink(place.data(), &folder).unwrap();
    std::fs::hard_link(&file, name.join("homeroom.db")).unwrap();
    [link, folder, name]
}

#[test]
fn no_other_path_to_a_served_store_admits_a_second_process() {
    let place = Place::new();
    let key = place.key("FullAccess");
    place.done(&["backup", "backup.copy"]);
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let ways = other_ways(&place);
    for has_lock_file in [true, false] {
        if !has_lock_file {
            std::fs::remove_file(place.data().join("homeroom.db.lock")).unwrap();
        }
        for way in [&place.data(), &ways[0], &ways[1], &ways[2]] {
            let about = format!("{} {has_lock_file}", way.display());

            let restored = run_in(&place, way, &["restore", "backup.copy", "--yes"]);
            let second = run_in(&place, way, &SERVE);
            let revoked = run_in(&place, way, &["keys", "revoke", "nobody"]);
            let made =
                run_in(&place, way, &["keys", "create", "--claim-set", "FullAccess", "--json"]);

            for refused in [restored, second] {
                assert_eq!(refused.code, Some(1), "{about}: {refused:?}");
                assert!(refused.stderr.contains("another process"), "{about}: {refused:?}");
            }
            assert_eq!(revoked.code, Some(1), "{about}: {revoked:?}");
            // Either the server was asked, or nothing was done.
            if made.code == Some(0) {
                let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
                let text = |name: &str| made[name].as_str().unwrap().to_owned();
                let token = server.client().ask_token(&text("key"), &text("secret"));
                assert_eq!(token.status, 200, "{about}");
            } else {
                assert!(made.stderr.contains("another process"), "{about}: {made:?}");
            }
        }
    }
    let path = client.post(STUDENTS, &student("x", "Ada")).location();
    assert_eq!(server.stop().code, Some(0));

    let server = Server::start(&place);

    assert_eq!(server.client_of(&key).get(&path).status, 200);
}

#[test]
fn restoring_a_linked_store_replaces_the_target_of_the_link() {
    let place = Place::new();
    let key = place.key("FullAccess");
    place.done(&["backup", "backup.copy"]);
    let [link, ..] = other_ways(&place);

    let ran = run_in(&place, &link, &["restore", "backup.copy", "--yes"]);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(link.join("homeroom.db").is_symlink());
    assert!(place.data().join("homeroom.db.before-restore").is_file());
    assert_eq!(std::fs::read_dir(&link).unwrap().count(), 1, "nothing stands beside the link");
    let server = Server::start(&place);
    assert_eq!(server.client_of(&key).get(STUDENTS).status, 200);
}

#[test]
fn a_backup_is_not_taken_from_a_file_that_is_served() {
    let (live, other) = (Place::new(), Place::new());
    let _server = Server::start(&live);
    let file = live.data().join("homeroom.db");

    let ran = other.run(&["restore", file.to_str().unwrap(), "--yes"]);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("homeroom backup"), "{ran:?}");
}

#[test]
fn no_write_is_acknowledged_while_another_file_has_the_stores_name() {
    let place = Place::new();
    let key = place.key("FullAccess");
    place.done(&["backup", "backup.copy"]);
    check_displaced_files(&place, &key);
}

#[test]
fn the_first_server_after_a_restore_acknowledges_no_write_to_a_displaced_file() {
    let place = Place::new();
    let key = place.key("FullAccess");
    place.done(&["backup", "backup.copy"]);
    place.done(&["restore", "backup.copy", "--yes"]);
    check_displaced_files(&place, &key);
}

/// Moves each of the store's files away and puts another in its place, while a server has them
/// open.
fn check_displaced_files(place: &Place, key: &(String, String)) {
    let server = Server::start(place);
    let mut client = server.client_of(key);
    assert_eq!(client.post(STUDENTS, &student("first", "Ada")).status, 201);

    for (number, ending) in ["", "-wal", "-shm"].iter().enumerate() {
        let file = place.data().join(format!("homeroom.db{ending}"));
        let aside = place.path("aside");
        for replacement in [None, Some("backup.copy")] {
            std::fs::rename(&file, &aside).unwrap();
            if let Some(replacement) = replacement {
                std::fs::copy(place.path(replacement), &file).unwrap();
            }

            let id = format!("{number}-{}", replacement.is_some());
            let refused = client.post(STUDENTS, &student(&id, "Bo"));
            let ready = server.client().get("/readyz");
            let command = place.run(&["keys", "create", "--claim-set", "FullAccess"]);
            let backup = place.run(&["backup", &format!("{id}.copy")]);

            let about = format!("{ending:?} {replacement:?}");
            assert_eq!(refused.status, 503, "{about}: {refused:?}");
            assert_eq!(ready.status, 503, "{about}: {ready:?}");
            assert!(ready.text().contains("homeroom.db"), "{about}: {ready:?}");
            assert_eq!(command.code, Some(1), "{about}: {command:?}");
            assert_eq!(backup.code, Some(1), "{about}: {backup:?}");
            std::fs::rename(&aside, &file).unwrap();
            // Requests are refused until the server has looked up whether the command's key was
            // stored.
            eventually(&format!("{about}: all is as it was"), || {
                let accepted = client.post(STUDENTS, &student(&id, "Cy"));
                assert!([201, 503].contains(&accepted.status), "{about}: {accepted:?}");
                accepted.status == 201
            });
        }
    }
    assert_eq!(server.client().get("/readyz").status, 200);
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(place.json(&["doctor", "--json"])["problems"], serde_json::json!([]));
}

/// Holds the lock of a file like a user who may only read it.
struct Stranger(Child);

impl Stranger {
    fn hold(file: &Path) -> Self {
        let mut command = Command::new("flock");
        command.arg(file).args(["sleep", "600"]).uid(65_534).gid(65_534);
        let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let held = Self(child.spawn().unwrap());
        eventually("the stranger holds the lock", || {
            std::fs::File::open(file).unwrap().try_lock().is_err()
        });
        held
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        _ = Command::new("kill").args(["--", &group]).status();
        _ = self.0.wait();
    }
}

#[test]
fn a_user_with_read_access_cannot_prevent_a_server_from_starting() {
    let place = Place::new();
    place.key("FullAccess");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    if !is_root || Command::new("flock").arg("--version").output().is_err() {
        println!("skipped: only the superuser can act as somebody else, with flock");
        return;
    }
    let [file, lock] = ["homeroom.db", "homeroom.db.lock"].map(|name| place.data().join(name));
    assert_eq!((mode(&file), mode(&lock)), (0o600, 0o600));

    for held in [&lock, &file] {
        // An older version, or a careless user, may have left these permissions.
        for wide in [&file, &lock] {
            std::fs::set_permissions(wide, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        let stranger = Stranger::hold(held);

        let server = Server::start(&place);

        let second = Ran::to_its_end(&mut place.command(&SERVE));
        assert_eq!(second.code, Some(1), "{held:?}: {second:?}");
        assert!(second.stderr.contains("another process"), "{held:?}: {second:?}");
        assert_eq!((mode(&file), mode(&lock)), (0o600, 0o600), "{held:?}");
        assert_eq!(server.stop().code, Some(0));
        drop(stranger);
    }
}
