//! Reads definitions from files, and writes them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::check::{Finding, Others, check_alone, hints};
use crate::definition::{Definition, Published};
use crate::edit::free_name;
use crate::places::{Form, Places};
use crate::sent::{self, Sent};

/// Most bytes of a file.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// What [`lint`] has found.
#[derive(Debug, Default)]
pub struct Linted {
    /// What keeps it from being published.
    pub findings: Vec<Finding>,
    /// What its author should know, and may be meant.
    pub hints: Vec<Finding>,
    /// How many APIs it has.
    pub apis: usize,
}

/// Reads a file, or all `.toml` files of a folder as one definition, and checks them. What else is published is not
/// known here: whether there is a plan that they only name, for example.
///
/// # Errors
///
/// All that is wrong, with file and line.
pub fn read(path: &Path) -> Result<Published, Vec<Finding>> {
    read_with_sources(path).map(|(all, _)| all)
}

/// Does the same, and says what the author should know.
pub fn lint(path: &Path) -> Linted {
    match read_with_sources(path) {
        Ok((all, sources)) => {
            let text = |document: &str| all.documents.get(document).map(String::as_str);
            let mut hints = hints(&all.definition, Others::Unknown, &text);
            add_places(&mut hints, &sources);
            Linted { findings: vec![], hints, apis: all.definition.apis.len() }
        }
        Err(findings) => Linted { findings, ..Linted::default() },
    }
}

fn read_with_sources(path: &Path) -> Result<(Published, Vec<Source>), Vec<Finding>> {
    let mut all = Published::default();
    let (mut found, mut sources) = (vec![], vec![]);
    for file in files(path).map_err(|finding| vec![finding])? {
        match read_file(&file, &mut all.documents) {
            Ok((source, definition)) => {
                sources.push(source);
                all.definition.plans.extend(definition.plans);
                all.definition.apis.extend(definition.apis);
            }
            Err(findings) => found.extend(findings),
        }
    }
    if found.is_empty() {
        found = check_alone(&all, Others::Unknown);
        add_places(&mut found, &sources);
    }
    if found.is_empty() { Ok((all, sources)) } else { Err(found) }
}

