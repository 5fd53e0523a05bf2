//! A server that cannot start says why and what to do, and changes nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{Database, Place, Ran, Server};

/// Runs `serve`, which must end on its own.
fn serve(place: &Place) -> Ran {
    serve_with(place, &[])
}

/// Does the same as [`serve`], with further arguments.
fn serve_with(place: &Place, more: &[&str]) -> Ran {
    let own = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    place.run(&[&own, more].concat())
}

/// Checks that a server did not start, and that its log ends with one line that contains these words,
/// without a panic.
fn assert_failed(ran: &Ran, words: &[&str]) {
    assert_ended(ran, 1, words);
}

/// Does the same for a server that ends with this code.
fn assert_ended(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let last = ran.stderr.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    let logged: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!((&logged["level"], &logged["message"]), (&"ERROR".into(), &"cannot serve".into()));
    let last = logged["error"].as_str().unwrap();
    for word in words {
        assert!(last.contains(word), "no `{word}` in: {last}");
    }
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

#[test]
fn a_busy_port_is_reported_with_its_setting_and_a_remedy() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();

    let api = place.run(&["serve", "--listen", &address, "--admin-listen", "127.0.0.1:0"]);
    let admin = place.run(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", &address]);

    assert_failed(&api, &[&address, "server.listen", "in use", "choose another"]);
    assert!(!place.data().exists(), "nothing was made");
    assert_failed(&admin, &[&address, "server.admin_listen", "in use", "choose another"]);
}

#[test]
fn a_file_or_folder_that_cannot_be_written_is_reported_before_anything_is_made() {
    let place = Place::new();
    let file = place.write("file", "no folder").to_str().unwrap().to_owned();
    let within = format!("{file}/within/it");
    for (setting, value, others) in [
        ("log.requests_file", "no/such/folder/requests.jsonl", &[("log.requests", "all")][..]),
        ("log.requests_file", &within, &[("log.requests", "errors")]),
        ("log.audit_file", "no/such/folder/audit.jsonl", &[]),
        ("blobs.dir", &file, &[]),
        ("blobs.dir", &within, &[]),
        ("server.tls", "no/such/file.pem", &[]),
    ] {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        let identity = format!("[{{ certificate = \"{value}\", key = \"{value}\" }}]");
        let set = if setting == "server.tls" { &identity } else { value };
        let own = [("server.admin_listen", "127.0.0.1:0"), (setting, set)];
        for (name, value) in own.iter().chain(others) {
            let name = name.to_uppercase().replace('.', "__");
            command.env(format!("HOMEROOM_{name}"), value);
        }

        let ran = Ran::to_its_end(&mut command);

        assert_ended(&ran, 2, &[setting, value]);
        assert!(!place.data().exists(), "{setting}: nothing was made");
    }
}

#[test]
fn a_standard_that_is_not_there_is_refused_by_the_server_and_by_config_show() {
    let place = Place::new();
    let missing = place.path("none.model").to_str().unwrap().to_owned();
    for (name, value) in [
        ("HOMEROOM_STANDARD__VERSION", "9"),
        ("HOMEROOM_STANDARD__EXTENSIONS", "nothing"),
        ("HOMEROOM_STANDARD__MODEL", &missing),
    ] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
        for arguments in [&serve[..], &["config", "show"]] {
            let ran = Ran::to_its_end(place.command(arguments).env(name, value));

            assert_eq!(ran.code, Some(2), "{name} {arguments:?}: {ran:?}");
            assert!(ran.stderr.contains(value), "{name} {arguments:?}: {ran:?}");
        }
    }
}

#[test]
fn an_unreachable_database_is_reported() {
    let place = Place::new();

    let ran = serve_with(&place, &["--store", "postgres://homeroom:secret@127.0.0.1:1/ods"]);

    assert_failed(&ran, &["postgres://homeroom:***@127.0.0.1:1/ods", "Connection refused"]);
    assert!(!ran.stderr.contains("secret"), "{ran:?}");
    let several =
        serve_with(&place, &["--store", "postgres://homeroom@127.0.0.1:1,127.0.0.2:2/ods"]);
    assert_failed(&several, &["127.0.0.1:1: error", "127.0.0.2:2: error", "Connection refused"]);
    let bare = serve_with(&place, &["--store", "postgres://homeroom:se@cret@127.0.0.1:1/ods"]);
    assert!(
        bare.stderr.contains("the at sign as %40") && !bare.stderr.contains("cret"),
        "{bare:?}"
    );
}

