//! A disk and a wall clock that misbehave when a test orders it.

#[path = "../../../../../xtask/src/shim/build.rs"]
mod build;

use std::path::{Path, PathBuf};

use super::Place;

/// The faults of programs that are started with [`Faults::environment`].
///
/// `xtask/shims/disk.c` lists the orders.
pub struct Faults {
    shim: PathBuf,
    control: PathBuf,
}

impl Faults {
    /// Returns a control file without any faults.
    pub fn none(place: &Place) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shim = build::disk(&root.canonicalize().unwrap()).unwrap();
        Self { shim, control: place.path("faults") }
    }

    /// Returns the environment variables that a program must be started with.
    pub fn environment(&self) -> [(&str, &str); 2] {
        let text = |path| Path::to_str(path).unwrap();
        [("LD_PRELOAD", text(&self.shim)), ("DISK_CONTROL", text(&self.control))]
    }

    /// Replaces all faults with these.
    pub fn order(&self, lines: &[&str]) {
        let fresh = self.control.with_extension("new");
        std::fs::write(&fresh, lines.join("\n") + "\n").unwrap();
        std::fs::rename(&fresh, &self.control).unwrap();
    }

    /// Ends all faults.
    pub fn end(&self) {
        self.order(&[]);
    }
}
