//! Every setting is read from its place, and a wrong one names the place.

use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Ran};

const SHOW: &[&str] = &["config", "show", "--json"];

/// `config show --json` with a configuration file and an environment.
fn show(place: &Place, file: &str, environment: &[(&str, &str)], more: &[&str]) -> Ran {
    place.write("homeroom.toml", file);
    let arguments = [SHOW, more].concat();
    Ran::of(place.command(&arguments).envs(environment.iter().copied()))
}

fn setting(shown: &Ran, name: &str) -> (String, String) {
    let all: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown:?}"));
    let found = all.as_array().unwrap().iter().find(|setting| setting["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {all}"));
    let text = |member: &str| found[member].as_str().unwrap().to_owned();
    (text("value"), text("origin"))
}

#[test]
fn a_later_place_wins_and_config_show_names_the_place() {
    let place = Place::new();
    let file = "[server]\nlisten = '127.0.0.1:1'\ndrain = '2m'\n[store]\nqueue = 5\n";
    let environment =
        [("HOMEROOM_STORE__QUEUE", "6"), ("HOMEROOM_SERVER__TRUST_FORWARDED", "true")];

    let shown = show(&place, file, &environment, &["--data-dir", "0123"]);

    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stderr, "");
    for (name, value, origin) in [
        ("server.listen", "\"127.0.0.1:1\"", "homeroom.toml"),
        ("server.drain", "\"120s\"", "homeroom.toml"),
        ("store.queue", "6", "HOMEROOM_STORE__QUEUE"),
        ("server.trust_forwarded", "true", "HOMEROOM_SERVER__TRUST_FORWARDED"),
        ("store.data_dir", "\"0123\"", "command line"),
        ("store.list_deadline", "\"5s\"", "default"),
        ("standard.version", "\"5.2.0\"", "default"),
    ] {
        assert_eq!(setting(&shown, name), (value.into(), origin.into()), "{name}");
    }
}

#[test]
fn a_named_file_is_read_instead_of_the_usual_one() {
    let place = Place::new();
    place.write("other.toml", "[store]\nqueue = 9\n");

    let shown = show(&place, "[store]\nqueue = 5\n", &[], &["--config", "other.toml"]);

    assert_eq!(setting(&shown, "store.queue"), ("9".into(), "other.toml".into()));
}

#[test]
fn config_show_is_readable_without_json() {
    let place = Place::new();

    let text = place.done(&["config", "show"]);

    let line = text.lines().find(|line| line.starts_with("server.drain")).unwrap();
    assert!(line.contains("= \"25s\"  (default)"), "{line}");
}

#[test]
fn what_is_wrong_names_place_and_setting_and_ends_with_code_2() {
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: &[(Case, &[&str])] = &[
        // A name that is none, in each place.
        (("[store]\nqeue = 1\n", &[], &[]), &["homeroom.toml", "store.qeue", "`store.queue`"]),
        (("[sever]\nlisten = 'x'\n", &[], &[]), &["homeroom.toml", "`server.listen`"]),
        (("stroe = 1\n", &[], &[]), &["homeroom.toml", "stroe"]),
        (("", &[("HOMEROOM_LOG__LEVL", "info")], &[]), &["HOMEROOM_LOG__LEVL", "`log.level`"]),
        (("", &[], &["--data-dri", "x"]), &["--data-dri", "--data-dir"]),
        // A value that does not fit, in each place.
        (("[store]\nqueue = 'many'\n", &[], &[]), &["homeroom.toml", "store.queue", "many"]),
        (("[server]\nlisten = 8080\n", &[], &[]), &["homeroom.toml", "server.listen", "address"]),
        (("", &[("HOMEROOM_STORE__QUEUE", "-1")], &[]), &["HOMEROOM_STORE__QUEUE", "store.queue"]),
        (("[server]\ndrain = 25\n", &[], &[]), &["homeroom.toml", "server.drain", "5s"]),
        (("", &[("HOMEROOM_LOG__FORMAT", "xml")], &[]), &["HOMEROOM_LOG__FORMAT", "json"]),
        // A value that fits its type and makes no sense.
        (("", &[("HOMEROOM_LOG__LEVEL", "loud")], &[]), &["HOMEROOM_LOG__LEVEL", "loud", "debug"]),
        (("[log]\nlevel = 'info,a=loud'\n", &[], &[]), &["homeroom.toml", "log.level", "loud"]),
        (("[store]\nqueue = 0\n", &[], &[]), &["homeroom.toml", "store.queue", "1"]),
        (("[store]\npage_bytes = 5000\n", &[], &[]), &["store.page_bytes", "4096", "power"]),
        (("[server]\nin_flight_max = 0\n", &[], &[]), &["homeroom.toml", "server.in_flight_max"]),
        (("[store]\nlist_deadline = '0s'\n", &[], &[]), &["homeroom.toml", "store.list_deadline"]),
        // A file that is none.
        (("[store\nqueue = 1\n", &[], &[]), &["homeroom.toml", "line 1"]),
        (("", &[], &["--config", "absent.toml"]), &["absent.toml", "No such file"]),
    ];
    for ((file, environment, arguments), words) in cases {
        let place = Place::new();

        let ran = show(&place, file, environment, arguments);

        assert_eq!(ran.code, Some(2), "{file} {environment:?} {arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
        for word in *words {
            assert!(ran.stderr.contains(word), "no `{word}` in: {}", ran.stderr);
        }
    }
}

#[test]
fn a_server_does_not_start_on_a_wrong_address() {
    let place = Place::new();

    let ran = place.run(&["serve", "--listen", "localhost"]);

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("command line: server.listen"), "{ran:?}");
    assert!(!place.data().exists(), "nothing was made");
}

#[test]
fn the_environment_of_other_programs_is_passed_over() {
    let place = Place::new();

    let ran = Ran::of(
        Command::new(env!("CARGO_BIN_EXE_homeroom"))
            .args(SHOW)
            .current_dir(place.path(""))
            .env("HOMEROOM_LONG", "1")
            .env("OTHER__QUEUE", "1"),
    );

    assert_eq!(ran.code, Some(0), "{ran:?}");
}
