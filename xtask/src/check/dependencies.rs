//! Checks that crates depend on each other in one direction, and only on what they use.

use std::collections::BTreeSet;

use super::metadata::{DependencyKind, Metadata, Package};
use super::source::{Source, has_word};
use crate::house::all_well;
use crate::house::{Done, is_test, read, root, rust_files, shown};

/// The crates that each crate may depend on, in order; the lowest come first.
const KNOWS: &[(&str, &[&str])] = &[
    ("homeroom-client", &[]),
    ("homeroom-http", &[]),
    ("homeroom-model", &[]),
    ("homeroom-pages", &[]),
    ("homeroom-store", &[]),
    ("homeroom-blobs", &["homeroom-client", "homeroom-store"]),
    ("homeroom-jobs", &["homeroom-store"]),
    ("homeroom-load", &["homeroom-client"]),
    ("homeroom-lab", &["homeroom-load"]),
    ("homeroom-lab-edfi", &["homeroom-client", "homeroom-load"]),
    ("homeroom-district", &["homeroom-model"]),
    ("homeroom-access", &["homeroom-http", "homeroom-store", "homeroom-model"]),
    ("homeroom-admin", &["homeroom-access", "homeroom-http", "homeroom-store"]),
    (
        "homeroom-course",
        &[
            "homeroom-access",
            "homeroom-blobs",
            "homeroom-client",
            "homeroom-http",
            "homeroom-jobs",
            "homeroom-pages",
            "homeroom-store",
        ],
    ),
    ("homeroom-gateway", &["homeroom-access", "homeroom-http", "homeroom-store", "homeroom-model"]),
    ("homeroom-document", &["homeroom-access", "homeroom-store", "homeroom-model"]),
    (
        "homeroom-data",
        &[
            "homeroom-document",
            "homeroom-access",
            "homeroom-http",
            "homeroom-store",
            "homeroom-model",
        ],
    ),
    (
        "homeroom-bulk",
        &[
            "homeroom-export",
            "homeroom-document",
            "homeroom-access",
            "homeroom-store",
            "homeroom-model",
        ],
    ),
    (
        "homeroom-bulk-api",
        &[
            "homeroom-bulk",
            "homeroom-document",
            "homeroom-access",
            "homeroom-http",
            "homeroom-store",
            "homeroom-model",
            "homeroom-jobs",
            "homeroom-blobs",
        ],
    ),
    (
        "homeroom-apis",
        &[
            "homeroom-gateway",
            "homeroom-access",
            "homeroom-client",
            "homeroom-http",
            "homeroom-store",
        ],
    ),
    ("homeroom-export", &["homeroom-document", "homeroom-store", "homeroom-model"]),
];

/// The crate of what tests share: it may depend on every other, and only tests may depend on it.
const FOR_TESTS: &str = "homeroom-testkit";

/// The crates at the top: they may depend on every other, and none may depend on them.
const TOP: &[&str] = &["homeroom", "xtask"];

/// Checks the dependencies between the workspace's crates; tests may have more.
///
/// # Errors
///
/// Names each dependency against the direction and each crate that is not in the list.
pub fn check_direction() -> Done {
    all_well(&misdirected(&Metadata::ask()?))
}

/// Returns what is wrong with the dependencies between the workspace's crates.
fn misdirected(metadata: &Metadata) -> Vec<String> {
    let own: BTreeSet<&str> = metadata.own().map(|package| package.name.as_str()).collect();
    let mut problems = vec![];
    for package in metadata.own() {
        let knows = KNOWS.iter().find(|(name, _)| *name == package.name).map(|(_, knows)| *knows);
        if knows.is_none() && !TOP.contains(&package.name.as_str()) && package.name != FOR_TESTS {
            problems.push(format!(
                "{} has no layer yet: give it one in xtask/src/check/dependencies.rs",
                package.name
            ));
            continue;
        }
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            if dependency.kind == Some(DependencyKind::Dev) || !own.contains(name) {
                continue;
            }
            if name == FOR_TESTS {
                problems.push(format!("{} may use {name} in its tests only", package.name));
                continue;
            }
            let allowed = !TOP.contains(&name) && knows.is_none_or(|knows| knows.contains(&name));
            if !allowed {
                problems.push(format!("{} must not depend on {name}", package.name));
            }
        }
    }
    problems
}

