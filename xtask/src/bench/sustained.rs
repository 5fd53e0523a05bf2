//! Writing for minutes: the store's example `sustained`, at several sizes, with a chart of each.

use std::path::Path;
use std::process::Command;

use super::files::text;
use super::server::STORE;
use crate::house::Done;

/// Sizes of the store at the start, unless others are given.
const SIZES: &str = "100000,1000000,10000000";
/// The option with the sizes, separated by commas.
const DOCUMENTS_BEFORE: &str = "--documents-before";
/// Options that this task or the bench has for itself.
const OWN: [&str; 4] = ["--sustained", "--small", "--no-build", "--postgres"];

/// Runs the example for each size, with the other arguments as they are.
pub fn run(arguments: &[String], folder: &Path) -> Done {
    let sizes = arguments.iter().position(|argument| argument == DOCUMENTS_BEFORE);
    let listed = sizes.and_then(|at| arguments.get(at + 1)).map_or(SIZES, String::as_str);
    let rest: Vec<&String> = arguments
        .iter()
        .enumerate()
        .filter(|(at, argument)| {
            let is_size = sizes.is_some_and(|size| *at == size || *at == size + 1);
            !is_size && !OWN.contains(&argument.as_str())
        })
        .map(|(_, argument)| argument)
        .collect();
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    for size in listed.split(',') {
        println!("From {size} documents:\n");
        let file = |ending: &str| folder.join(format!("sustained-{size}.{ending}"));
        let (json, svg) = (file("json"), file("svg"));
        let url =
            std::env::var(STORE).unwrap_or_else(|_| format!("sqlite:{}", file("db").display()));
        let done = Command::new("cargo")
            .args(["run", "--release", "--locked", "-q", "-p", "homeroom-store"])
            .args(["--example", "sustained", "--", &url, DOCUMENTS_BEFORE, size])
            .args(["--json", text(&json), "--svg", text(&svg)])
            .args(&rest)
            .status()
            .map_err(|e| e.to_string())?;
        if !done.success() {
            return Err(format!("writing from {size} documents on failed"));
        }
        println!("\nBy second: {} and {}.\n", json.display(), svg.display());
    }
    Ok(())
}
