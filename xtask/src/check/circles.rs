//! Checks that the files of a crate depend on each other in one direction.
//!
//! A file depends on another when it names an item that the other defines: in its code, in a `use`
//! or in a `pub use`. A declaration `mod x;` is no dependency, and neither is what stands under
//! `#[cfg(test)]`. Calls of methods are not followed, only the names of their types.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::metadata::Metadata;
use super::modules::{Crate, Uses};
use crate::house::all_well;
use crate::house::{Done, root, shown};

/// The most names that the report gives of one dependency.
const NAMES_MAX: usize = 6;

/// Checks every crate of the workspace, and the fuzz targets.
///
/// # Errors
///
/// Names the files of each circle and what they use of each other.
pub fn check() -> Done {
    let metadata = Metadata::ask()?;
    let own = metadata.own().map(|package| package.folder().to_owned());
    let mut problems = vec![];
    for folder in own.chain([root().join("fuzz")]) {
        for start in ["src/lib.rs", "src/main.rs"].map(|start| folder.join(start)) {
            if start.exists() {
                let read = Crate::read(&start)?;
                problems.extend(circles(&read.files, &read.uses()));
            }
        }
    }
    all_well(&problems)
}

/// Returns a description of each circle: every set of files each of which leads to all others.
fn circles(files: &[PathBuf], uses: &[Uses]) -> Vec<String> {
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|file| reach(uses, file)).collect();
    let mut described = BTreeSet::new();
    let mut circles = vec![];
    for start in 0..files.len() {
        if !reached[start].contains(&start) || described.contains(&start) {
            continue;
        }
        let circle: BTreeSet<usize> =
            reached[start].iter().copied().filter(|file| reached[*file].contains(&start)).collect();
        circles.push(describe(&circle, files, uses));
        described.extend(circle);
    }
    circles
}

/// Returns the files that can be reached from a file; itself only if it is in a circle.
fn reach(uses: &[Uses], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<usize> = uses[from].keys().copied().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(uses[file].keys());
        }
    }
    reached
}

/// Returns the dependencies that make a circle, and what to begin with to break it.
fn describe(circle: &BTreeSet<usize>, files: &[PathBuf], uses: &[Uses]) -> String {
    let mut lines = vec![format!("a circle of {} files:", circle.len())];
    let mut least: Option<(&BTreeSet<String>, usize)> = None;
    for from in circle {
        for (to, names) in uses[*from].iter().filter(|(to, _)| circle.contains(to)) {
            lines.push(format!(
                "  {} uses {} of {}",
                shown(&files[*from]),
                listed(names),
                shown(&files[*to])
            ));
            if least.is_none_or(|(fewest, _)| names.len() < fewest.len()) {
                least = Some((names, *to));
            }
        }
    }
    if let Some((names, to)) = least {
        lines.push(format!(
            "  hint: what two files share belongs in a third one below both, named for what it is; \
             {} of {} may be the least to move",
            listed(names),
            shown(&files[to])
        ));
    }
    lines.join("\n")
}

fn listed(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(String::as_str).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the circles of a made-up crate with these files.
    fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("circles-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let read = Crate::read(&folder.join("lib.rs"));
        std::fs::remove_dir_all(folder).unwrap();
        let read = read.unwrap();
        circles(&read.files, &read.uses())
    }

    #[test]
    fn files_that_use_each_other_are_a_circle_with_names_and_a_hint() {
        let planted = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() { drop(vec![crate::A::new()]); }"),
        ];

        let found = circles_of("planted", &planted);

        assert_eq!(found.len(), 1);
        for line in ["a.rs uses B of", "b.rs uses A of", "hint: "] {
            assert!(found[0].contains(line), "{line}: {found:?}");
        }
    }

    #[test]
    fn a_circle_may_go_over_several_files() {
        let planted = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "pub fn a() { crate::b::b() }"),
            ("b.rs", "use super::c; pub fn b() { c::c() }"),
            ("c.rs", "pub fn c() { use crate::a::*; a() }"),
            ("d.rs", "pub fn d() { crate::a::a() }"),
        ];

        let found = circles_of("several", &planted);

        assert_eq!(found.len(), 1);
        assert!(found[0].contains("circle of 3 files"), "{found:?}");
    }

    #[test]
    fn a_parent_and_its_child_are_a_circle_when_each_uses_the_other() {
        let child = ("a/c.rs", "use super::Shared; pub fn f(_: Shared) {}");
        let root = ("lib.rs", "mod a;");
        let calling = ("a.rs", "mod c; pub struct Shared; fn g() { c::f(Shared) }");
        let handing_on = ("a.rs", "mod c; pub use c::f; pub struct Shared;");
        let declaring = ("a.rs", "mod c; pub struct Shared;");

        assert_eq!(circles_of("calling", &[root, calling, child]).len(), 1);
        assert_eq!(circles_of("handing_on", &[root, handing_on, child]).len(), 1);
        assert_eq!(circles_of("declaring", &[root, declaring, child]).len(), 0);
    }

    #[test]
    fn items_defined_by_a_macro_belong_to_the_calling_file() {
        let planted = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "kinds! { Kind, One; } fn a(_: crate::b::B) {}"),
            ("b.rs", "use super::a::Kind; pub struct B(Kind);"),
        ];

        assert_eq!(circles_of("macro", &planted).len(), 1);
    }

    #[test]
    fn tests_and_module_names_alone_form_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::*;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::B; }"),
            ("b.rs", "use super::a; pub struct B(a::A);"),
        ];

        assert_eq!(circles_of("none", &files), [""; 0]);
    }
}
