//! A disk and a wall clock that misbehave when a test wants it.

#[path = "../../../../../xtask/src/shim/build.rs"]
mod build;

use std::path::{Path, PathBuf};

use super::Place;

/// What goes wrong for the programs that are started with its [`Faults::environment`].
///
/// `xtask/shims/disk.c` has the words of an order.
pub struct Faults {
    shim: PathBuf,
    control: PathBuf,
}

impl Faults {
    /// Nothing goes wrong yet.
    pub fn none(place: &Place) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shim = build::disk(&root.canonicalize().unwrap()).unwrap();
        Self { shim, control: place.path("faults") }
    }

    /// What a program must be started with.
    pub fn environment(&self) -> [(&str, &str); 2] {
        let text = |path| Path::to_str(path).unwrap();
        [("LD_PRELOAD", text(&self.shim)), ("DISK_CONTROL", text(&self.control))]
    }

    /// From now on these go wrong, and no others.
    pub fn order(&self, lines: &[&str]) {
        let fresh = self.control.with_extension("new");
        std::fs::write(&fresh, lines.join("\n") + "\n").unwrap();
        std::fs::rename(&fresh, &self.control).unwrap();
    }

    /// All is well again.
    pub fn end(&self) {
        self.order(&[]);
    }
}
