//! `cargo xtask check`: the checks of CI, except the tests.

mod circles;
mod dependencies;
mod deploy;
mod laws;
mod licences;
mod links;
mod metadata;
mod modules;
mod source;

use crate::house::{Done, cargo, succeed, timed};

/// A step: its name, its rule, and its check.
struct Step {
    name: &'static str,
    wants: &'static str,
    run: fn() -> Done,
}

const STEPS: &[Step] = &[
    Step { name: "format", wants: "`cargo fmt` leaves everything as it is", run: format },
    Step { name: "clippy", wants: "no warning, lints and documentation included", run: clippy },
    Step { name: "docs", wants: "the documentation builds without a warning", run: docs },
    Step {
        name: "licences",
        wants: "every dependency may be used under a known licence",
        run: licences::check,
    },
    Step {
        name: "direction",
        wants: "crates depend on each other in one direction",
        run: dependencies::check_direction,
    },
    Step {
        name: "circles",
        wants: "files of a crate depend on each other in one direction",
        run: circles::check,
    },
    Step { name: "unused", wants: "every dependency is used", run: dependencies::check_unused },
    Step { name: "names", wants: "no branch names a resource", run: laws::check_names },
    Step { name: "purity", wants: "what is pure does no I/O", run: laws::check_purity },
    Step { name: "leftovers", wants: "nothing unfinished is left", run: laws::check_leftovers },
    Step {
        name: "deploy",
        wants: "the files under deploy are what systemd, nginx and container builds take",
        run: deploy::check,
    },
    Step {
        name: "links",
        wants: "every link between the pages leads to a file or a heading",
        run: links::check,
    },
    Step {
        name: "generated",
        wants: "`cargo xtask gen` would write what is there",
        run: crate::generate::check,
    },
];

/// Runs the named steps, or all; continues after one that fails.
///
/// # Errors
///
/// Names the steps that failed.
pub fn run(names: &[String]) -> Done {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("no step is called {unknown}; there are {}", known.join(", ")));
    }
    let mut failed = vec![];
    for step in STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|n| n == step.name))
    {
        eprintln!("check {}: {}", step.name, step.wants);
        if let Err(problem) = timed(&format!("check {}", step.name), step.run) {
            eprintln!("check {}: FAILED\n{problem}", step.name);
            failed.push(step.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn format() -> Done {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Done {
    const ARGUMENTS: &[&str] = &[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ];
    succeed(&mut cargo(ARGUMENTS))
}

fn docs() -> Done {
    succeed(
        cargo(&["doc", "--workspace", "--no-deps", "--locked", "--quiet", "--keep-going"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
