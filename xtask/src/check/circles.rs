//! No circle of files inside a crate: of two files, at most one knows the other.
//!
//! A file knows another when a path in its code leads to an item there; a path through a `pub use`
//! leads to where the item is. What a file declares as its module (`mod x;`) it does not yet know, and
//! what stands under `#[cfg(test)]` does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::all_well;
use super::metadata::Metadata;
use crate::house::{Done, read, shown};

/// Most steps of re-exports that are followed to an item.
const STEPS_MAX: usize = 16;

/// Checks every crate of the workspace.
///
/// # Errors
///
/// Names the files of each circle and how they know each other.
pub fn check() -> Done {
    let metadata = Metadata::ask()?;
    let mut problems = vec![];
    for package in metadata.own() {
        let source = package.folder().join("src");
        for start in ["lib.rs", "main.rs"] {
            let file = source.join(start);
            if file.exists() {
                problems.extend(Crate::read(&file)?.circles());
            }
        }
    }
    all_well(&problems)
}

/// A module's path within its crate: `crate::a::b` is `[a, b]`.
type ModulePath = Vec<String>;

/// The files of a crate.
#[derive(Default)]
struct Crate {
    files: Vec<PathBuf>,
    modules: BTreeMap<ModulePath, Module>,
}

/// A module, in a file of its own or within its parent's.
#[derive(Default)]
struct Module {
    /// Where it stands in the crate's files.
    file: usize,
    /// What it defines.
    items: BTreeSet<String>,
    /// What it imports, by the name that it has here; whether for others too does not matter.
    imports: BTreeMap<String, Vec<String>>,
    /// What it imports everything of.
    globs: Vec<Vec<String>>,
    /// Paths in its code.
    paths: BTreeSet<Vec<String>>,
}

impl Crate {
    fn read(start: &Path) -> Result<Self, String> {
        let mut read = Self::default();
        let folder = start.parent().unwrap_or(start).to_owned();
        read.file(start.to_owned(), &folder, vec![])?;
        Ok(read)
    }

    /// Reads a file and the files of its modules; `folder` is where those without a path of their own
    /// are.
    fn file(&mut self, path: PathBuf, folder: &Path, module: ModulePath) -> Done {
        let text = read(&path)?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", shown(&path)))?;
        let here = path.parent().unwrap_or(&path).to_owned();
        let number = self.files.len();
        self.files.push(path);
        self.items(parsed.items, number, &here, folder, module)
    }

