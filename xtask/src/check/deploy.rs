//! Checks the files under `deploy` with the tools that read them, where they are installed.

use std::path::Path;
use std::process::Command;

use crate::house::{Done, read, root};

/// Instructions of a container file.
///
/// Source: Dockerfile reference.
const INSTRUCTIONS: [&str; 12] = [
    "FROM",
    "COPY",
    "RUN",
    "USER",
    "WORKDIR",
    "VOLUME",
    "ENV",
    "EXPOSE",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
];
/// The page with every setting.
const SETTINGS: &str = "docs/reference/settings.md";

/// Checks all files.
///
/// # Errors
///
/// What is wrong in which file.
pub fn check() -> Done {
    let folder = root().join("deploy");
    let settings = read(&root().join(SETTINGS))?;
    container(&read(&folder.join("Containerfile"))?, &settings)
        .map_err(|problem| format!("deploy/Containerfile: {problem}"))?;
    let scratch = root().join("target/deploy");
    std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    unit(&read(&folder.join("homeroom.service"))?, &scratch)
        .map_err(|problem| format!("deploy/homeroom.service: {problem}"))?;
    proxy(&folder.join("nginx.conf"), &scratch)
        .map_err(|problem| format!("deploy/nginx.conf: {problem}"))?;
    let balancer = folder.join("haproxy.cfg");
    told("haproxy", Command::new("haproxy").args(["-c", "-q", "-f"]).arg(balancer))
        .map_err(|problem| format!("deploy/haproxy.cfg: {problem}"))
}

/// Checks a container file: known instructions, a named version of the base, an ordinary user,
/// settings that exist, and commands that get signals.
fn container(text: &str, settings: &str) -> Done {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut has_user = false;
    for line in lines {
        let (instruction, rest) = line.split_once(' ').unwrap_or((line, ""));
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        match instruction {
            "FROM" if !rest.contains(':') || rest.ends_with(":latest") => {
                return wrong("the base has no version");
            }
            "USER" => has_user = !matches!(rest.trim(), "root" | "0"),
            "ENTRYPOINT" | "CMD" if !rest.starts_with('[') => {
                return wrong("a shell would not pass signals on");
            }
            "ENV" => {
                for variable in rest.split(' ').filter_map(|pair| pair.split('=').next()) {
                    let name = variable.strip_prefix("HOMEROOM_").unwrap_or(variable);
                    let name = name.to_lowercase().replace("__", ".");
                    if !settings.contains(&format!("| `{name}` |")) {
                        return wrong(&format!("{variable} is not a setting"));
                    }
                }
            }
            known if INSTRUCTIONS.contains(&known) => {}
            _ => return wrong("there is no such instruction"),
        }
    }
    if has_user { Ok(()) } else { Err("it runs as root".into()) }
}

/// Lets systemd check a unit, with a program that exists in the place of Homeroom.
fn unit(text: &str, scratch: &Path) -> Done {
    let file = scratch.join("homeroom.service");
    let there = text.replace("/usr/local/bin/homeroom", "/bin/true");
    std::fs::write(&file, there).map_err(|error| error.to_string())?;
    let mut verify = Command::new("systemd-analyze");
    told("systemd-analyze", verify.arg("verify").arg("--man=no").arg(&file))
}

/// Lets nginx check a part of its configuration, with a certificate that need not exist.
fn proxy(file: &Path, scratch: &Path) -> Done {
    let text: String = read(file)?
        .lines()
        .filter(|line| !line.trim_start().starts_with("ssl_certificate"))
        .map(|line| line.replace("listen 443 ssl;", "listen 443;") + "\n")
        .collect();
    let whole = format!(
        "pid {0}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{text}}}\n",
        scratch.display()
    );
    let file = scratch.join("nginx.conf");
    std::fs::write(&file, whole).map_err(|error| error.to_string())?;
    told("nginx", Command::new("nginx").args(["-t", "-q", "-c"]).arg(&file).arg("-p").arg(scratch))
}

/// Runs a tool; its complaints are the error. Without the tool the check is skipped, which is told in the
/// form that `.ci/run` counts.
fn told(tool: &str, command: &mut Command) -> Done {
    let Ok(output) = command.output() else {
        eprintln!("skipped: check deploy: {tool} is not installed");
        return Ok(());
    };
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() && said.is_empty() { Ok(()) } else { Err(said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: &str = "| `store.data_dir` | `x` | y |";

    #[test]
    fn a_container_file_says_what_it_runs_and_as_whom() {
        let right =
            "# a\nFROM debian:trixie\nUSER 7\nENV HOMEROOM_STORE__DATA_DIR=/d\nCMD [\"a\"]\n";
        assert_eq!(container(right, SETTING), Ok(()));
        for (part, other) in [
            ("debian:trixie", "debian"),
            ("USER 7", "USER root"),
            ("__DATA_DIR", "_DATA_DIR"),
            ("[\"a\"]", "a"),
            ("CMD", "RUNS"),
        ] {
            assert!(container(&right.replace(part, other), SETTING).is_err(), "{other}");
        }
    }
}