#[test]
fn what_is_wrong_with_a_database_address_is_told() {
    let place = Place::new();
    for (url, words) in [
        ("postgres://localhost:99999/x", &["port of host 1", "65535", "%40"][..]),
        ("postgres://localhost:5433x/ods", &["port of host 1"]),
        ("postgres://h1,h2:abc/ods", &["port of host 2"]),
        ("postgres://localhost/ods?conect_timeout=3", &["did you mean connect_timeout?"]),
    ] {
        let ran = serve_with(&place, &["--store", url]);

        assert_failed(&ran, words);
    }
}

/// Answers each connection as a server that asks for a password and refuses it, and returns its address.
///
/// Source: PostgreSQL, Frontend/Backend Protocol, Message Formats.
fn password_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut message = [0; 4_096];
            while let Ok(length) = stream.read(&mut message)
                && length > 0
            {
                let answer: &[u8] = match (&message[4..8], message[0]) {
                    ([0x04, 0xd2, 0x16, 0x2f], _) => b"N",
                    (_, b'p') => {
                        b"E\0\0\0\x38SFATAL\0C28P01\0Mpassword authentication failed here\0\0"
                    }
                    _ => b"R\0\0\0\x08\0\0\0\x03",
                };
                if stream.write_all(answer).is_err() || answer[0] == b'E' {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn which_server_has_refused_is_told_whatever_the_reason() {
    let place = Place::new();
    let address = password_server();

    let without = serve_with(&place, &["--store", &format!("postgres://me@{address}/ods")]);
    assert_failed(&without, &[&format!("{address}: the server asks"), "PGPASSWORD"]);
    let wrong = serve_with(&place, &["--store", &format!("postgres://me:Hunter2@{address}/ods")]);
    assert_failed(&wrong, &[&format!("{address}: password authentication failed")]);
    let several = format!("postgres://me:Hunter2@{address},127.0.0.1:1/ods");
    let several = serve_with(&place, &["--store", &several]);
    assert_failed(&several, &[&format!("{address}: password"), "127.0.0.1:1: ", "refused"]);
    for ran in [&without, &wrong, &several] {
        assert!(!ran.stderr.contains("Hunter2"), "{ran:?}");
    }
    for database in Database::on_each_server() {
        let ran = serve_with(&place, &["--store", &format!("{}_none", database.url())]);

        let url = database.url();
        let place = url.split_once("://").unwrap().1.rsplit_once('/').unwrap().0;
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        assert_failed(&ran, &[&format!("{host}: database"), "does not exist"]);
    }
}

#[test]
fn an_address_of_another_machine_is_reported() {
    let place = Place::new();

    let ran = place.run(&["serve", "--listen", "192.0.2.1:80", "--admin-listen", "127.0.0.1:0"]);

    assert_failed(&ran, &["server.listen", "192.0.2.1:80"]);
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_and_the_first_serves_on() {
    let place = Place::new();
    let first = Server::start(&place);

    let second = serve(&place);

    assert_failed(&second, &["homeroom.db", "another process", "stop it", "another folder"]);
    assert_eq!(first.client().get("/readyz").status, 200);
    // The control socket still belongs to the first server.
    place.done(&["keys", "list"]);
    assert_eq!(first.stop().code, Some(0));
}

#[test]
fn a_store_of_a_newer_homeroom_is_left_alone() {
    let place = Place::new();
    place.key("FullAccess");
    let file = place.data().join("homeroom.db");
    set_user_version(&file, 9_999);
    let before = std::fs::read(&file).unwrap();

    let ran = serve(&place);

    assert_failed(&ran, &["9999", "upgrade Homeroom"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.code, Some(6), "{doctor:?}");
    assert!(doctor.stdout.contains("9999"), "{doctor:?}");
    assert!(!doctor.stdout.contains("restore"), "a restore would lose it: {doctor:?}");
}

#[test]
fn a_file_that_is_not_a_store_is_left_alone() {
    for (content, word) in [
        (b"Dear diary, this is not a database. It is a letter.".repeat(20), "not a Homeroom store"),
        (foreign_sqlite_file(), "another program"),
    ] {
        let place = Place::new();
        std::fs::create_dir(place.data()).unwrap();
        let file = place.data().join("homeroom.db");
        std::fs::write(&file, &content).unwrap();

        let ran = serve(&place);

        assert_failed(&ran, &["homeroom.db", word]);
        assert_eq!(std::fs::read(&file).unwrap(), content, "{word}");
        assert_eq!(place.run(&["doctor"]).code, Some(6), "{word}");
    }
}

#[test]
fn a_file_where_a_folder_should_be_is_reported() {
    let place = Place::new();
    let file = place.write("data", "a file where a folder should be");

    let ran = serve(&place);

    assert_failed(&ran, &[file.to_str().unwrap()]);
}

#[test]
fn a_folder_that_may_not_be_entered_is_reported() {
    let place = Place::new();
    let folder = place.data();
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read_dir(&folder).is_ok() {
        println!("skipped: the superuser may enter every folder");
        return;
    }

    let ran = serve(&place);

    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_failed(&ran, &[folder.to_str().unwrap()]);
}

#[test]
fn a_path_too_long_for_a_socket_is_reported() {
    let place = Place::new();
    let deep = place.path("a-name-of-forty-letters-that-goes-on-and".repeat(4));

    let ran = Ran::of(
        Command::new(env!("CARGO_BIN_EXE_homeroom"))
            .args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .args(["--data-dir", deep.to_str().unwrap()])
            .current_dir(place.path("")),
    );

    assert_failed(&ran, &["control.sock", "shorter", "--data-dir"]);
}

/// Overwrites `PRAGMA user_version`: four bytes, big-endian, at offset 60 of the file's header.
///
/// Source: SQLite database file format, §1.3.
fn set_user_version(file: &std::path::Path, version: u32) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    std::fs::write(file, bytes).unwrap();
}

/// Returns the smallest SQLite file with one table of another program.
///
/// Source: SQLite database file format, §1.3 (header), §1.6 (pages), §2.1 (records).
fn foreign_sqlite_file() -> Vec<u8> {
    const PAGE: usize = 512;
    let sql = b"CREATE TABLE note(a)";
    // A row of `sqlite_schema`: type, name, tbl_name, rootpage, sql.
    let mut record = vec![6, 13 + 2 * 5, 13 + 2 * 4, 13 + 2 * 4, 1, 13 + 2 * 20];
    for part in [&b"table"[..], b"note", b"note", &[2], sql] {
        record.extend_from_slice(part);
    }
    let mut cell = vec![u8::try_from(record.len()).unwrap(), 1];
    cell.append(&mut record);
    let mut file = vec![0; 2 * PAGE];
    file[..16].copy_from_slice(b"SQLite format 3\0");
    file[16..18].copy_from_slice(&512_u16.to_be_bytes());
    file[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
    for (at, number) in [(24, 1), (28, 2), (40, 1), (44, 4), (56, 1), (92, 1), (96, 3_045_000)] {
        file[at..at + 4].copy_from_slice(&u32::to_be_bytes(number));
    }
    let begin = PAGE - cell.len();
    let at = u16::try_from(begin).unwrap().to_be_bytes();
    // A leaf page with one cell: the start of the content area and the cell pointer are the same.
    file[100..110].copy_from_slice(&[13, 0, 0, 0, 1, at[0], at[1], 0, at[0], at[1]]);
    file[begin..PAGE].copy_from_slice(&cell);
    file[PAGE..PAGE + 8].copy_from_slice(&[13, 0, 0, 0, 0, 2, 0, 0]);
    file
}
