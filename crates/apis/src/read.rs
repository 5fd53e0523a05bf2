//! Reads definitions from files, and writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::check::{Finding, check};
use crate::definition::{Definition, Published};
use crate::edit::free_name;
use crate::places::{Form, Places};
use crate::sent;

/// Most bytes of a file.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Reads a file, or all `.toml` files of a folder as one definition, and checks them.
///
/// # Errors
///
/// All that is wrong, with file and line.
pub fn read(path: &Path) -> Result<Published, Vec<Finding>> {
    let mut all = Published::default();
    let (mut found, mut sources) = (vec![], vec![]);
    for file in files(path).map_err(|finding| vec![finding])? {
        match read_file(&file, &mut all.documents) {
            Ok((text, definition)) => {
                let (plans, apis) = (definition.plans.len(), definition.apis.len());
                sources.push(Source { file: file.display().to_string(), text, plans, apis });
                all.definition.plans.extend(definition.plans);
                all.definition.apis.extend(definition.apis);
            }
            Err(finding) => found.push(finding),
        }
    }
    if found.is_empty() {
        found = check(&all);
        add_places(&mut found, &sources);
    }
    if found.is_empty() { Ok(all) } else { Err(found) }
}

/// Adds file and line to the lines of a message that begin with the path of a member, `apis[0].upstream: `:
/// what only a server can tell it says without knowing the files.
pub fn located(path: &Path, message: &str) -> String {
    let (mut documents, mut sources) = (BTreeMap::new(), vec![]);
    for file in files(path).unwrap_or_default() {
        if let Ok((text, definition)) = read_file(&file, &mut documents) {
            let (plans, apis) = (definition.plans.len(), definition.apis.len());
            sources.push(Source { file: file.display().to_string(), text, plans, apis });
        }
    }
    let located = message.lines().map(|line| {
        let Some((path, message)) = line.split_once(": ").filter(|(path, _)| is_place(path)) else {
            return line.to_owned();
        };
        let (path, message) = (path.to_owned(), message.to_owned());
        let mut found = [Finding { file: String::new(), line: 0, path, message }];
        add_places(&mut found, &sources);
        found[0].to_string()
    });
    located.collect::<Vec<_>>().join("\n")
}

fn is_place(path: &str) -> bool {
    ["apis", "plans"].iter().any(|kind| numbered(path, kind).is_some())
}

/// A file that was read.
struct Source {
    file: String,
    text: String,
    plans: usize,
    apis: usize,
}

/// Adds file and line to findings, whose numbers count over all files.
fn add_places(found: &mut [Finding], sources: &[Source]) {
    if found.is_empty() {
        return;
    }
    let (mut plans, mut apis) = (0, 0);
    for source in sources {
        let places = Places::of(&source.text, Form::Toml);
        for finding in &mut *found {
            for (kind, before, count) in
                [("plans", plans, source.plans), ("apis", apis, source.apis)]
            {
                let Some((number, rest)) = numbered(&finding.path, kind) else { continue };
                if (before..before + count).contains(&number) {
                    finding.file.clone_from(&source.file);
                    finding.line = places.line(&format!("{kind}[{}]{rest}", number - before));
                }
            }
        }
        plans += source.plans;
        apis += source.apis;
    }
}

/// Returns number and rest of a path such as `apis[3].name`.
fn numbered<'a>(path: &'a str, kind: &str) -> Option<(usize, &'a str)> {
    let (number, rest) = path.strip_prefix(kind)?.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Finding> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| broken(path, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    if files.is_empty() {
        let message = "the folder has no .toml file".to_owned();
        return Err(Finding {
            file: path.display().to_string(),
            line: 0,
            path: String::new(),
            message,
        });
    }
    Ok(files)
}

fn broken(path: &Path, error: &dyn std::fmt::Display) -> Finding {
    let message = format!("it cannot be read: {error}");
    Finding { file: path.display().to_string(), line: 0, path: String::new(), message }
}

fn read_text(path: &Path) -> Result<String, Finding> {
    let about = std::fs::metadata(path).map_err(|error| broken(path, &error))?;
    if about.len() > FILE_BYTES_MAX {
        return Err(broken(path, &format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| broken(path, &error))
}

/// Reads one file, and the documents that it names.
fn read_file(
    file: &Path,
    documents: &mut BTreeMap<String, String>,
) -> Result<(String, Definition), Finding> {
    let text = read_text(file)?;
    let mut definition = sent::of_file(&text)
        .map_err(|finding| Finding { file: file.display().to_string(), ..finding })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    for api in &mut definition.apis {
        let Some(name) = &mut api.openapi else { continue };
        let Ok(text) = read_text(&folder.join(&*name)) else { continue };
        let short = Path::new(&*name)
            .file_name()
            .map_or_else(|| name.clone(), |short| short.to_string_lossy().into_owned());
        *name = keep_document(documents, &short, text);
    }
    Ok((text, definition))
}

/// Adds a document and returns its name, which differs from `short` where another has that already:
/// two folders may have documents of one name.
fn keep_document(documents: &mut BTreeMap<String, String>, short: &str, text: String) -> String {
    let unique = free_name(short, |name| documents.get(name).is_some_and(|other| *other != text));
    documents.insert(unique.clone(), text);
    unique
}

/// Writes a definition as TOML.
///
/// # Errors
///
/// What TOML cannot state: a null that is added to a body.
pub fn write(definition: &Definition) -> Result<String, String> {
    toml::to_string(definition).map_err(|error| error.to_string())
}
