//! The resources of a manifest, and where their files are.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use unicode_normalization::UnicodeNormalization as _;

use super::finding::{Finding, Findings};
use super::xml::Element;

/// What is encoded in a path of a URL.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// The files of a package by their paths, as they are and in lower case.
#[derive(Debug, Default)]
pub(crate) struct Files {
    exact: HashSet<String>,
    lower: HashMap<String, String>,
}

impl Files {
    pub(crate) fn of<'p>(paths: impl Iterator<Item = &'p str>) -> Self {
        let mut files = Self::default();
        for path in paths {
            files.lower.insert(path.to_lowercase(), path.to_owned());
            files.exact.insert(path.to_owned());
        }
        files
    }

    /// Returns the file that a path means, and whether it is spelled as the path is.
    pub(crate) fn find(&self, path: &str) -> Option<(&str, bool)> {
        if let Some(found) = self.exact.get(path) {
            return Some((found, true));
        }
        self.lower.get(&path.to_lowercase()).map(|found| (found.as_str(), false))
    }
}

/// Where a reference of a manifest leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file of the package: its path, and what follows it, from `?` or `#` on.
    File {
        /// The file.
        path: String,
        /// Query and fragment.
        rest: String,
        /// Whether it is spelled as it is named.
        is_exact: bool,
    },
    /// A page elsewhere.
    Elsewhere(String),
    /// A file that is not there.
    Missing(String),
}

impl Target {
    /// Returns the address to launch, relative to the content, with the parameters of an item.
    ///
    /// Source: IMS Content Packaging 1.1.4 and SCORM CAM §3.4.1.8 (`parameters`).
    pub(crate) fn href(&self, parameters: &str) -> String {
        let base = match self {
            Self::File { path, rest, .. } => {
                format!("{}{rest}", utf8_percent_encode(path, PATH))
            }
            Self::Elsewhere(url) => url.clone(),
            Self::Missing(path) => utf8_percent_encode(path, PATH).to_string(),
        };
        with_parameters(base, parameters)
    }
}

/// Joins an address and an item's parameters: queries one after the other; a fragment of the parameters
/// only where the address has none.
fn with_parameters(base: String, parameters: &str) -> String {
    let parameters = parameters.trim().trim_start_matches(['?', '&']);
    let (query, more) = match parameters.split_once('#') {
        Some((query, fragment)) => (query, Some(fragment)),
        None => (parameters, None),
    };
    let (address, own) = match base.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (base.as_str(), None),
    };
    let mut whole = address.to_owned();
    if !query.is_empty() {
        if !whole.ends_with(['?', '&']) {
            whole.push(if whole.contains('?') { '&' } else { '?' });
        }
        whole.push_str(query);
    }
    if let Some(fragment) = own.or(more) {
        whole.push('#');
        whole.push_str(fragment);
    }
    whole
}

/// Finds what a reference means below a base.
pub(crate) fn locate(base: &str, href: &str, files: &Files) -> Target {
    let whole = if is_absolute(href) || base.is_empty() {
        href.to_owned()
    } else {
        format!("{}/{href}", base.trim_end_matches('/'))
    };
    if is_absolute(&whole) {
        return Target::Elsewhere(whole);
    }
    let at = whole.find(['?', '#']).unwrap_or(whole.len());
    let (path, rest) = whole.split_at(at);
    let path: String = path.replace('\\', "/").nfc().collect();
    let decoded =
        percent_decode_str(&path).decode_utf8().map_or(path.clone(), |text| text.nfc().collect());
    for (path, rest) in [(decoded.as_str(), rest), (path.as_str(), rest), (whole.as_str(), "")] {
        let Some(path) = plain(path) else { continue };
        for page in [path.clone(), format!("{path}/index.html"), format!("{path}/index.htm")] {
            if let Some((found, is_exact)) = files.find(page.trim_start_matches('/')) {
                let (path, rest) = (found.to_owned(), rest.to_owned());
                return Target::File { path, rest, is_exact };
            }
        }
    }
    Target::Missing(plain(&decoded).unwrap_or(decoded))
}

