//! The published sample data, where the environment says that it is there.

mod support;

use std::path::PathBuf;

use support::{load_all, target};

/// The folder of reference data, or [`None`] with a line that says why nothing is tested.
fn reference() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMEROOM_REFERENCE").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: HOMEROOM_REFERENCE does not name a folder with the reference data");
    }
    folder
}

#[test]
fn grand_bend_loads_but_for_what_lacks_a_target() {
    let Some(reference) = reference() else { return };
    let target = target();

    let began = std::time::Instant::now();
    let (descriptors, rejects) = load_all(&target, &[&reference.join("ed-fi/descriptors/5.2.0")]);
    eprintln!("{descriptors:#?} {:?}", began.elapsed());
    for reject in rejects.iter().take(5) {
        eprintln!("{reject}");
    }
    let (sample, rejects) = load_all(&target, &[&reference.join("ed-fi/samples/5.2.0")]);
    eprintln!("{sample:#?} {:?}", began.elapsed());
    for reject in rejects.iter().take(15) {
        eprintln!("{reject}");
    }
}
