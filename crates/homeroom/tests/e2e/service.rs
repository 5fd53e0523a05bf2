//! The shipped unit for systemd: its command starts a server with the configuration of the guide.

use std::process::Command;

use crate::support::{Place, Ran, Server};

const UNIT: &str = include_str!("../../../../deploy/homeroom.service");
const GUIDE: &str = include_str!("../../../../docs/guides/operations.md");
/// Where the unit has its files, and where they are in a place.
const FOLDERS: [(&str, &str); 2] = [("/etc/homeroom", "etc"), ("/var/lib/homeroom", "data")];

/// Returns a line of the unit without its name.
fn line(name: &str) -> &'static str {
    let of_name = |line: &'static str| line.strip_prefix(name)?.strip_prefix('=');
    UNIT.lines().find_map(of_name).unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the unit's command with its arguments, in a place, on free ports.
fn command(place: &Place) -> Command {
    let mut words = line("ExecStart").split_whitespace();
    assert_eq!(words.next(), Some("/usr/local/bin/homeroom"));
    let here = |word: &str| {
        FOLDERS.iter().fold(word.to_owned(), |word, (there, here)| {
            word.replace(there, place.path(here).to_str().unwrap())
        })
    };
    let words: Vec<String> = words.map(here).collect();
    let mut command = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    for name in ["LISTEN", "ADMIN_LISTEN", "CONTENT_LISTEN"] {
        command.env(format!("HOMEROOM_SERVER__{name}"), "127.0.0.1:0");
    }
    command.env_remove("HOMEROOM_STORE__DATA_DIR");
    command
}

/// Returns the configuration that the guide writes.
fn configuration() -> String {
    let (_, rest) = GUIDE.split_once("cat > /etc/homeroom/homeroom.toml <<'END'\n").unwrap();
    let (inside, _) = rest.split_once("    END\n").unwrap();
    inside.lines().map(|line| line.trim_start().to_owned() + "\n").collect()
}

#[test]
fn the_units_command_starts_with_the_guides_configuration() {
    let place = Place::new();
    std::fs::create_dir(place.path("etc")).unwrap();
    std::fs::create_dir(place.data()).unwrap();
    place.write("etc/homeroom.toml", configuration());

    let server = Server::of(&mut command(&place));

    assert_eq!(server.client().get("/livez").status, 200);
    assert_eq!(server.stop().code, Some(0));
    assert!(place.data().join("homeroom.db").is_file());
}

#[test]
fn a_configuration_that_is_not_there_ends_the_units_command_for_good() {
    let place = Place::new();

    let ran = Ran::to_its_end(&mut command(&place));

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("homeroom.toml"), "{ran:?}");
    assert_eq!(line("RestartPreventExitStatus"), "2");
}
