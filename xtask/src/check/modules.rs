//! Reads the modules of a crate: what each file defines, what it imports, and which paths its code
//! contains.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use crate::house::{Done, read, shown};

/// The most re-exports that are followed from a name to its item.
const REEXPORTS_MAX: usize = 16;

/// A module's path within its crate: `crate::a::b` is `[a, b]`.
type ModulePath = Vec<String>;

/// The files and modules of a crate.
#[derive(Debug, Default)]
pub struct Crate {
    /// The files, in the order in which their modules are declared.
    pub files: Vec<PathBuf>,
    modules: BTreeMap<ModulePath, Module>,
}

/// A module, in its own file or within its parent's.
#[derive(Debug, Default)]
struct Module {
    /// The index of its file.
    file: usize,
    /// The names of the items that it defines.
    items: BTreeSet<String>,
    /// The paths that it imports, by the name that each has here.
    imports: BTreeMap<String, Vec<String>>,
    /// The paths of which it imports everything.
    globs: Vec<Vec<String>>,
    /// The paths in its code.
    paths: BTreeSet<Vec<String>>,
}

/// Names that a file uses of other files: by the index of the other file, the items.
pub type Uses = BTreeMap<usize, BTreeSet<String>>;

impl Crate {
    /// Reads a crate from its `lib.rs` or `main.rs`, without code under `#[cfg(test)]`.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or parsed.
    pub fn read(start: &Path) -> Result<Self, String> {
        let mut read = Self::default();
        let folder = start.parent().unwrap_or(start).to_owned();
        read.read_file(start.to_owned(), &folder, vec![])?;
        Ok(read)
    }

    /// Returns for each file what it uses of the crate's other files.
    ///
    /// A name leads to the file that defines the item, through every re-export on the way. A
    /// re-export is itself a use.
    pub fn uses(&self) -> Vec<Uses> {
        let mut uses = vec![Uses::new(); self.files.len()];
        for (path, module) in &self.modules {
            let mut found = BTreeSet::new();
            for used in module.paths.iter().chain(module.imports.values()) {
                self.resolve(path, used, Way::Named(0), &mut found);
            }
            for glob in &module.globs {
                self.resolve(
                    path,
                    &[&glob[..], &["*".to_owned()]].concat(),
                    Way::Named(0),
                    &mut found,
                );
            }
            for (file, name) in found.into_iter().filter(|(file, _)| *file != module.file) {
                uses[module.file].entry(file).or_default().insert(name);
            }
        }
        uses
    }

    /// Reads a file and the files of its modules; `folder` holds those without a path of their own.
    fn read_file(&mut self, path: PathBuf, folder: &Path, module: ModulePath) -> Done {
        let text = read(&path)?;
        let parsed =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", shown(&path)))?;
        let here = path.parent().unwrap_or(&path).to_owned();
        let file = self.files.len();
        self.files.push(path);
        self.read_items(parsed.items, file, &here, folder, module)
    }

    fn read_items(
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
            read.items.extend(name(&item));
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let path = [&module[..], std::slice::from_ref(&name)].concat();
                    let below = folder.join(&name);
                    if let Some((_, items)) = inner.content {
                        self.read_items(items, file, here, &below, path)?;
                    } else {
                        let beside = folder.join(format!("{name}.rs"));
                        let found = match stated_path(&inner.attrs) {
                            Some(stated) => here.join(stated),
                            None if beside.exists() => beside,
                            None => below.join("mod.rs"),
                        };
                        self.read_file(found, &below, path)?;
                    }
                }
                Item::Use(item) => read.import(&item.tree, &mut vec![]),
                item => Paths(&mut read.paths).visit_item(&item),
            }
        }
        self.modules.insert(module, read);
        Ok(())
    }

    /// Adds the files and items to which a path in a module leads.
    fn resolve(
        &self,
        module: &[String],
        path: &[String],
        way: Way,
        found: &mut BTreeSet<(usize, String)>,
    ) {
        let Some((first, rest)) = path.split_first().filter(|_| way.steps() < REEXPORTS_MAX) else {
            return;
        };
        match first.as_str() {
            "crate" => self.descend(&[], rest, way, found),
            "self" => self.descend(module, rest, way, found),
            "super" => {
                let above = module.split_last().map_or(&[][..], |(_, above)| above);
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(above, rest, way, found),
                    _ => self.descend(above, rest, way, found),
                }
            }
            _ => self.descend(module, path, way, found),
        }
    }

    /// Follows a path from one of a module's own names.
    fn descend(
        &self,
        module: &[String],
        path: &[String],
        way: Way,
        found: &mut BTreeSet<(usize, String)>,
    ) {
        let (Some(here), Some((name, rest))) = (self.modules.get(module), path.split_first())
        else {
            return;
        };
        if name == "*" {
            found.insert((here.file, name.clone()));
            return;
        }
        let inner = [module, std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&inner) {
            // A module alone is not used: the paths that go on from it say what is.
            return self.descend(&inner, rest, way, found);
        }
        if here.items.contains(name) {
            found.insert((here.file, name.clone()));
            return;
        }
        if let Some(import) = here.imports.get(name) {
            if import.first() != Some(name) {
                let path = [&import[..], rest].concat();
                self.resolve(module, &path, Way::Named(way.steps() + 1), found);
            }
            return;
        }
        let before = found.len();
        for glob in &here.globs {
            let path = [&glob[..], path].concat();
            self.resolve(module, &path, Way::Glob(way.steps() + 1), found);
        }
        if found.len() == before && matches!(way, Way::Named(_)) {
            // A macro has made it, or it is of another crate: this file hands it on.
            found.insert((here.file, name.clone()));
        }
    }
}

/// How a path has led to a module so far, with the number of re-exports on the way.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// By names.
    Named(usize),
    /// Over an import of everything, which may not contain the name.
    Glob(usize),
}

impl Way {
    fn steps(self) -> usize {
        match self {
            Self::Named(steps) | Self::Glob(steps) => steps,
        }
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        let named = |name: String| [&before[..], &[name]].concat();
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                let name = before.last().cloned().unwrap_or_default();
                self.imports.insert(name, before.clone());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.imports.insert(name.clone(), named(name));
            }
            UseTree::Rename(renamed) => {
                // `as _` may stand several times; no code calls what it imports by name.
                let here = match renamed.rename.to_string() {
                    name if name == "_" => format!("_ {}", renamed.ident),
                    name => name,
                };
                self.imports.insert(here, named(renamed.ident.to_string()));
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

/// Collects the paths in code, including those in the arguments of macros and attributes.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl Paths<'_> {
    fn add_words(&mut self, tokens: &str) {
        let text = tokens.replace(" :: ", "::");
        let words = text.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
        self.0.extend(words.map(|word| word.split("::").map(str::to_owned).collect()));
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut within = Module::default();
        within.import(&item.tree, &mut vec![]);
        self.0.extend(within.imports.into_values());
        let everything = |glob: Vec<String>| [&glob[..], &["*".to_owned()]].concat();
        self.0.extend(within.globs.into_iter().map(everything));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_words(&call.tokens.to_string());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.add_words(&list.tokens.to_string());
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
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
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Returns whether an item is only there for tests: `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string().replace(' ', "");
        condition == "test" || condition.starts_with("all(test,")
    })
}

/// Returns the file that `#[path = "…"]` states.
fn stated_path(attributes: &[Attribute]) -> Option<String> {
    let stated = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &stated.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
