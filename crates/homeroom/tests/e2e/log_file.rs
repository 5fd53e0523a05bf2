//! A write-ahead log that was cut short by a crash or a copy: the store opens with the intact part.

use std::fs::OpenOptions;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::support::{Place, Random, STUDENTS, Server, student};

const DOCUMENTS: usize = 60;

/// The damage to the log.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Cut(u64),
    Flip(u64),
    Removed,
}

/// Returns the folder of a killed server; its documents, numbered from 0 in order, are all still in
/// the log.
fn killed() -> (Place, (String, String)) {
    let place = Place::new();
    let key = place.key("FullAccess");
    assert_eq!(Server::start(&place).stop().code, Some(0));
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    for number in 0..DOCUMENTS {
        assert_eq!(client.post(STUDENTS, &student(&number.to_string(), "Ada")).status, 201);
    }
    server.kill();
    (place, key)
}

fn harm(log: &Path, harm: Harm) {
    let open = || OpenOptions::new().read(true).write(true).open(log).unwrap();
    match harm {
        Harm::Cut(length) => open().set_len(length).unwrap(),
        Harm::Removed => std::fs::remove_file(log).unwrap(),
        Harm::Flip(at) => {
            let (mut file, mut byte) = (open(), [0]);
            file.seek(SeekFrom::Start(at)).unwrap();
            file.read_exact(&mut byte).unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&[byte[0] ^ 0x55]).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    _ = std::fs::remove_dir_all(to);
    std::fs::create_dir(to).unwrap();
    for name in ["homeroom.db", "homeroom.db-wal", "homeroom.db-shm"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_truncated_or_corrupt_log_keeps_exactly_the_writes_before_the_damage() {
    let mut random = Random::seeded();
    let (place, key) = killed();
    let original = place.path("original");
    copy(&place.data(), &original);
    let length = std::fs::metadata(original.join("homeroom.db-wal")).unwrap().len();
    assert!(length > 100_000, "the log holds the writes: {length}");
    let mut harms = vec![Harm::Cut(length), Harm::Removed, Harm::Cut(0), Harm::Cut(31)];
    harms.extend((0..4).map(|_| Harm::Cut(random.below(length))));
    harms.extend((0..4).map(|_| Harm::Flip(random.below(length))));
    let mut found_most = 0;

    for one in harms {
        copy(&original, &place.data());
        harm(&place.data().join("homeroom.db-wal"), one);

        let problems = place.json(&["doctor", "--json"]);
        let server = Server::start(&place);

        assert_eq!(problems["problems"], serde_json::json!([]), "{one:?}");
        let mut client = server.client_of(&key);
        let stored = client.get(&format!("{STUDENTS}?limit=500")).json();
        let stored: Vec<usize> = stored
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["studentUniqueId"].as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(stored, (0..stored.len()).collect::<Vec<_>>(), "{one:?}: a prefix");
        // A frame is a page of 4,096 bytes plus 24 bytes; a write of this size takes about ten
        // frames.
        let (Harm::Cut(at) | Harm::Flip(at)) = one else {
            assert_eq!(stored.len(), 0, "{one:?}");
            continue;
        };
        let share = usize::try_from(at * DOCUMENTS as u64 / length).unwrap();
        assert!(stored.len().abs_diff(share) <= DOCUMENTS / 5, "{one:?}: {}", stored.len());
        found_most = found_most.max(stored.len());
        assert_eq!(client.post(STUDENTS, &student("after", "Ada")).status, 201, "{one:?}");
        assert_eq!(server.stop().code, Some(0), "{one:?}");
    }

    assert_eq!(found_most, DOCUMENTS, "the whole log holds all");
}
