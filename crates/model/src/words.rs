//! Converts names between singular and plural, and between JSON and XML.

use crate::source::{PropertySource, Type};

/// Whether a text can be the name of a resource or of one of its parts: letters and digits, a
/// letter first.
pub(crate) fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|letter| letter.is_ascii_alphanumeric())
}

/// Returns the path of elements that the general rule gives a property.
///
/// It is the capitalized name, without `Descriptor`. The reference to a school year loses
/// `TypeReference`. A collection takes the singular, or the name of its items' only property if
/// that ends in the singular. The only property of an item is the element itself, `.`.
pub fn default_path(property: &PropertySource, only_of_item: bool) -> String {
    if only_of_item && !matches!(property.kind, Type::Object(_) | Type::List(_)) {
        return ".".into();
    }
    let name = capitalized(&property.name);
    let stripped = |ending: &str| name.strip_suffix(ending).unwrap_or(&name).to_owned();
    match &property.kind {
        Type::Descriptor(_) => stripped("Descriptor"),
        Type::Reference { target, .. } if target.ends_with("Type") => stripped("TypeReference"),
        Type::List(items) => {
            let singular = singulars(&name).into_iter().next().unwrap_or_else(|| name.clone());
            match items.as_slice() {
                [only] if !matches!(only.kind, Type::Object(_) | Type::List(_)) => {
                    let item = default_path(only, false);
                    let stem = item.strip_suffix("Reference").unwrap_or(&item);
                    let reference = if stem.len() < item.len() { "Reference" } else { "" };
                    if stem.ends_with(&singular) { item } else { singular + reference }
                }
                _ => singular,
            }
        }
        _ => name,
    }
}

/// Returns the possible singulars of a plural, the likeliest first.
pub fn singulars(plural: &str) -> Vec<String> {
    let mut found = vec![];
    for (ending, instead) in [
        ("ies", "y"),
        ("trices", "trix"),
        ("noses", "nosis"),
        ("uses", "us"),
        ("sses", "ss"),
        ("xes", "x"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("s", ""),
    ] {
        found.extend(plural.strip_suffix(ending).map(|stem| format!("{stem}{instead}")));
    }
    found
}

/// Returns the name with its first letter in upper case.
pub fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_singular_comes_first() {
        for (plural, singular) in [
            ("addresses", "address"),
            ("categories", "category"),
            ("classPeriods", "classPeriod"),
            ("diagnoses", "diagnosis"),
            ("matrices", "matrix"),
            ("statuses", "status"),
        ] {
            assert_eq!(singulars(plural)[0], singular);
        }
    }
}