/// Returns a path without dots; [`None`] if it leads out of the package.
fn plain(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_absolute(href: &str) -> bool {
    let lower = href.to_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://") || lower.starts_with("//")
}

/// A resource: where it is launched, and whether it talks to the run-time.
#[derive(Debug)]
pub(crate) struct Resource<'m> {
    pub(crate) element: &'m Element,
    pub(crate) target: Option<Target>,
    pub(crate) is_sco: bool,
    /// Its files that are not in the package.
    pub(crate) missing: Vec<(String, usize)>,
}

/// A manifest, or one within another.
#[derive(Debug)]
pub(crate) struct Scope<'m> {
    pub(crate) element: &'m Element,
    /// The manifest that has it.
    parent: Option<usize>,
    /// Its resources, in their order.
    pub(crate) own: Vec<&'m str>,
}

/// The resources of a manifest, and those of the manifests within it.
#[derive(Debug)]
pub(crate) struct Resources<'m> {
    /// The manifest, then those within it.
    pub(crate) scopes: Vec<Scope<'m>>,
    all: HashMap<(usize, &'m str), Resource<'m>>,
}

impl<'m> Resources<'m> {
    /// Reads the resources of a manifest that is in a folder.
    pub(crate) fn of(
        manifest: &'m Element,
        folder: &str,
        files: &Files,
        findings: &mut Findings,
    ) -> Self {
        let mut found = Self { scopes: vec![], all: HashMap::new() };
        found.add(manifest, None, &Base::of(folder), files, findings);
        found
    }

    fn add(
        &mut self,
        manifest: &'m Element,
        parent: Option<usize>,
        above: &Base,
        files: &Files,
        findings: &mut Findings,
    ) {
        let scope = self.scopes.len();
        self.scopes.push(Scope { element: manifest, parent, own: vec![] });
        let base = above.then(manifest.attribute("base"));
        for list in manifest.all("resources") {
            let base = base.then(list.attribute("base"));
            for element in list.all("resource") {
                let Some(id) = element.attribute("identifier") else { continue };
                let resource = resource(element, &base.then(element.attribute("base")), files);
                match self.all.entry((scope, id)) {
                    Entry::Vacant(free) => {
                        free.insert(resource);
                        self.scopes[scope].own.push(id);
                    }
                    Entry::Occupied(mut known) => {
                        let is_better = resource.is_there() && !known.get().is_there();
                        let which = if is_better { "this one" } else { "the earlier one" };
                        let message =
                            format!("two resources have the same identifier; {which} is taken");
                        let finding = Finding::warn("resource-twice", message);
                        findings.add(finding.at(element.label(), element.line));
                        if is_better {
                            known.insert(resource);
                        }
                    }
                }
            }
        }
        for inner in manifest.all("manifest") {
            self.add(inner, Some(scope), &base, files, findings);
        }
    }

    /// Returns the resource that an identifier means in a manifest: its own, or that of any other.
    pub(crate) fn find<'a>(&'a self, scope: usize, id: &'a str) -> Option<&'a Resource<'a>> {
        let own = self.all.get(&(scope, id));
        own.or_else(|| (0..self.scopes.len()).find_map(|scope| self.all.get(&(scope, id))))
    }

    /// Returns the manifest of an identifier within another.
    pub(crate) fn inner(&self, scope: usize, id: &str) -> Option<usize> {
        let is_within = |mut at: usize| {
            while let Some(parent) = self.scopes[at].parent {
                if parent == scope {
                    return true;
                }
                at = parent;
            }
            false
        };
        (0..self.scopes.len()).find(|at| {
            self.scopes[*at].element.attribute("identifier") == Some(id) && is_within(*at)
        })
    }

    /// Returns the manifests' places and the identifiers of all resources, in their order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (usize, &'m str)> {
        let scopes = self.scopes.iter().enumerate();
        scopes.flat_map(|(at, scope)| scope.own.iter().map(move |id| (at, *id)))
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the resources of all manifests, in their order.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Resource<'m>> {
        self.ids().map(|id| &self.all[&id])
    }
}

impl Resource<'_> {
    /// Returns whether it can be launched.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.target, Some(Target::File { .. } | Target::Elsewhere(_)))
    }
}

