//! Tests of the program's help texts.

use serde_json::Value;

use crate::support::{Place, Ran, Server};

/// Commands whose help has no example yet.
const WITHOUT_EXAMPLE: &[&str] = &[];

/// Returns all commands that do something, as words: `["keys", "create"]`.
pub fn commands(place: &Place, above: &[String]) -> Vec<Vec<String>> {
    let help = help(place, above);
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let listed = listed.split("\n\n").next().unwrap_or("");
    // A name is indented by two blanks; its description may continue on further lines.
    let names = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    let mut found = vec![];
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        if name != "help" {
            found.extend(commands(place, &[above, &[name.to_owned()]].concat()));
        }
    }
    if found.is_empty() { vec![above.to_vec()] } else { found }
}

fn help(place: &Place, command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    place.done(&words)
}

#[test]
fn the_help_of_every_command_says_what_it_does_and_shows_an_example() {
    let place = Place::new();
    let all = commands(&place, &[]);
    for known in [&["serve"][..], &["keys", "create"], &["restore"], &["config", "show"]] {
        assert!(all.iter().any(|command| command == known), "no {known:?} in {all:?}");
    }

    for command in &all {
        let help = help(&place, command);

        let first = help.lines().next().unwrap();
        assert!(first.starts_with(char::is_uppercase) && first.len() > 10, "{command:?}: {help}");
        let example = help.split_once("Example").map_or("", |(_, rest)| rest);
        let words = command.join(" ");
        let is_shown = example.contains(&format!("homeroom {words}"));
        assert!(
            is_shown || WITHOUT_EXAMPLE.contains(&&*words),
            "no example of `homeroom {words}` in:\n{help}"
        );
        let mut lines = help.lines().filter(|line| !line.starts_with("Usage: "));
        assert!(lines.all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn there_are_completions_for_shells_and_a_page_of_the_manual_for_every_command() {
    let place = Place::new();

    for shell in ["bash", "zsh", "fish"] {
        let script = place.done(&["completion", shell]);
        assert!(script.contains("claim-set") && script.contains("rotate"), "{shell}: {script}");
    }
    for _ in 0..2 {
        place.done(&["man", "--out", "man"]);
    }

    for command in commands(&place, &[]) {
        let name = format!("homeroom-{}", command.join("-"));
        let page = std::fs::read_to_string(place.path(format!("man/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    assert!(place.path("man/homeroom.1").exists());
}

/// Splits a command line into words; a text in double quotes is one word.
fn words(call: &str) -> Vec<&str> {
    let parts = call.split('"').enumerate();
    let words = parts.map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.flatten().collect::<Vec<&str>>()
}

#[test]
fn every_example_in_the_help_is_accepted() {
    let place = Place::new();
    let mut tried = 0;
    for command in commands(&place, &[]) {
        let help = help(&place, &command);
        let examples = help.split_once("Example").map_or("", |(_, rest)| rest);
        for line in examples.replace("\\\n", " ").lines() {
            let Some((_, call)) = line.split_once("homeroom ") else { continue };
            if !call.starts_with(&command.join(" ")) {
                continue;
            }
            // With `--help` appended, the arguments are parsed and nothing is done.
            let call = call.split(['#', '|', '>']).next().unwrap();
            let mut words = words(call);
            words.push("--help");
            place.done(&words);
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried} examples");
}

#[test]
fn an_unknown_command_exits_with_code_2_and_suggests_the_nearest() {
    let place = Place::new();
    for (arguments, word) in [
        (&[][..], "Usage"),
        (&["serv"], "serve"),
        (&["keys", "creat"], "create"),
        (&["keys", "create", "--claimset", "x"], "--claim-set"),
        (&["keys", "rotate"], "<KEY>"),
        (&["backup"], "<TO>"),
    ] {
        let ran = place.run(arguments);

        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains(word), "no `{word}`: {ran:?}");
    }
    let version = place.done(&["--version"]);
    assert_eq!(version.trim(), concat!("homeroom ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_json_option_prints_only_json() {
    let place = Place::new();
    for round in ["without a server", "with a server"] {
        let _server = (round == "with a server").then(|| Server::start(&place));
        let (key, _) = place.key("FullAccess");
        for arguments in [
            &["keys", "create", "--claim-set", "SISVendor", "--json"][..],
            &["keys", "list", "--json"],
            &["keys", "explain", &key, "Create", "students", "--json"],
            &["keys", "rotate", &key, "--json"],
            &["claim-sets", "list", "--json"],
            &["claim-sets", "show", "SISVendor", "--json"],
            &["strategies", "list", "--json"],
            &["gateway", "export", "--json"],
            &["config", "show", "--json"],
            &["doctor", "--json"],
        ] {
            let mut command = place.command(arguments);
            let ran = Ran::of(command.env("HOMEROOM_LOG__LEVEL", "info"));

            assert_eq!(ran.code, Some(0), "{round}: {arguments:?}: {ran:?}");
            let printed: Result<Value, _> = serde_json::from_str(&ran.stdout);
            assert!(printed.is_ok(), "{round}: {arguments:?}: {}", ran.stdout);
        }
        let refused = place.run(&["keys", "create", "--json"]);
        assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{refused:?}");
    }
}

#[test]
fn a_closed_output_pipe_does_not_cause_a_panic() {
    let place = Place::new();
    for arguments in [["claim-sets", "list"], ["keys", "list"]] {
        let mut child = place
            .command(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());

        let output = child.wait_with_output().unwrap();

        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
}
