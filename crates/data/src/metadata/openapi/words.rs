//! Sentences and names made from the model's names.

use homeroom_model::{Property, PropertyKind, Resource, ResourceKind, Scalar};

/// Splits a name into words: `sectionIdentifier` is `section identifier`; an acronym keeps its
/// capitals.
pub fn words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::with_capacity(name.len() + 8);
    for (at, &letter) in letters.iter().enumerate() {
        let previous = at.checked_sub(1).map(|at| letters[at]);
        let next = letters.get(at + 1);
        let starts = letter.is_uppercase()
            && previous
                .is_some_and(|p| !p.is_uppercase() || next.is_some_and(|n| n.is_lowercase()));
        if starts {
            out.push(' ');
        }
        let acronym = letter.is_uppercase()
            && (next.is_some_and(|n| n.is_uppercase())
                || previous.is_some_and(char::is_uppercase)
                    && next.is_none_or(|n| n.is_uppercase()));
        if acronym {
            out.push(letter);
        } else {
            out.extend(letter.to_lowercase());
        }
    }
    out
}

/// Splits a name into words and starts with a capital.
pub fn sentence(name: &str) -> String {
    capitalized(&words(name))
}

/// Returns `name` with a capital first letter.
pub fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().to_string() + letters.as_str())
}

/// Returns the singular of an English plural, as the standard forms names of collections.
pub fn singular(name: &str) -> String {
    for (plural, ending) in
        [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")]
    {
        if let Some(stem) = name.strip_suffix(plural) {
            return stem.to_owned() + ending;
        }
    }
    for (plural, ending) in [("trices", "trix"), ("gnoses", "gnosis"), ("tuses", "tus")] {
        if let Some(stem) = name.strip_suffix(plural) {
            return stem.to_owned() + ending;
        }
    }
    name.strip_suffix('s').unwrap_or(name).to_owned()
}

/// Returns the description of a tag: the kind of item, and what identifies it.
pub fn about(resource: &Resource) -> String {
    let names: Vec<&str> = resource.key.iter().map(|column| column.name.as_str()).collect();
    let key = listed(&names);
    match resource.kind {
        ResourceKind::Descriptor => format!(
            "Values of {}; {key} identify one.",
            words(resource.name.strip_suffix("Descriptor").unwrap_or(&resource.name)),
        ),
        ResourceKind::Enumeration => format!(
            "The {} that this server knows; each is identified by {key}.",
            words(&resource.endpoint),
        ),
        ResourceKind::Entity | ResourceKind::Abstract => {
            format!("{}; each is identified by {key}.", sentence(&resource.endpoint))
        }
    }
}

/// Describes the content of a property in a sentence.
pub fn property(property: &Property, descriptor: impl Fn(Scalar) -> Option<String>) -> String {
    match &property.kind {
        PropertyKind::Scalar(kind) => scalar(&property.name, *kind, descriptor),
        PropertyKind::List(_) => {
            format!("The {}, in no particular order.", words(&property.name))
        }
        PropertyKind::Object(_) if property.is_extensions() => {
            "Members that extensions of the standard add, by extension.".to_owned()
        }
        PropertyKind::Object(_) | PropertyKind::Reference(_) => {
            format!("The {}.", words(&property.name))
        }
    }
}

/// Describes the content of a single value in a sentence.
pub fn scalar(name: &str, kind: Scalar, descriptor: impl Fn(Scalar) -> Option<String>) -> String {
    match (kind, descriptor(kind)) {
        (_, Some(endpoint)) => format!("A value of {endpoint}, written namespace#codeValue."),
        (Scalar::Boolean, None) => format!("True or false: {}.", words(name)),
        (Scalar::Date, None) => format!("The {}, as YYYY-MM-DD.", words(name)),
        (Scalar::DateTime, None) => format!("The {}, ISO 8601, in UTC.", words(name)),
        (Scalar::Time, None) => format!("The {}, as HH:MM:SS.", words(name)),
        (_, None) => format!("The {}.", words(name)),
    }
}

/// Joins names as in `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_words() {
        for (name, expected) in [
            ("sectionIdentifier", "section identifier"),
            ("SchoolYearType", "school year type"),
            ("IEPBeginDate", "IEP begin date"),
            ("dateEnteredUS", "date entered US"),
            ("cteProgram", "cte program"),
            ("titleIPartAParticipant", "title I part A participant"),
            ("section504Disability", "section504 disability"),
            ("", ""),
        ] {
            assert_eq!(words(name), expected);
        }
    }

    #[test]
    fn collections_have_a_singular() {
        for (plural, expected) in [
            ("characteristics", "characteristic"),
            ("categories", "category"),
            ("addresses", "address"),
            ("matrices", "matrix"),
            ("diagnoses", "diagnosis"),
            ("participationStatuses", "participationStatus"),
            ("licenses", "license"),
            ("data", "data"),
        ] {
            assert_eq!(singular(plural), expected);
        }
    }
}