fn resource<'m>(element: &'m Element, base: &Base, files: &Files) -> Resource<'m> {
    let href = element.attribute("href").filter(|href| !href.is_empty());
    let kind = element.attribute("scormtype").unwrap_or("asset");
    let missing = element.all("file").filter_map(|file| {
        let href = file.attribute("href")?;
        match base.then(file.attribute("base")).locate(href, files) {
            Target::Missing(path) => Some((path, file.line)),
            _ => None,
        }
    });
    Resource {
        element,
        target: href.map(|href| base.locate(href, files)),
        is_sco: kind.eq_ignore_ascii_case("sco"),
        missing: missing.collect(),
    }
}

/// What references are relative to: a folder of the package, or an address elsewhere.
#[derive(Debug, Clone, Default)]
struct Base {
    /// As most tools mean it: a folder, with or without a slash at its end.
    folder: String,
    /// As the standard has it: what follows the last slash does not count.
    strict: String,
}

impl Base {
    fn of(folder: &str) -> Self {
        Self { folder: folder.to_owned(), strict: folder.to_owned() }
    }

    /// Returns the base below this one.
    ///
    /// Source: XML Base §3 and §4.
    fn then(&self, base: Option<&str>) -> Self {
        let Some(base) = base.filter(|base| !base.is_empty()) else { return self.clone() };
        let base = base.replace('\\', "/");
        if is_absolute(&base) {
            return Self { folder: base.clone(), strict: base };
        }
        let base = base.trim_start_matches('/');
        let folder = joined(&self.folder, base);
        let last = base.rfind('/').map_or(0, |at| at + 1);
        Self { folder, strict: joined(&self.strict, &base[..last]) }
    }

    fn locate(&self, href: &str, files: &Files) -> Target {
        let found = locate(&self.folder, href, files);
        if matches!(found, Target::Missing(_)) && self.strict != self.folder {
            let strict = locate(&self.strict, href, files);
            if !matches!(strict, Target::Missing(_)) {
                return strict;
            }
        }
        found
    }
}

fn joined(base: &str, next: &str) -> String {
    match base.trim_end_matches('/') {
        "" => next.to_owned(),
        base => format!("{base}/{next}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_files_whatever_their_spelling() {
        let files = Files::of(["a/My page.html", "index.html"].into_iter());
        let exact = |href: &str, base: &str| match locate(base, href, &files) {
            Target::File { path, rest, is_exact } => (path, rest, is_exact),
            other => panic!("{href}: {other:?}"),
        };
        let page = "a/My page.html".to_owned();
        assert_eq!(exact("My%20page.html?x=1", "a/"), (page.clone(), "?x=1".into(), true));
        assert_eq!(exact("A\\my page.HTML#t", ""), (page, "#t".into(), false));
        assert_eq!(exact("./b/../index.html", ""), ("index.html".into(), String::new(), true));
        assert_eq!(exact("/", ""), ("index.html".into(), String::new(), true));
        assert_eq!(exact("./", "/"), ("index.html".into(), String::new(), true));
        assert!(matches!(locate("", "../x.html", &files), Target::Missing(_)));
        assert!(matches!(locate("a", "https://e.org/x", &files), Target::Elsewhere(_)));
    }

    #[test]
    fn parameters_are_added_as_the_standard_says() {
        for (base, parameters, whole) in [
            ("a.html", "?x=1", "a.html?x=1"),
            ("a.html?y=2", "&x=1", "a.html?y=2&x=1"),
            ("a.html#t", "x=1", "a.html?x=1#t"),
            ("a.html#t", "#u", "a.html#t"),
            ("a.html", "#u", "a.html#u"),
            ("a.html", "", "a.html"),
            ("a?x=1#t", "?c=3#z", "a?x=1&c=3#t"),
            ("a?x=1", "?c=3#z", "a?x=1&c=3#z"),
            ("a?", "&c=3", "a?c=3"),
            ("a", " ?&c=3 ", "a?c=3"),
        ] {
            assert_eq!(with_parameters(base.into(), parameters), whole);
        }
    }
}
