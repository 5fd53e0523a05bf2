//! What took longest to build, from the page that `cargo --timings` writes.

use std::time::Duration;

use serde::Deserialize;

use crate::house::{read, target};

/// What cargo compiled or ran: a crate's library, a program, a build script.
#[derive(Deserialize)]
struct Unit {
    name: String,
    /// What of the crate it is, with a leading space; empty for a library.
    target: String,
    /// How long it took to compile or run, in seconds.
    duration: f64,
}

/// Returns what the last build compiled, and how long each took; empty if cargo has written no such
/// page, whose form it does not promise.
pub fn units() -> Vec<(String, Duration)> {
    let page = target().join("cargo-timings/cargo-timing.html");
    read(&page).map(|page| units_of(&page)).unwrap_or_default()
}

fn units_of(page: &str) -> Vec<(String, Duration)> {
    let list = page.split_once("UNIT_DATA = ").map_or("[]", |(_, list)| list);
    let first = serde_json::Deserializer::from_str(list).into_iter::<Vec<Unit>>().next();
    let Some(Ok(units)) = first else { return vec![] };
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    units
        .into_iter()
        .map(|unit| (format!("{}{}", unit.name, unit.target), seconds(unit.duration)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_the_script_of_the_page() {
        let page = r#"<script>const UNIT_DATA = [
            {"i": 0, "name": "syn", "target": "", "duration": 4.5, "sections": null},
            {"i": 1, "name": "ring", "target": " build-script (run)", "duration": 0.25}
        ];
        const OTHER = [];</script>"#;

        let found = units_of(page);

        let wanted = [("syn", 4_500), ("ring build-script (run)", 250)];
        let wanted = wanted.map(|(name, ms)| (name.to_owned(), Duration::from_millis(ms)));
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_page_of_another_form_has_no_units() {
        assert!(units_of("<p>UNIT_DATA is elsewhere</p>").is_empty());
    }
}
