//! `cargo xtask gen`: writes the pages that are generated from the code they describe.

mod examples;
mod problems;
mod settings;

use std::path::PathBuf;

use crate::house::{Done, read, root, shown};

/// A generated page: its path and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// Returns every generated page.
fn pages() -> Vec<Page> {
    let reference = root().join("docs/reference");
    vec![
        Page { path: reference.join("problems.md"), text: problems::page() },
        Page { path: reference.join("settings.md"), text: settings::page() },
        Page { path: root().join("models/ed-fi/5.2.0/examples.jsonl"), text: examples::lines() },
    ]
}

/// Writes the pages.
///
/// # Errors
///
/// If a page cannot be written.
pub fn run(_: &[String]) -> Done {
    for Page { path, text } in pages() {
        let failed = |error| format!("{}: {error}", shown(&path));
        let folder = path.parent().expect("a page stands in a folder");
        std::fs::create_dir_all(folder).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)?;
        eprintln!("wrote {}", shown(&path));
    }
    Ok(())
}

/// Checks that the pages are up to date.
///
/// # Errors
///
/// Names each page that is not.
pub fn check() -> Done {
    let stale: Vec<String> = pages()
        .iter()
        .filter(|page| read(&page.path).ok().as_ref() != Some(&page.text))
        .map(|page| format!("{} is stale: run `cargo xtask gen`", shown(&page.path)))
        .collect();
    if stale.is_empty() { Ok(()) } else { Err(stale.join("\n")) }
}
