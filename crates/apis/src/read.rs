//! Reads definitions from files, and writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::check::{Finding, check};
use crate::definition::{Definition, Published};

/// Most bytes of a file.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Reads a file, or all `.toml` files of a folder as one definition, and checks them.
///
/// # Errors
///
/// All that is wrong, with file and line.
pub fn read(path: &Path) -> Result<Published, Vec<Finding>> {
    let mut all = Published::default();
    let (mut found, mut places) = (vec![], vec![]);
    for file in files(path).map_err(|finding| vec![finding])? {
        match read_file(&file, &mut all.documents) {
            Ok((text, definition)) => {
                let shown = file.display().to_string();
                for (kind, count) in
                    [("plans", definition.plans.len()), ("apis", definition.apis.len())]
                {
                    let lines = lines_of(&text, kind);
                    places.extend((0..count).map(|number| {
                        (kind, shown.clone(), lines.get(number).copied().unwrap_or(0))
                    }));
                }
                all.definition.plans.extend(definition.plans);
                all.definition.apis.extend(definition.apis);
            }
            Err(finding) => found.push(finding),
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let with_place = |mut finding: Finding| {
        let place = ["plans", "apis"].iter().find_map(|kind| {
            let number = finding.path.strip_prefix(kind)?.strip_prefix('[')?;
            let number: usize = number.split(']').next()?.parse().ok()?;
            places.iter().filter(|(of, ..)| of == kind).nth(number)
        });
        if let Some((_, file, line)) = place {
            finding.file.clone_from(file);
            finding.line = *line;
        }
        finding
    };
    let found: Vec<Finding> = check(&all).into_iter().map(with_place).collect();
    if found.is_empty() { Ok(all) } else { Err(found) }
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
    let mut definition: Definition = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
        let message = error.message().to_owned();
        Finding { file: file.display().to_string(), line, path: String::new(), message }
    })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    for api in &mut definition.apis {
        let Some(name) = &mut api.openapi else { continue };
        let Ok(text) = read_text(&folder.join(&*name)) else { continue };
        let short = Path::new(&*name)
            .file_name()
            .map_or_else(|| name.clone(), |short| short.to_string_lossy().into_owned());
        // Two folders may have documents of one name.
        let mut unique = short.clone();
        let mut number = 2;
        while documents.get(&unique).is_some_and(|other| *other != text) {
            unique = format!("{number}-{short}");
            number += 1;
        }
        documents.insert(unique.clone(), text);
        *name = unique;
    }
    Ok((text, definition))
}

/// Returns the lines on which tables of an array such as `[[apis]]` begin.
fn lines_of(text: &str, kind: &str) -> Vec<usize> {
    let header = format!("[[{kind}]]");
    let begins = |line: &str| line.split('#').next().unwrap_or_default().trim() == header;
    text.lines().enumerate().filter(|(_, line)| begins(line)).map(|(at, _)| at + 1).collect()
}

/// Writes a definition as TOML.
///
/// # Errors
///
/// What TOML cannot state: a null that is added to a body.
pub fn write(definition: &Definition) -> Result<String, String> {
    toml::to_string(definition).map_err(|error| error.to_string())
}
