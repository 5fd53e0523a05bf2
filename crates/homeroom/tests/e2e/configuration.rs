//! Every setting is read from its source, and the error about a wrong one names the source.

use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Ran};

const SHOW: &[&str] = &["config", "show", "--json"];

/// Runs `config show --json` with a configuration file and an environment.
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
fn a_later_source_wins_and_config_show_names_the_source() {
    let place = Place::new();
    let file = "[server]\nlisten = '127.0.0.1:1'\ndrain = '2m'\n[store]\nqueue = 5\n";
    let environment = [
        ("HOMEROOM_STORE__QUEUE", "6"),
        ("HOMEROOM_STORE__RECENT_DOCUMENTS", "5000"),
        ("HOMEROOM_SERVER__TRUST_FORWARDED", "true"),
    ];

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
        ("store.recent_documents", "5000", "HOMEROOM_STORE__RECENT_DOCUMENTS"),
        ("store.log_mib", "64", "default"),
        ("standard.version", "\"5.2.0\"", "default"),
    ] {
        assert_eq!(setting(&shown, name), (value.into(), origin.into()), "{name}");
    }
    let (by_memory, origin) = setting(&shown, "store.cache_kib");
    assert!(by_memory.parse().is_ok_and(|kib: u32| kib >= 2_048), "{by_memory}");
    assert_eq!(origin, "default");
}

