//! What a manifest says about its course as a whole: the standard, the languages, the description.

use super::finding::{Finding, Findings};
use super::standard::Standard;
use super::xml::Element;

/// Returns the standard of a manifest.
pub(crate) fn standard(root: &Element, findings: &mut Findings) -> Standard {
    let metadata = root.child("metadata");
    let version = metadata.and_then(|metadata| metadata.text_of("schemaversion"));
    let spaces: Vec<&str> = root.attributes.iter().map(|(_, value)| value.as_str()).collect();
    let has = |part: &str| spaces.iter().any(|space| space.contains(part));
    let by_spaces = if has("adlcp_v1p3") || has("imsss") || has("adlseq_v1p3") {
        Some(Standard::Scorm2004Third)
    } else if has("adlcp_rootv1p2") || has("imscp_rootv1p1p2") {
        Some(Standard::Scorm12)
    } else {
        None
    };
    let by_version = version.and_then(Standard::of_version);
    let standard = match (by_version, by_spaces) {
        (Some(version), Some(spaces)) if version.is_2004() != spaces.is_2004() => {
            let message = format!(
                "schemaversion says {}, but the namespaces are those of another version; the \
                 namespaces are believed",
                version.name()
            );
            findings.add(Finding::warn("version-differs", message).at("manifest", root.line));
            spaces
        }
        (Some(version), _) => version,
        (None, Some(spaces)) => {
            let message = "the manifest has no schemaversion that is known; its namespaces decide";
            findings.add(Finding::warn("no-version", message).at("manifest", root.line));
            spaces
        }
        (None, None) => {
            let message = "the manifest does not say which SCORM it is for; it is taken for 1.2";
            findings.add(Finding::warn("no-version", message).at("manifest", root.line));
            Standard::Scorm12
        }
    };
    findings.add(Finding::pass("standard", format!("the package is {}", standard.name())));
    standard
}

/// Returns the languages and the description of the course's metadata.
pub(crate) fn about(root: &Element) -> (Vec<String>, Option<String>) {
    let Some(metadata) = root.child("metadata") else { return (vec![], None) };
    let mut languages = vec![];
    let mut description = None;
    walk(metadata, 0, &mut |element| {
        if element.name.eq_ignore_ascii_case("language")
            && !element.text.is_empty()
            && element.text.len() < 36
            && languages.len() < 20
            && !languages.contains(&element.text)
        {
            languages.push(element.text.clone());
        }
        if description.is_none() && element.name.eq_ignore_ascii_case("description") {
            let inner = element.text_of("langstring").or_else(|| element.text_of("string"));
            description = inner.map(|text| text.chars().take(2_000).collect());
        }
    });
    (languages, description)
}

fn walk(element: &Element, depth: usize, visit: &mut dyn FnMut(&Element)) {
    visit(element);
    if depth < 16 {
        for child in &element.children {
            walk(child, depth + 1, visit);
        }
    }
}
