//! Checks that every dependency has a licence on the list.

use super::metadata::Metadata;
use crate::house::Done;
use crate::house::all_well;

/// Licences that ask only for attribution, and MPL-2.0, which applies only to its own files.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Checks every package in a build on this machine.
///
/// # Errors
///
/// Names each package whose licence is missing, unreadable or not on the list.
pub fn check() -> Done {
    let metadata = Metadata::ask()?;
    let mut problems = vec![];
    for package in &metadata.packages {
        if metadata.resolve.nodes.iter().all(|node| node.id != package.id) {
            continue;
        }
        let who = format!("{} {}", package.name, package.version);
        match &package.license {
            None => problems.push(format!("{who} names no licence")),
            Some(expression) => match allows(expression) {
                Ok(true) => {}
                Ok(false) => problems.push(format!("{who}: {expression} is not on the list")),
                Err(problem) => problems.push(format!("{who}: {expression}: {problem}")),
            },
        }
    }
    all_well(&problems)
}

/// Returns whether an SPDX expression can be satisfied by the licences on the list.
///
/// An exception (`WITH`) only adds permissions, so it is ignored. The old `MIT/Apache-2.0` is read
/// as `OR`, as crates.io does.
///
/// # Errors
///
/// If it is not an SPDX expression.
fn allows(expression: &str) -> Result<bool, String> {
    let expression = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX)
        .map_err(|error| error.to_string())?;
    Ok(expression.evaluate(|licence| {
        licence.license.id().is_some_and(|known| ALLOWED.contains(&known.name))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn or_needs_one_allowed_licence_and_and_needs_all() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR AGPL-3.0-only", false),
            ("MIT AND GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("GPL-2.0-only OR MIT AND GPL-3.0-only", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0-only", true),
        ] {
            assert_eq!(allows(expression), Ok(allowed), "{expression}");
        }
    }

    #[test]
    fn an_invalid_licence_expression_is_refused() {
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(allows(expression).is_err(), "{expression}");
        }
    }
}
