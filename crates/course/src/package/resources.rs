//! The resources of a manifest, and where their files are.

use std::collections::{HashMap, HashSet};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use unicode_normalization::UnicodeNormalization as _;

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

fn with_parameters(base: String, parameters: &str) -> String {
    let rest = parameters.trim().trim_start_matches(['?', '&']);
    if rest.is_empty() {
        return base;
    }
    if rest.starts_with('#') {
        return if base.contains('#') { base } else { base + rest };
    }
    let (path, fragment) = match base.split_once('#') {
        Some((path, fragment)) => (path.to_owned(), format!("#{fragment}")),
        None => (base, String::new()),
    };
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}{rest}{fragment}")
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

/// Reads the resources of a manifest by their identifiers.
pub(crate) fn resources<'m>(
    manifest: &'m Element,
    files: &Files,
) -> HashMap<&'m str, Resource<'m>> {
    let mut all = HashMap::new();
    let Some(list) = manifest.child("resources") else { return all };
    let bases = [manifest.attribute("base"), list.attribute("base")];
    let above = bases.into_iter().flatten().map(|base| base.trim_matches('/')).collect::<Vec<_>>();
    for element in list.all("resource") {
        let Some(id) = element.attribute("identifier") else { continue };
        let mut bases = above.clone();
        bases.extend(element.attribute("base").map(|base| base.trim_matches('/')));
        bases.retain(|base| !base.is_empty());
        let base = bases.join("/");
        let href = element.attribute("href").filter(|href| !href.is_empty());
        let kind = element.attribute("scormtype").unwrap_or("asset");
        let missing = element.all("file").filter_map(|file| {
            let href = file.attribute("href")?;
            match locate(&base, href, files) {
                Target::Missing(path) => Some((path, file.line)),
                _ => None,
            }
        });
        let resource = Resource {
            element,
            target: href.map(|href| locate(&base, href, files)),
            is_sco: kind.eq_ignore_ascii_case("sco"),
            missing: missing.collect(),
        };
        all.entry(id).or_insert(resource);
    }
    all
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
        ] {
            assert_eq!(with_parameters(base.into(), parameters), whole);
        }
    }
}
