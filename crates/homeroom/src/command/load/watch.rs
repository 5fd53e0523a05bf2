//! `homeroom load --watch DIR`: files that arrive in a folder are loaded once and moved away, each
//! with its results.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use homeroom_bulk::Summary;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};

/// Pause between two looks at the folder. A file that has not changed in between is complete.
const PAUSE: Duration = Duration::from_secs(1);
/// Where files go whose records were all loaded.
const DONE: &str = "done";
/// Where files go of which something was rejected.
const FAILED: &str = "failed";
/// The endings of the names of files that are taken.
const ENDINGS: [&str; 8] = ["xml", "json", "jsonl", "ndjson", "csv", "tsv", "gz", "zip"];
/// Longest pause after a load that failed for a reason that is not in the files.
const AWAY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Most files that are loaded together.
const TOGETHER_MAX: usize = 10_000;

/// What is seen of a file from outside.
type Look = (u64, Option<SystemTime>);

/// Loads files together, writes the results to a path and reports the summary.
pub(super) type Load<'l> = dyn FnMut(&[PathBuf], &Path) -> Result<Summary, Failure> + 'l;

/// Watches a folder until the process is told to end.
///
/// # Errors
///
/// Says why the folder cannot be used, or which arguments are wrong.
pub(super) fn run(folder: &Path, load: &mut Load<'_>) -> Result<Exit, Failure> {
    // A server that loads the files names them in its results by their whole paths.
    let folder = std::path::absolute(folder)
        .map_err(|error| Failure::because(&format!("finding {}", folder.display()), error))?;
    let folder = folder.as_path();
    for name in [DONE, FAILED] {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name));
        made.map_err(|error| Failure::because(&format!("making {name} in the folder"), error))?;
    }
    let mut before = HashMap::new();
    let mut pause = PAUSE;
    loop {
        let now = look(folder)
            .map_err(|error| Failure::because(&format!("reading {}", folder.display()), error))?;
        let mut complete: Vec<PathBuf> = now
            .iter()
            .filter(|(path, look)| before.get(*path) == Some(*look))
            .map(|(path, _)| path.clone())
            .collect();
        complete.sort();
        complete.truncate(TOGETHER_MAX);
        pause = match take_all(folder, &complete, load) {
            Ok(()) => PAUSE,
            Err(
                failure @ (Failure::Usage(_)
                | Failure::Input { .. }
                | Failure::NotAuthorized(_)
                | Failure::Told(_)),
            ) => return Err(failure),
            // The server is away, or the store is busy: the files stay, and are tried again.
            Err(failure) => {
                let next = (pause * 2).min(AWAY_PAUSE_MAX);
                let seconds = next.as_secs();
                crate::exit::say_aside!(
                    "homeroom: {failure}; the files are tried again in {seconds} s"
                );
                next
            }
        };
        before = now;
        std::thread::sleep(pause);
    }
}

/// Loads files together. One that cannot be used at all is moved away, and the others are loaded.
fn take_all(folder: &Path, files: &[PathBuf], load: &mut Load<'_>) -> Result<(), Failure> {
    let mut files = files.to_vec();
    while !files.is_empty() {
        let (bad, problem) = match take(folder, &files, load) {
            Err(Failure::Input { input, problem }) if files.contains(&input) => {
                (vec![input], problem)
            }
            // All are lists without files.
            Err(Failure::NothingToLoad(problem)) => (files.clone(), problem),
            done => return done,
        };
        for file in bad.iter().filter(|file| file.exists()) {
            let reject = json!({
                "file": file, "line": 1, "message": format!("{problem}."),
                "hint": "Mend the file and put it into the folder again.", "count": 1,
            });
            let summary = Summary { rejected: 1, files: 1, ..Summary::default() };
            put_away(folder, file, &[&reject.to_string()], true, &summary)?;
        }
        files.retain(|file| !bad.contains(file));
    }
    Ok(())
}

/// Returns the files in a folder that are to be loaded.
fn look(folder: &Path) -> std::io::Result<HashMap<PathBuf, Look>> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_wanted = ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
        // A file may be gone again, or be a link that leads nowhere.
        let Ok(about) = std::fs::metadata(&path) else { continue };
        if is_wanted && about.is_file() && !name.starts_with(b".") {
            found.insert(path, (about.len(), about.modified().ok()));
        }
    }
    Ok(found)
}

