//! The workspace's tasks, one module each; `cargo xtask` lists them.
#![expect(clippy::disallowed_methods, reason = "a tool measures")]

mod adversary;
mod bench;
mod check;
mod dist;
mod fuzz;
mod generate;
mod house;
mod long;
mod part;
mod program;
mod random;
mod shim;
mod soak;
mod summary;
mod test;

use std::process::ExitCode;

use house::Done;

/// A task: its name, its arguments, what it does.
struct Task {
    name: &'static str,
    arguments: &'static str,
    does: &'static str,
    run: fn(&[String]) -> Done,
}

const TASKS: &[Task] = &[
    Task {
        name: "check",
        arguments: "[STEP…]",
        does: "format, lints, docs, licences, dependencies, the laws of the code, generated files",
        run: check::run,
    },
    Task {
        name: "bench",
        arguments: "[--small|--large|--pages|--postgres] [--no-build] [--rounds N] [--seconds S] [--documents N]",
        does: "measures the data API beside nginx and prints a table",
        run: bench::run,
    },
    Task {
        name: "gen",
        arguments: "",
        does: "writes the generated pages under docs/reference",
        run: generate::run,
    },
    Task {
        name: "dist",
        arguments: "[--binary FILE]",
        does: "writes target/dist: the program without symbols, manual, completions, checksums",
        run: dist::run,
    },
    Task {
        name: "fuzz",
        arguments: "[--target T] [--seconds N]",
        does: "runs the coverage-guided fuzzer on everything that reads bytes from outside",
        run: fuzz::run,
    },
    Task {
        name: "soak",
        arguments: "[--minutes N] [--rate R] [--binary FILE] [--json]",
        does: "runs the real binary under a steady mixed load and checks that nothing grows, \
               fails or panics",
        run: soak::run,
    },
    Task {
        name: "adversary",
        arguments: "[--minutes N] [--binary FILE] [--only NAME,…]",
        does: "attacks the real binary without a key and with a greedy key, beside ordinary \
               clients",
        run: adversary::run,
    },
    Task {
        name: "shim",
        arguments: "",
        does: "builds xtask/shims/disk.c, a disk that misbehaves, and prints its path",
        run: shim::run,
    },
    Task {
        name: "test",
        arguments: "[ARGUMENT…]",
        does: "runs all tests and prints one line of totals; arguments go to `cargo test`, \
               without the clients",
        run: test::run,
    },
    Task {
        name: "long",
        arguments: "[ARGUMENT…]",
        does: "does the same as `test`, with the long runs that are skipped otherwise",
        run: long::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("help", String::as_str);
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("usage: cargo xtask TASK\n");
        for task in TASKS {
            eprintln!("  {:28}{}", format!("{} {}", task.name, task.arguments), task.does);
        }
        let asked = matches!(name, "help" | "--help" | "-h");
        return ExitCode::from(if asked { 0 } else { 2 });
    };
    match (task.run)(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            if problem != house::TOLD {
                eprintln!("xtask {name}: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}
