//! Reads the workspace and its dependencies from `cargo metadata`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::house::cargo;

/// The packages in a build on this machine.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// Every package, including the workspace's own.
    pub packages: Vec<Package>,
    /// The ids of the workspace's own packages.
    pub workspace_members: Vec<String>,
    /// The packages in this build: fewer than `packages`, which cover every platform.
    pub resolve: Resolve,
}

/// The packages in a build.
#[derive(Debug, Deserialize)]
pub struct Resolve {
    /// One node per package.
    pub nodes: Vec<Node>,
}

/// A package of the build.
#[derive(Debug, Deserialize)]
pub struct Node {
    /// The package's id.
    pub id: String,
}

/// A package.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// The unique id.
    pub id: String,
    /// The package's name.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// The licence as an SPDX expression, if there is one.
    pub license: Option<String>,
    /// The path of its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// Its direct dependencies.
    pub dependencies: Vec<Dependency>,
}

/// A dependency as a package declares it.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// The name in the source, if it differs.
    pub rename: Option<String>,
    /// The kind of dependency; `None` for an ordinary one.
    pub kind: Option<DependencyKind>,
}

/// The kind of a dependency; an ordinary one has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// For tests and benchmarks.
    Dev,
    /// For the build script.
    Build,
}

impl Metadata {
    /// Runs `cargo metadata`.
    ///
    /// # Errors
    ///
    /// If cargo fails or its answer cannot be parsed.
    pub fn ask() -> Result<Self, String> {
        let host = host()?;
        let output = cargo(&["metadata", "--format-version=1", "--locked"])
            .args(["--filter-platform", &host])
            .output()
            .map_err(|error| format!("cannot start cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
    }

    /// Returns the workspace's own packages.
    pub fn own(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

impl Package {
    /// Returns the folder of its `Cargo.toml`.
    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest stands in a folder")
    }
}

impl Dependency {
    /// Returns its name in the source.
    pub fn ident(&self) -> String {
        self.rename.as_deref().unwrap_or(&self.name).replace('-', "_")
    }
}

/// Returns the platform that this machine builds for.
fn host() -> Result<String, String> {
    let output = std::process::Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| format!("cannot start rustc: {error}"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}
