//! The watched processes and hosts, by role and by stage.

use homeroom_load::run::{RunFile, StageResult, Watched};

/// The role of a watched process or host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It answers requests.
    Web,
    /// It stores the data for the web role.
    Database,
}

/// The server's columns of the published table: heading, place, series.
pub const COLUMNS: [(&str, Role, &str); 4] = [
    ("Web CPU %", Role::Web, "cpu_percent"),
    ("Web memory MB", Role::Web, "memory_mb"),
    ("Database CPU %", Role::Database, "cpu_percent"),
    ("Database memory MB", Role::Database, "memory_mb"),
];

/// Returns what was watched in this role: `web` or `database`, by name.
pub fn at(run: &RunFile, role: Role) -> Option<&Watched> {
    let name = match role {
        Role::Web => "web",
        Role::Database => "database",
    };
    run.server.iter().find(|watched| watched.name == name)
}

/// Returns the mean of a series during a stage; `None` if nothing was read in that time.
pub fn mean(watched: &Watched, series: &str, stage: &StageResult) -> Option<f64> {
    let series = watched.series.iter().find(|of| of.name == series)?;
    let end = stage.start_s + stage.seconds;
    let inside = series.points.iter().filter(|(at, _)| (stage.start_s..=end).contains(at));
    let (count, sum) = inside.fold((0_u32, 0.0), |(count, sum), (_, v)| (count + 1, sum + v));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the name and unit of a series: `cpu_percent` is CPU in % of one core.
pub fn wording(series: &str) -> (String, &'static str) {
    const UNITS: [(&str, &str); 9] = [
        ("_mb_s", "MB/s"),
        ("_kb_s", "kB/s"),
        ("_percent", "%"),
        ("_mb", "MB"),
        ("_kb", "kB"),
        ("_ms", "ms"),
        ("_seconds", "s"),
        ("_per_s", "1/s"),
        ("_s", "1/s"),
    ];
    let unit = UNITS.iter().find(|(ending, _)| series.ends_with(ending));
    let (bare, unit) =
        unit.map_or((series, ""), |(ending, unit)| (&series[..series.len() - ending.len()], *unit));
    let words = bare.replace('_', " ");
    match words.as_str() {
        "cpu" => ("CPU".into(), "% of one core"),
        "" => (series.to_owned(), unit),
        _ => {
            let mut letters = words.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string());
            (first.unwrap_or_default() + letters.as_str(), unit)
        }
    }
}
