//! What others have written steers no terminal: commands spell it.

use homeroom_course::packed;
use serde_json::json;

use crate::support::{Learning, Place, Server};

/// Colours, a title, a cleared screen and letters from right to left.
const EVIL: &str = "\u{1b}[31m\u{1b}]0;own\u{7}\u{9b}2J\r\u{7f}\u{202e}x";

/// Runs a command and returns what it has printed, of which a terminal obeys nothing.
fn printed(place: &Place, arguments: &[&str]) -> String {
    let ran = place.run(arguments);
    let all = ran.stdout + &ran.stderr;
    let is_obeyed = |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}'));
    assert!(!all.contains(is_obeyed), "{arguments:?}: {all:?}");
    all
}

#[test]
fn what_content_tells_is_spelled_where_commands_print_it() {
    // XML has none of the other characters.
    let title = "T\u{9b}2J\u{202e}x";
    let manifest = format!(
        "<manifest><metadata><schemaversion>1.2</schemaversion></metadata><organizations>\
         <organization identifier='o'><title>{title}</title><item identifier='i' \
         identifierref='r'/></organization></organizations><resources>\
         <resource identifier='r' href='missing.html'/></resources></manifest>"
    );
    Place::on_each_store(|place| {
        let server = Server::start(place);
        let mut lms = Learning::of(place, &server);
        let package = packed(&[("imsmanifest.xml", &manifest), ("missing.html", "")]);
        assert_eq!(lms.import("c", &package)["status"], "COMPLETE");
        lms.register("r-1", "c");
        let launch = lms.launch("r-1");
        let forged = format!("{EVIL}\nforged  choice  answers 7");
        let call = json!([1, "LMSSetValue", "cmi.suspend_data", forged, "true", 0]);
        let commit = json!({ "sequence": 1, "calls": [call], "cmi": { "cmi.suspend_data": forged,
            "cmi.interactions.0.id": forged, "cmi.interactions.0.type": "choice",
            "cmi.interactions.0.student_response": forged, "cmi.objectives.0.id": forged } });
        assert_eq!(lms.commit(&launch, &commit).status, 200);
        let id = lms.boot(&launch)["launch"].as_str().unwrap().to_owned();

        let answers = printed(place, &["course", "answers", "c"]);
        let trace = printed(place, &["course", "trace", "r-1", "--launch", &id]);
        let listed = printed(place, &["course", "list"]);
        for arguments in [
            &["course", "answers", "c", "--json"][..],
            &["course", "trace", "r-1"],
            &["course", "trace", "r-1", "--launch", &id, "--json"],
            &["course", "trace", EVIL],
            &["course", "list", "--json"],
        ] {
            printed(place, arguments);
        }

        assert_eq!(answers.lines().count(), 2, "{answers}");
        assert!(answers.contains("\\u001b[31m"), "{answers}");
        assert!(!trace.lines().any(|line| line.starts_with("forged")), "{trace}");
        assert!(listed.contains("T\\u009b2J\\u202ex"), "{listed}");
        assert_eq!(place.json(&["course", "list", "--json"])[0]["title"], title);
        let told = place.json(&["course", "answers", "c", "--json"]);
        assert_eq!(told["interactions"][0]["id"], forged);
    });
}

#[test]
fn what_a_load_rejects_is_spelled_where_it_is_printed() {
    Place::on_each_store(|place| {
        let folder = format!("{EVIL}\nforged");
        std::fs::create_dir(place.path(&folder)).unwrap();
        let student = json!({ "studentUniqueId": EVIL, "nothing": EVIL });
        place.write(&format!("{folder}/students.jsonl"), format!("{student}\n"));

        let text = printed(place, &["load", &folder]);
        let lines = printed(place, &["load", &folder, "--json"]);

        assert!(text.contains("1 rejected"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
        let reject = lines.lines().find(|line| line.starts_with("{\"file\":")).unwrap();
        let reject: serde_json::Value = serde_json::from_str(reject).unwrap();
        assert_eq!(reject["file"], format!("{folder}/students.jsonl"));
    });
}