/// Loads files together and moves them away.
fn take(folder: &Path, files: &[PathBuf], load: &mut Load<'_>) -> Result<(), Failure> {
    let wrong = |what: &'static str| move |error: std::io::Error| Failure::because(what, error);
    let results = folder.join(format!(".{}.results.jsonl", std::process::id()));
    let summary = load(files, &results)?;
    let text = std::fs::read_to_string(&results).map_err(wrong("reading the results"))?;
    _ = std::fs::remove_file(&results);
    let mut of_each: HashMap<&Path, Vec<&str>> = HashMap::new();
    let mut rest = vec![];
    for line in text.lines() {
        let reject: Value = serde_json::from_str(line).unwrap_or_default();
        let Some(place) = reject["file"].as_str().map(Path::new) else { continue };
        // A file in an archive is below it.
        match files.iter().find(|file| place.starts_with(file)) {
            Some(file) => of_each.entry(file).or_default().push(line),
            None => rest.push(line),
        }
    }
    for file in files {
        // What concerns no single file concerns all of them.
        let lines: Vec<&str> = of_each
            .remove(file.as_path())
            .into_iter()
            .flatten()
            .chain(rest.iter().copied())
            .collect();
        let has_failed = lines.iter().any(|line| !is_duplicate(line));
        put_away(folder, file, &lines, has_failed, &summary)?;
    }
    Ok(())
}

/// Whether a line of results tells of a record that was loaded, but repeats another.
fn is_duplicate(line: &str) -> bool {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    line["repeats"].is_object()
}

/// Moves a file away, with its results.
fn put_away(
    folder: &Path,
    file: &Path,
    lines: &[&str],
    has_failed: bool,
    summary: &Summary,
) -> Result<(), Failure> {
    let wrong = |what: &'static str| move |error: std::io::Error| Failure::because(what, error);
    let to = free(&folder.join(if has_failed { FAILED } else { DONE }), file);
    let mut text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
    text += &json!({ "summary": summary }).to_string();
    text.push('\n');
    let about = to.with_added_extension("results.jsonl");
    let mut options = std::fs::File::options();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(about);
    let written = opened.and_then(|mut out| out.write_all(text.as_bytes()));
    written.map_err(wrong("writing the results of a file"))?;
    std::fs::rename(file, &to).map_err(wrong("moving a file"))
}

/// Returns a path in a folder that no file has.
fn free(folder: &Path, file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    let own = folder.join(name);
    let numbered =
        (2_u64..).map(|number| folder.join(format!("{number}-{}", name.to_string_lossy())));
    std::iter::once(own)
        .chain(numbered)
        .find(|path| path.symlink_metadata().is_err())
        .expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;

    /// Puts files into a folder, takes them, and returns what was loaded together, and how it ended.
    fn taken(
        names: &[&str],
        fails: impl Fn(&[String]) -> Option<Failure>,
    ) -> (Vec<Vec<String>>, Result<(), Failure>, Folder) {
        let made = Folder::new();
        let folder = made.path();
        for name in [DONE, FAILED] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        for file in &files {
            std::fs::write(file, "x").unwrap();
        }
        let mut loads = vec![];
        let done = take_all(folder, &files, &mut |files, results| {
            let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
            let names: Vec<String> = files.iter().map(name).collect();
            loads.push(names.clone());
            if let Some(failure) = fails(&names) {
                return Err(match failure {
                    Failure::Input { input, problem } => {
                        Failure::Input { input: folder.join(input), problem }
                    }
                    other => other,
                });
            }
            std::fs::write(results, "").unwrap();
            Ok(Summary::default())
        });
        (loads, done, made)
    }

    #[test]
    fn a_bad_file_is_taken_out_and_the_others_are_loaded_together() {
        let bad = |names: &[String]| {
            let input = names.iter().find(|name| name.starts_with("bad"))?.into();
            // The words of the fault do not matter.
            Some(Failure::Input { input, problem: "no such mapping".into() })
        };

        let names = ["a-enrolments.jsonl", "bad-1.json", "bad-2.json", "students.jsonl"];
        let (loads, done, folder) = taken(&names, bad);

        assert!(done.is_ok(), "{done:?}");
        assert_eq!(loads.len(), 3, "{loads:?}");
        assert_eq!(loads[2], ["a-enrolments.jsonl", "students.jsonl"]);
        for (name, place) in names.iter().zip([DONE, FAILED, FAILED, DONE]) {
            assert!(folder.path().join(place).join(name).is_file(), "{name} in {place}");
        }
    }

    #[test]
    fn faults_of_the_arguments_move_no_file_whatever_their_words() {
        for failure in [
            || Failure::Usage("no file to load: it is /tmp".into()),
            || Failure::Input { input: "/map.toml".into(), problem: "it is no mapping".into() },
        ] {
            let (_, done, folder) = taken(&["a.jsonl", "b.jsonl"], |_| Some(failure()));

            assert!(done.is_err());
            let is_there = |name: &str| folder.path().join(name).is_file();
            assert!(is_there("a.jsonl") && is_there("b.jsonl"));
        }
    }

    #[test]
    fn lists_without_files_fail() {
        let nothing = |_: &[String]| Some(Failure::NothingToLoad("nothing".into()));

        let (loads, done, folder) = taken(&["a.xml", "b.xml"], nothing);

        assert!(done.is_ok() && loads.len() == 1, "{loads:?}");
        assert!(folder.path().join(FAILED).join("b.xml").is_file());
    }
}
