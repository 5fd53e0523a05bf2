//! What `cargo metadata` says about the workspace and its dependencies.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::house::cargo;

/// The packages that a build on this machine takes in.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// Every package, the workspace's own among them.
    pub packages: Vec<Package>,
    /// Ids of the workspace's own packages.
    pub workspace_members: Vec<String>,
    /// Which packages the build takes in: fewer than `packages`, which are for every platform.
    pub resolve: Resolve,
}

/// Which packages a build takes in.
#[derive(Debug, Deserialize)]
pub struct Resolve {
    /// One node a package.
    pub nodes: Vec<Node>,
}

/// A package of the build.
#[derive(Debug, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: String,
}

/// A package.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Unique id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SPDX expression, if it has one.
    pub license: Option<String>,
    /// Its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// What it asks for.
    pub dependencies: Vec<Dependency>,
}

/// A dependency as a package asks for it.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// Name of the package.
    pub name: String,
    /// Name in the source, where it differs.
    pub rename: Option<String>,
    /// For what.
    pub kind: Option<DependencyKind>,
}

/// What a dependency is for; none is the crate itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// Tests and benchmarks.
    Dev,
    /// The build script.
    Build,
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    ///
    /// When cargo fails or answers what cannot be read.
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

    /// The workspace's own packages.
    pub fn own(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

impl Package {
    /// The folder of its `Cargo.toml`.
    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest stands in a folder")
    }
}

impl Dependency {
    /// How the source names it.
    pub fn ident(&self) -> String {
        self.rename.as_deref().unwrap_or(&self.name).replace('-', "_")
    }
}

/// The platform that this machine builds for.
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