/// Adds file and line to the lines of a message that begin with the path of a member, `apis[0].upstream: `:
/// what only a server can tell it says without knowing the files.
pub fn located(path: &Path, message: &str) -> String {
    let (mut documents, mut sources) = (BTreeMap::new(), vec![]);
    for file in files(path).unwrap_or_default() {
        if let Ok((source, _)) = read_file(&file, &mut documents) {
            sources.push(source);
        }
    }
    let located = message.lines().map(|line| {
        let Some((path, message)) = line.split_once(": ").filter(|(path, _)| is_place(path)) else {
            return line.to_owned();
        };
        let mut found = [Finding::at(path, message)];
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
    form: Form,
    plans: usize,
    apis: usize,
}

/// Adds file and line to findings, whose numbers count over all files; afterwards they count in their file.
fn add_places(found: &mut [Finding], sources: &[Source]) {
    if found.is_empty() {
        return;
    }
    let all_places: Vec<Places> =
        sources.iter().map(|source| Places::of(&source.text, source.form)).collect();
    for finding in found {
        for kind in ["plans", "apis"] {
            let Some((mut number, rest)) = numbered(&finding.path, kind) else { continue };
            for (source, places) in sources.iter().zip(&all_places) {
                let count = if kind == "plans" { source.plans } else { source.apis };
                if number >= count {
                    number -= count;
                    continue;
                }
                let path = format!("{kind}[{number}]{rest}");
                finding.file.clone_from(&source.file);
                finding.line = places.line(&path);
                finding.path = path;
                break;
            }
        }
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
        let message = "the folder has no .toml file";
        return Err(Finding { file: path.display().to_string(), ..Finding::at("", message) });
    }
    Ok(files)
}

fn broken(path: &Path, error: &dyn std::fmt::Display) -> Finding {
    let message = format!("it cannot be read: {error}");
    Finding { file: path.display().to_string(), ..Finding::at("", message) }
}

fn read_text(path: &Path) -> Result<String, Finding> {
    let about = std::fs::metadata(path).map_err(|error| broken(path, &error))?;
    if about.len() > FILE_BYTES_MAX {
        return Err(broken(path, &format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| broken(path, &error))
}

/// Reads one file, and the documents that it names: those within it, or files beside it.
fn read_file(
    file: &Path,
    documents: &mut BTreeMap<String, String>,
) -> Result<(Source, Definition), Vec<Finding>> {
    let text = read_text(file).map_err(|finding| vec![finding])?;
    let form = sent::form_of(&text);
    let of_this = |finding| Finding { file: file.display().to_string(), ..finding };
    let read = sent::read(&text, form);
    let read = read.map_err(|found| found.into_iter().map(of_this).collect::<Vec<_>>())?;
    let (mut definition, within) = (read.definition, read.documents);
    let folder = file.parent().unwrap_or(Path::new(""));
    for api in &mut definition.apis {
        let Some(name) = &mut api.openapi else { continue };
        let own = within.get(&*name).cloned();
        let Some(text) = own.or_else(|| read_text(&folder.join(&*name)).ok()) else { continue };
        let short = Path::new(&*name)
            .file_name()
            .map_or_else(|| name.clone(), |short| short.to_string_lossy().into_owned());
        *name = keep_document(documents, &short, text);
    }
    let (plans, apis) = (definition.plans.len(), definition.apis.len());
    let source = Source { file: file.display().to_string(), text, form, plans, apis };
    Ok((source, definition))
}

/// Adds a document and returns its name, which differs from `short` where another has that already:
/// two folders may have documents of one name.
fn keep_document(documents: &mut BTreeMap<String, String>, short: &str, text: String) -> String {
    let unique = free_name(short, |name| documents.get(name).is_some_and(|other| *other != text));
    documents.insert(unique.clone(), text);
    unique
}

/// Writes a definition as TOML. Its documents are files beside it.
///
/// # Errors
///
/// What TOML cannot state: a null that is added to a body.
pub fn write(definition: &Definition) -> Result<String, String> {
    toml::to_string(definition).map_err(|error| error.to_string())
}

/// Writes a definition as TOML with its documents in it.
///
/// # Errors
///
/// What TOML cannot state: a null that is added to a body.
pub fn write_whole(published: &Published) -> Result<String, String> {
    toml::to_string(&Sent::from(published.clone())).map_err(|error| error.to_string())
}

/// Writes a definition as files of one folder, by their names: the plans, each API, and the documents.
///
/// # Errors
///
/// What TOML cannot state: a null that is added to a body.
pub fn write_folder(published: &Published) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    let mut free = |name: &str| {
        let unique = free_name(name, |name| taken.contains(&name.to_lowercase()));
        taken.insert(unique.to_lowercase());
        unique
    };
    let Definition { plans, apis } = published.definition.clone();
    if !plans.is_empty() {
        files.insert(free("plans.toml"), write(&Definition { plans, apis: vec![] })?);
    }
    let mut names = BTreeMap::new();
    for (name, text) in &published.documents {
        let mut own = file_name(name);
        if Path::new(&own).extension().is_none_or(|ending| ending.eq_ignore_ascii_case("toml")) {
            own.push_str(".yaml");
        }
        let own = free(&own);
        files.insert(own.clone(), text.clone());
        names.insert(name, own);
    }
    for mut api in apis {
        if let Some(own) = api.openapi.as_ref().and_then(|name| names.get(name)) {
            api.openapi = Some(own.clone());
        }
        let file = free(&format!("{}.toml", file_name(&api.name)));
        files.insert(file, write(&Definition { plans: vec![], apis: vec![api] })?);
    }
    Ok(files)
}

/// Returns a name that leads to no other folder.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    if plain.starts_with('.') { format!("-{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_file_for_each_api_and_no_name_leads_out_of_it() {
        let api = |name: &str, document: &str| {
            let text = format!(
                r#"{{"name": "{name}", "context": "{name}", "version": "v1", "openapi": "{document}"}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let apis = vec![api("a b", "../../etc/x"), api("A-b", "c.toml"), api("plans", "c.toml")];
        let plan = serde_json::from_str(r#"{"name": "p", "quota": "1/day"}"#).unwrap();
        let published = Published {
            definition: Definition { plans: vec![plan], apis },
            documents: [("../../etc/x", "1"), ("c.toml", "2")]
                .map(|(a, b)| (a.into(), b.into()))
                .into(),
        };

        let files = write_folder(&published).unwrap();

        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let expected =
            ["-..-..-etc-x", "2-A-b.toml", "2-plans.toml", "a-b.toml", "c.toml.yaml", "plans.toml"];
        assert_eq!(names, expected);
        assert!(files["2-A-b.toml"].contains("openapi = \"c.toml.yaml\""), "{files:?}");
        assert!(files["a-b.toml"].contains("openapi = \"-..-..-etc-x\""), "{files:?}");
    }
}