/// Checks that the source of each crate names each of its dependencies, outside its tests unless it
/// is a dependency for tests, and that the workspace lists no dependency that no crate uses.
///
/// # Errors
///
/// Names each dependency that can be removed.
pub fn check_unused() -> Done {
    let metadata = Metadata::ask()?;
    let mut problems = vec![];
    let mut asked = BTreeSet::new();
    for package in metadata.own() {
        let code = Code::of(package)?;
        for dependency in &package.dependencies {
            asked.insert(dependency.name.clone());
            let (text, place) = match dependency.kind {
                None => (&code.crate_itself, "outside its tests"),
                Some(DependencyKind::Dev) => (&code.tests, "in its tests"),
                Some(DependencyKind::Build) => (&code.build_script, "in its build script"),
            };
            if !has_word(text, &dependency.ident()) {
                problems.push(format!("{}: {} is not used {place}", package.name, dependency.name));
            }
        }
    }
    for name in listed()? {
        if !asked.contains(&name) {
            problems.push(format!("Cargo.toml: no crate asks for {name}"));
        }
    }
    all_well(&problems)
}

/// A crate's code, without comments and string literals.
struct Code {
    crate_itself: String,
    tests: String,
    build_script: String,
}

impl Code {
    fn of(package: &Package) -> Result<Self, String> {
        let mut code =
            Self { crate_itself: String::new(), tests: String::new(), build_script: String::new() };
        for path in rust_files(&package.folder().join("src"))? {
            let source = Source::read(&read(&path)?);
            code.tests.push_str(&source.code);
            if !is_test(&path) {
                code.crate_itself.push_str(&source.without_tests().code);
            }
        }
        for folder in ["tests", "benches", "examples"] {
            for path in rust_files(&package.folder().join(folder))? {
                code.tests.push_str(&Source::read(&read(&path)?).code);
            }
        }
        let build_script = package.folder().join("build.rs");
        if build_script.exists() {
            code.build_script = Source::read(&read(&build_script)?).code;
        }
        Ok(code)
    }
}

/// Returns the names in `[workspace.dependencies]`.
fn listed() -> Result<Vec<String>, String> {
    let path = root().join("Cargo.toml");
    let manifest: toml::Table =
        read(&path)?.parse().map_err(|error| format!("{}: {error}", shown(&path)))?;
    let dependencies = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(toml::Value::as_table)
        .ok_or("Cargo.toml has no [workspace.dependencies]")?;
    Ok(dependencies.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns what is wrong if the product depends on these crates; the kind is null, or "dev".
    fn of_the_product(dependencies: &[(&str, Value)]) -> Vec<String> {
        let package = |name: &str, dependencies: Value| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "license": null,
                "manifest_path": "/Cargo.toml", "dependencies": dependencies,
            })
        };
        let all = ["homeroom", "homeroom-store", "homeroom-testkit", "homeroom-new"];
        let asked =
            |(name, kind): &(&str, Value)| json!({"name": name, "rename": null, "kind": kind});
        let own = dependencies.iter().map(asked).collect();
        let mut packages = vec![package("homeroom", own), package("homeroom-new", json!([]))];
        packages.extend(all[1..3].iter().map(|name| package(name, json!([]))));
        let members = if dependencies.is_empty() { &all[..] } else { &all[..3] };
        let metadata = json!({
            "packages": packages, "workspace_members": members, "resolve": {"nodes": []},
        });
        misdirected(&serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn test_support_must_not_be_part_of_the_product() {
        let [plain, dev] = [Value::Null, json!("dev")];
        let store = ("homeroom-store", plain.clone());

        let in_tests = of_the_product(&[store.clone(), (FOR_TESTS, dev)]);
        let shipped = of_the_product(&[store, (FOR_TESTS, plain)]);

        assert_eq!(in_tests, [""; 0]);
        assert_eq!(shipped, ["homeroom may use homeroom-testkit in its tests only"]);
    }

    #[test]
    fn a_crate_that_is_not_listed_is_found() {
        let found = of_the_product(&[]);

        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("homeroom-new has no layer yet"), "{found:?}");
    }
}
