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
    let bytes = write(&binary, &folder)?;
    println!("{}: homeroom has {} MB", shown(&folder), bytes / 1_000_000);
    Ok(())
}

/// Writes the folder anew around a program without its symbols, which are most of its size; returns that size
/// in bytes.
fn write(binary: &Path, folder: &Path) -> Result<u64, String> {
    _ = std::fs::remove_dir_all(folder);
    let failed = |error: std::io::Error| format!("{}: {error}", shown(folder));
    std::fs::create_dir_all(folder.join("completions")).map_err(failed)?;
    let program = folder.join("homeroom");
    std::fs::copy(binary, &program).map_err(|error| format!("{}: {error}", shown(binary)))?;
    if has_symbols(&std::fs::read(&program).map_err(failed)?) {
        succeed(Command::new("strip").arg(&program))?;
    }
    if has_symbols(&std::fs::read(&program).map_err(failed)?) {
        return Err(format!("{} still has its symbols", shown(&program)));
    }
    succeed(Command::new(&program).arg("man").arg("--out").arg(folder.join("man")))?;
    for (shell, name) in SHELLS {
        let script = Command::new(&program).args(["completion", shell]).output().map_err(failed)?;
        if !script.status.success() {
            let said = String::from_utf8_lossy(&script.stderr);
            return Err(format!("completion {shell}: {said}"));
        }
        std::fs::write(folder.join("completions").join(name), script.stdout).map_err(failed)?;
    }
    let mut sums = String::new();
    for file in files(folder).map_err(failed)? {
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        _ = writeln!(sums, "{}  {name}", sum(&file).map_err(failed)?);
    }
    std::fs::write(folder.join(SUMS), sums).map_err(failed)?;
    Ok(std::fs::metadata(&program).map_err(failed)?.len())
}

/// Builds the release without symbols.
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

/// Returns whether a program of 64 bits has a table of symbols.
///
/// Source: ELF-64 Object File Format, section headers (`SHT_SYMTAB`).
fn has_symbols(program: &[u8]) -> bool {
    const SYMBOLS: u64 = 2;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let sections = || {
        let (start, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
        Some((0..count).filter_map(move |section| {
            number(usize::try_from(start + section * size).ok()?.checked_add(4)?, 4)
        }))
    };
    program.starts_with(b"\x7fELF")
        && sections().is_some_and(|mut kinds| kinds.any(|kind| kind == SYMBOLS))
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_for_others_has_program_manual_completions_and_right_checksums() {
        let scratch = std::env::temp_dir().join(format!("hr-dist-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let program = scratch.join("program");
        let script = "#!/bin/sh\ncase $1 in\n\
            man) mkdir -p \"$3\"; echo page > \"$3/homeroom.1\";;\n\
            completion) echo \"for $2\";;\nesac\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let folder = scratch.join("dist");

        let bytes = write(&program, &folder).unwrap();

        assert_eq!(bytes, script.len() as u64);
        let names: Vec<_> = files(&folder).unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|file| file.strip_prefix(&folder).unwrap().to_str().unwrap())
            .collect();
        let mut expected = vec!["SHA256SUMS", "homeroom", "man/homeroom.1"];
        expected.extend(["completions/_homeroom", "completions/homeroom.bash"]);
        expected.push("completions/homeroom.fish");
        expected.sort_unstable();
        assert_eq!(names, expected);
        let mut check = Command::new("sha256sum");
        let checked = check.args(["--check", SUMS]).current_dir(&folder).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
        assert_eq!(String::from_utf8_lossy(&checked.stdout).matches(": OK").count(), 5);
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn a_program_with_symbols_is_told_from_one_without() {
        let own = std::env::current_exe().unwrap();
        let stripped = std::env::temp_dir().join(format!("hr-strip-{}", std::process::id()));
        let mut strip = Command::new("strip");

        let strip = strip.arg("--strip-all").arg("-o").arg(&stripped).arg(&own).output();

        assert!(has_symbols(&std::fs::read(&own).unwrap()));
        assert!(!has_symbols(b"#!/bin/sh\n"));
        if !strip.is_ok_and(|done| done.status.success()) {
            println!("skipped: strip is not installed");
            return;
        }
        assert!(!has_symbols(&std::fs::read(&stripped).unwrap()));
        std::fs::remove_file(&stripped).unwrap();
    }
}
