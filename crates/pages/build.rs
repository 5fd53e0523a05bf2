//! Lists what `npm run build` has made in `web/dist`, for the program to include.
//!
//! The folder is always there (Git keeps an ignore file in it), so that Cargo runs this again only
//! when something in it changes. Without built pages the list is empty and everything still builds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = variable("CARGO_MANIFEST_DIR").join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed={}", table().display());
    let found = files(&dist)?;
    // Scripts contain the table; without pages there is nothing that could be old.
    if !found.is_empty() && fs::read(dist.join(OF_TABLE)).ok() != Some(fs::read(table())?) {
        println!(
            "cargo::warning=web/dist is of another models/tables/cmi.toml: run npm run build in web"
        );
    }
    let mut code = String::from("const FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in found {
        let path = fs::canonicalize(path)?.to_string_lossy().into_owned();
        writeln!(code, "    ({name:?}, include_bytes!({path:?})),").map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    fs::write(variable("OUT_DIR").join("files.rs"), code)
}

/// The copy of the table of elements that the pages in the folder were built with.
const OF_TABLE: &str = ".cmi.toml";

/// The table of elements.
fn table() -> PathBuf {
    variable("CARGO_MANIFEST_DIR").join("../../models/tables/cmi.toml")
}

/// The built files, by name: the pages of the folder and what is in `assets/`.
fn files(dist: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = vec![];
    for (folder, prefix) in [(dist.to_owned(), ""), (dist.join("assets"), "assets/")] {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() && !name.starts_with('.') {
                found.push((format!("{prefix}{name}"), entry.path()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A variable that Cargo sets for build scripts.
fn variable(name: &str) -> PathBuf {
    env::var_os(name).expect("Cargo sets it for build scripts").into()
}
