//! `cargo xtask dist`: the program as it is given to others, with manual, completions and checksums.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::house::{Done, cargo, root, shown, succeed};

/// The file with the checksums, as `sha256sum --check` reads it.
const SUMS: &str = "SHA256SUMS";
/// Shells for which there are completions, and the names of their files.
const SHELLS: [(&str, &str); 3] =
    [("bash", "homeroom.bash"), ("zsh", "_homeroom"), ("fish", "homeroom.fish")];

/// Builds a release without symbols, or takes `--binary FILE`, and writes `target/dist`.
///
/// # Errors
///
/// If it does not build, or a file cannot be written.
pub fn run(arguments: &[String]) -> Done {
    let binary = match arguments {
        [] => built()?,
        [option, file] if option == "--binary" => PathBuf::from(file),
        _ => return Err("usage: cargo xtask dist [--binary FILE]".into()),
    };
    let folder = root().join("target/dist");
    _ = std::fs::remove_dir_all(&folder);
    let failed = |error: std::io::Error| format!("{}: {error}", shown(&folder));
    std::fs::create_dir_all(folder.join("completions")).map_err(failed)?;
    let program = folder.join("homeroom");
    std::fs::copy(&binary, &program).map_err(|error| format!("{}: {error}", shown(&binary)))?;
    succeed(Command::new(&program).arg("man").arg("--out").arg(folder.join("man")))?;
    for (shell, name) in SHELLS {
        let script = Command::new(&program).args(["completion", shell]).output().map_err(failed)?;
        std::fs::write(folder.join("completions").join(name), script.stdout).map_err(failed)?;
    }
    let mut sums = String::new();
    for file in files(&folder).map_err(failed)? {
        let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
        _ = writeln!(sums, "{}  {name}", sum(&file).map_err(failed)?);
    }
    std::fs::write(folder.join(SUMS), sums).map_err(failed)?;
    let bytes = std::fs::metadata(&program).map_err(failed)?.len();
    println!("{}: homeroom has {} MB", shown(&folder), bytes / 1_000_000);
    Ok(())
}

/// Builds the release, whose symbols are left out: they are most of its size.
fn built() -> Result<PathBuf, String> {
    if !root().join("web/dist/shell.html").is_file() {
        eprintln!(
            "the course player is not built, so that the program will not have it; first: npm ci && npm run build, in web"
        );
    }
    let mut build = cargo(&["build", "--release", "--locked", "--package", "homeroom"]);
    succeed(build.env("CARGO_PROFILE_RELEASE_STRIP", "symbols"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(root().join(target).join("release/homeroom"))
}

/// Returns all files below a folder, in order.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn sum(file: &Path) -> std::io::Result<String> {
    let (mut file, mut hash) = (std::fs::File::open(file)?, Sha256::new());
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part)? {
            0 => break,
            count => hash.update(&part[..count]),
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
