//! A restore that is killed, or given a file that it must reject.

use std::process::Stdio;
use std::time::Duration;

use crate::support::{Faults, Place, Ran, Random, STUDENTS, Server, student};

/// Returns a stopped store with the students `x` and `y`, whose backup has only `x`.
fn with_backup() -> (Place, (String, String), String) {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    assert_eq!(client.post(STUDENTS, &student("x", "Ada")).status, 201);
    let backup = place.path("backup.copy").to_str().unwrap().to_owned();
    place.done(&["backup", &backup]);
    assert_eq!(client.post(STUDENTS, &student("y", "Ada")).status, 201);
    assert_eq!(server.stop().code, Some(0));
    (place, key, backup)
}

fn students(place: &Place, key: &(String, String)) -> usize {
    let server = Server::start(place);
    let found = server.client_of(key).get(STUDENTS).json().as_array().unwrap().len();
    assert_eq!(server.stop().code, Some(0));
    found
}

#[test]
fn a_restore_that_is_killed_leaves_one_of_the_two_stores_whole() {
    let mut random = Random::seeded();
    let (place, key, backup) = with_backup();
    let faults = Faults::none(&place);
    // Each sync takes a while, so that the kill can fall between any two steps.
    faults.order(&["sync_millis 60"]);
    let rounds = if std::env::var_os("HOMEROOM_LONG").is_some() { 30 } else { 5 };

    for round in 0..rounds {
        let mut command = place.command(&["restore", &backup, "--yes"]);
        let mut restore = command.envs(faults.environment()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.below(700)));
        _ = restore.kill();
        let ended = restore.wait().unwrap();

        let problems = place.json(&["doctor", "--json"]);

        assert_eq!(problems["problems"], serde_json::json!([]), "round {round}: {ended}");
        let found = students(&place, &key);
        assert!(matches!(found, 1 | 2), "round {round}: {found}");
        // The files that were left there must be examined by a person.
        for ending in ["", "-journal", "-wal", "-shm"] {
            let left = place.data().join(format!("homeroom.db.restored{ending}"));
            if left.exists() {
                let refused = place.run(&["restore", &backup, "--yes"]);
                assert_eq!(refused.code, Some(1), "round {round}: {refused:?}");
                assert!(refused.stderr.contains("homeroom.db.restored"), "{refused:?}");
                std::fs::remove_file(left).unwrap();
            }
        }
    }

    place.done(&["restore", &backup, "--yes"]);
    assert_eq!(students(&place, &key), 1);
}

#[test]
fn a_backup_at_the_working_path_of_a_restore_is_not_lost() {
    let (place, key, backup) = with_backup();
    let there = place.data().join("homeroom.db.restored");
    std::fs::rename(&backup, &there).unwrap();
    let before = std::fs::read(&there).unwrap();

    let refused = place.run(&["restore", there.to_str().unwrap(), "--yes"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("rename it"), "{refused:?}");
    assert_eq!(std::fs::read(&there).unwrap(), before);
    assert_eq!(students(&place, &key), 2);
}

#[test]
fn a_backup_with_a_flipped_byte_is_refused_unless_its_content_is_intact() {
    let mut random = Random::seeded();
    let (place, key, backup) = with_backup();
    let good = std::fs::read(&backup).unwrap();
    let mut refused = 0;

    for _ in 0..6 {
        let mut bad = good.clone();
        // A page of zeros in the middle, as a bad sector may be read.
        let page = 1 + usize::try_from(random.below(good.len() as u64 / 4_096 - 1)).unwrap();
        bad[page * 4_096..(page + 1) * 4_096].fill(0);
        std::fs::write(&backup, bad).unwrap();

        let restored: Ran = place.run(&["restore", &backup, "--yes"]);

        match restored.code {
            Some(1) => refused += 1,
            // An unused page may contain anything.
            Some(0) => place.json(&["doctor", "--json"])["problems"]
                .as_array()
                .map(|problems| assert!(problems.is_empty(), "{problems:?}"))
                .unwrap(),
            _ => panic!("{restored:?}"),
        }
        assert!(!restored.stderr.contains("panicked"), "{restored:?}");
    }

    assert!(refused > 0);
    assert!(matches!(students(&place, &key), 1 | 2));
}