#[test]
fn a_named_file_is_read_instead_of_the_default_one() {
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
fn a_configuration_error_names_place_and_setting_and_exits_with_code_2() {
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: &[(Case, &[&str])] = &[
        // An unknown name, in each source.
        (("[store]\nqeue = 1\n", &[], &[]), &["homeroom.toml", "store.qeue", "`store.queue`"]),
        (("[sever]\nlisten = 'x'\n", &[], &[]), &["homeroom.toml", "`server.listen`"]),
        (("stroe = 1\n", &[], &[]), &["homeroom.toml", "stroe"]),
        (("", &[("HOMEROOM_LOG__LEVL", "info")], &[]), &["HOMEROOM_LOG__LEVL", "`log.level`"]),
        (("", &[], &["--data-dri", "x"]), &["--data-dri", "--data-dir"]),
        // A value that does not fit, in each source.
        (("[store]\nqueue = 'many'\n", &[], &[]), &["homeroom.toml", "store.queue", "many"]),
        (("[server]\nlisten = 8080\n", &[], &[]), &["homeroom.toml", "server.listen", "address"]),
        (("", &[("HOMEROOM_STORE__QUEUE", "-1")], &[]), &["HOMEROOM_STORE__QUEUE", "store.queue"]),
        (("[server]\ndrain = 25\n", &[], &[]), &["homeroom.toml", "server.drain", "5s"]),
        (("", &[("HOMEROOM_LOG__FORMAT", "xml")], &[]), &["HOMEROOM_LOG__FORMAT", "json"]),
        // A value that fits its type but makes no sense.
        (("", &[("HOMEROOM_LOG__LEVEL", "loud")], &[]), &["HOMEROOM_LOG__LEVEL", "loud", "debug"]),
        (("[log]\nlevel = 'info,a=loud'\n", &[], &[]), &["homeroom.toml", "log.level", "loud"]),
        (("[store]\nqueue = 0\n", &[], &[]), &["homeroom.toml", "store.queue", "1"]),
        (("[store]\npage_bytes = 5000\n", &[], &[]), &["store.page_bytes", "4096", "power"]),
        (("[server]\nin_flight_max = 0\n", &[], &[]), &["homeroom.toml", "server.in_flight_max"]),
        (("[store]\nlist_deadline = '0s'\n", &[], &[]), &["homeroom.toml", "store.list_deadline"]),
        // A file that is not TOML.
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
fn environment_variables_of_other_programs_are_ignored() {
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

/// The password in these tests, wherever it is set.
const PASSWORD: &str = "hunter2";

#[test]
fn no_spelling_of_a_password_is_printed() {
    let urls = [
        "postgres://me:hunter2@127.0.0.1:1/ods",
        "postgres://me:hunter2@127.0.0.1:no/ods",
        "postgres://me:a/b?hunter2@127.0.0.1:1/ods",
        "postgres://127.0.0.1:1/ods?password=hunter2",
        "postgres://127.0.0.1:1/ods?pass%77ord=hunter2",
        "postgres://127.0.0.1:1/ods?PASSWORD=hunter2",
        "postgres://127.0.0.1:1/ods?user=me&%70assword=hunter2&connect_timeout=1",
        "postgres://127.0.0.1:1/ods?passwd=hunter2",
        "postgres:///ods?host=127.0.0.1;password=hunter2",
        "mysql://me:hunter2@127.0.0.1/ods",
        "host=127.0.0.1 password=hunter2",
    ];
    let commands: [&[&str]; 3] = [&["config", "show"], &["config", "show", "--json"], &["counts"]];
    for url in urls {
        for command in commands {
            let place = Place::new();
            let by_file = place.write("homeroom.toml", format!("[store]\nurl = '{url}'\n"));
            let written = Ran::of(&mut place.command(command));
            std::fs::remove_file(by_file).unwrap();
            let by_flag = place.run(&[command, &["--store", url]].concat());
            let mut variable = place.command(command);
            let by_variable = Ran::of(variable.env("HOMEROOM_STORE__URL", url));
            let file = place.write("url", format!("{url}\n"));
            let mut named = place.command(command);
            let by_url_file = Ran::of(named.env("HOMEROOM_STORE__URL_FILE", file));

            for ran in [written, by_flag, by_variable, by_url_file] {
                let said = format!("{}{}", ran.stdout, ran.stderr);
                assert!(!said.contains(PASSWORD), "{command:?} {url}: {said}");
            }
        }
    }
}

#[test]
fn invalid_toml_is_reported_by_position_without_its_text() {
    for (file, words) in [
        ("[store]\nurl = postgres://me:hunter2@db/ods\n", &["line 2", "column", "`url`"][..]),
        ("[store]\nurl = 'postgres://me:hunter2@db/ods\n", &["line", "column"]),
        ("[store]\nurl = \"postgres://me:hunter2\\q@db/ods\"\n", &["line 2", "`url`"]),
        ("[store]\n\n  url 'postgres://me:hunter2@db/ods'\n", &["line 3"]),
        ("store.url = 'a'\nstore.url = 'postgres://me:hunter2@db'\n", &["line 2", "`store.url`"]),
        ("[store]\nurl = '''\nhunter2''' 'hunter2'\n", &["line 3"]),
        ("hunter2", &["line 1"]),
        ("[store]\n'postgres://me:hunter2@db' = 1\n", &["not a setting"]),
        ("[store]\nqueue = 'postgres://me:hunter2@db/ods'\n", &["store.queue"]),
        ("[store]\nqueue = ['postgres://me:hunter2@db/ods']\n", &["store.queue"]),
        ("[store]\nurl = ['postgres://me:hunter2@db/ods']\n", &["store.url"]),
        ("[log]\nlevel = 'postgres://me:hunter2@db/ods'\n", &["log.level"]),
        ("[server]\nlisten = 'postgres://me:hunter2@db/ods'\n", &["server.listen"]),
    ] {
        let place = Place::new();

        let ran = show(&place, file, &[], &[]);

        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(2), "{file}: {ran:?}");
        assert!(!said.contains(PASSWORD), "{file}: {said}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    }
}

#[test]
fn a_folder_that_is_a_url_is_refused_without_its_password() {
    let place = Place::new();
    let url = "postgres://me:hunter2@db/ods";

    let ran = show(&place, "", &[("HOMEROOM_STORE__DATA_DIR", url)], &[]);

    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!said.contains(PASSWORD), "{said}");
    for word in ["store.data_dir", "store.url"] {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
}

#[test]
fn no_command_line_is_repeated_with_its_password() {
    let place = Place::new();
    let (lab, here) = (["lab", "run", "--rate"], "http://127.0.0.1:1");
    let url = "http://me:hunter2@127.0.0.1:1/a?token=hunter2";
    for arguments in [
        &["serve", "postgres://me:hunter2@db/ods"][..],
        &["serve", "--stroe=postgres://me:hunter2@db/ods"],
        &["--store", "postgres://me:hunter2@db/ods"],
        &["serve", "--data-dir", "postgres://me:hunter2@db/ods"],
        &[&lab[..], &[url, "--target", here]].concat(),
        &[&lab[..], &["1", "--target", url]].concat(),
        &[&lab[..], &["1", "--scenario", "x", "--target", url]].concat(),
        &[&lab[..], &["1", "--target", here, "--watch", url]].concat(),
        &[&lab[..], &["1", "--target", here, "--watch=a=http://u:hunter2@h?b"]].concat(),
        &[&lab[..], &["1", "--target", here, "--key", "k", "--secret=hunter2"]].concat(),
    ] {
        let ran = place.run(arguments);

        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_ne!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert!(!said.contains(PASSWORD), "{arguments:?}: {said}");
    }
}

#[test]
fn a_url_can_be_read_from_its_own_file() {
    let place = Place::new();
    let file = place.write("url", "postgres://me:hunter2@db/ods\n");
    let name = file.display().to_string();

    let shown = show(&place, "[store]\nurl_file = 'url'\n", &[], &[]);
    let twice = show(&place, "[store]\nurl_file = 'url'\n", &[], &["--store", "sqlite:a"]);
    let absent = show(&place, "", &[("HOMEROOM_STORE__URL_FILE", "absent")], &[]);
    let by_variable = show(&place, "", &[("HOMEROOM_STORE__URL_FILE", &name)], &[]);

    let value = || "\"postgres://me:***@db/ods\"".to_owned();
    assert_eq!(setting(&shown, "store.url"), (value(), "url".into()));
    assert_eq!(setting(&by_variable, "store.url"), (value(), name));
    for (ran, words) in [
        (twice, ["store.url_file", "command line"]),
        (absent, ["HOMEROOM_STORE__URL_FILE", "absent"]),
    ] {
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{ran:?}");
    }
}

#[test]
fn the_reference_of_settings_has_every_setting_with_its_default() {
    const REFERENCE: &str = include_str!("../../../../docs/reference/settings.md");
    // Those that follow from the memory of the machine.
    const BY_MEMORY: [&str; 2] = ["store.cache_kib", "store.recent_documents"];
    let place = Place::new();
    let mut command = place.command(&["config", "show", "--json"]);
    let ran = Ran::of(command.env_remove("HOMEROOM_STORE__DATA_DIR"));
    let shown: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let rows: Vec<(&str, &str)> = REFERENCE
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(name, rest)| (name, rest.split(" | ").next().unwrap()))
        .collect();

    for (name, _) in &rows {
        assert!(shown.iter().any(|setting| setting["name"] == *name), "{name} is not shown");
    }
    let with_default: Vec<_> =
        rows.iter().filter(|(_, default)| !default.starts_with("none")).collect();
    let lists = |value: &str| value == "[]";
    let shown: Vec<_> = shown
        .iter()
        .filter_map(|setting| Some((setting["name"].as_str()?, setting["value"].as_str()?)))
        .filter(|(name, value)| !lists(value) && !BY_MEMORY.contains(name))
        .collect();
    assert!(shown.len() > 10, "{shown:?}");
    assert_eq!(with_default.len(), shown.len(), "{with_default:?} {shown:?}");
    for (name, value) in shown {
        let (_, default) = rows.iter().find(|(row, _)| *row == name).expect(name);
        assert_eq!(default.trim_matches('`'), value.trim_matches('"'), "{name}");
    }
}