    fn items(
        &mut self,
        items: Vec<Item>,
        file: usize,
        here: &Path,
        folder: &Path,
        module: ModulePath,
    ) -> Done {
        let mut read = Module { file, ..Module::default() };
        for item in items {
            if is_for_tests(attributes(&item)) {
                continue;
            }
            if let Some(name) = name(&item) {
                read.items.insert(name);
            }
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let path = [&module[..], std::slice::from_ref(&name)].concat();
                    let below = folder.join(&name);
                    match inner.content {
                        Some((_, items)) => self.items(items, file, here, &below, path)?,
                        None => {
                            let stated = stated_path(&inner.attrs);
                            let beside = folder.join(format!("{name}.rs"));
                            let found = match stated {
                                Some(stated) => here.join(stated),
                                None if beside.exists() => beside,
                                None => below.join("mod.rs"),
                            };
                            self.file(found, &below, path)?;
                        }
                    }
                }
                Item::Use(item) => read.import(&item.tree, &mut vec![]),
                item => Paths(&mut read.paths).visit_item(&item),
            }
        }
        self.modules.insert(module, read);
        Ok(())
    }

    /// The files to which a path leads that stands in a module.
    fn leads(&self, module: &ModulePath, path: &[String], steps: usize, to: &mut BTreeSet<usize>) {
        let Some((first, rest)) = path.split_first().filter(|_| steps < STEPS_MAX) else { return };
        match first.as_str() {
            "crate" => self.follow(&vec![], rest, steps, to),
            "self" => self.follow(module, rest, steps, to),
            "super" => {
                let above = module.split_last().map_or(vec![], |(_, above)| above.to_vec());
                match rest.first().map(String::as_str) {
                    Some("super") => self.leads(&above, rest, steps, to),
                    _ => self.follow(&above, rest, steps, to),
                }
            }
            _ => self.follow(module, path, steps, to),
        }
    }

    /// The files to which a path leads that begins in a module's names.
    fn follow(&self, module: &ModulePath, path: &[String], steps: usize, to: &mut BTreeSet<usize>) {
        let Some(here) = self.modules.get(module) else { return };
        let Some((name, rest)) = path.split_first() else {
            to.insert(here.file);
            return;
        };
        let inner = [&module[..], std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&inner) && !rest.is_empty() {
            return self.follow(&inner, rest, steps, to);
        }
        if self.modules.contains_key(&inner) {
            // A module itself: what is used of it stands in another path.
            return;
        }
        if here.items.contains(name) {
            to.insert(here.file);
        } else if let Some(import) = here.imports.get(name) {
            if import.first() != Some(name) {
                self.leads(module, &[&import[..], rest].concat(), steps + 1, to);
            }
        } else {
            for glob in &here.globs {
                self.leads(module, &[&glob[..], path].concat(), steps + 1, to);
            }
        }
    }

    /// Whether a file is that of a module above another.
    fn is_above(&self, file: usize, module: &ModulePath) -> bool {
        (0..module.len()).any(|length| {
            self.modules.get(&module[..length]).is_some_and(|above| above.file == file)
        })
    }

    /// By file, the files that it knows.
    fn edges(&self) -> Vec<BTreeSet<usize>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (module, read) in &self.modules {
            for path in read.paths.iter().chain(read.imports.values()) {
                let mut to = BTreeSet::new();
                self.leads(module, path, 0, &mut to);
                if path.first().is_some_and(|first| first == "super") {
                    to.retain(|file| !self.is_above(*file, module));
                }
                edges[read.file].extend(to);
            }
        }
        for (from, edges) in edges.iter_mut().enumerate() {
            edges.remove(&from);
        }
        edges
    }

    /// A line for each circle: the files that reach each other.
    fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(|at| reach(&edges, at)).collect();
        let mut told: BTreeSet<usize> = BTreeSet::new();
        let mut circles = vec![];
        for at in 0..edges.len() {
            if !reached[at].contains(&at) || told.contains(&at) {
                continue;
            }
            let round: Vec<usize> = (0..edges.len())
                .filter(|b| reached[at].contains(b) && reached[*b].contains(&at))
                .collect();
            told.extend(&round);
            let mut lines = vec![format!("a circle of {} files:", round.len())];
            for from in &round {
                for to in edges[*from].iter().filter(|to| round.contains(to)) {
                    lines.push(format!(
                        "  {} knows {}",
                        shown(&self.files[*from]),
                        shown(&self.files[*to])
                    ));
                }
            }
            circles.push(lines.join("\n"));
        }
        circles
    }
}

/// What can be reached from a file, itself only in a circle.
fn reach(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<usize> = edges[from].iter().copied().collect();
    while let Some(at) = open.pop() {
        if reached.insert(at) {
            open.extend(&edges[at]);
        }
    }
    reached
}

impl Module {
    fn import(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                let mut path = before.clone();
                let known = if name == "self" {
                    before.last().cloned().unwrap_or_default()
                } else {
                    path.push(name.clone());
                    name
                };
                self.imports.insert(known, path);
            }
            UseTree::Rename(renamed) => {
                let path = [&before[..], &[renamed.ident.to_string()]].concat();
                self.imports.insert(renamed.rename.to_string(), path);
            }
            UseTree::Glob(_) => self.globs.push(before.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before);
                }
            }
        }
    }
}

/// Collects the paths of code, macros' arguments included.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
        self.0.extend(words.map(|word| word.split("::").map(str::to_owned).collect()));
        visit::visit_macro(self, call);
    }
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The file that `#[path = "…"]` states.
fn stated_path(attributes: &[syn::Attribute]) -> Option<String> {
    let stated = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &stated.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate with these files.
    fn circles(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("circles-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let circles = Crate::read(&folder.join("lib.rs")).unwrap().circles();
        std::fs::remove_dir_all(folder).unwrap();
        circles
    }

    #[test]
    fn files_that_know_each_other_are_a_circle() {
        let planted = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() { drop(vec![crate::A::new()]); }"),
        ];

        let found = circles("planted", &planted);

        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a.rs knows") && found[0].contains("b.rs knows"), "{found:?}");
    }

    #[test]
    fn a_parent_and_its_child_are_a_circle_when_each_uses_the_other() {
        let child = ("a/c.rs", "use super::Shared; pub fn f(_: Shared) {}");
        let root = ("lib.rs", "mod a;");
        let using = ("a.rs", "mod c; pub struct Shared; fn g() { c::f(Shared) }");
        let showing = ("a.rs", "mod c; pub use c::f; pub struct Shared;");

        assert_eq!(circles("using", &[root, using, child]).len(), 1);
        assert_eq!(circles("showing", &[root, showing, child]).len(), 1);
    }

    #[test]
    fn files_in_one_direction_and_their_tests_are_none() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::*;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::B; }"),
            ("b.rs", "use super::a; pub struct B(a::A);"),
        ];

        assert_eq!(circles("none", &files), [""; 0]);
    }
}
