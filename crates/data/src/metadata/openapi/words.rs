//! Sentences and names made from the model's names.

use std::fmt::Write as _;

use homeroom_model::{Model, Presence, Property, PropertyKind, Resource, ResourceKind, Scalar};

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

/// Returns the description of a resource: the kind of item, what identifies it, what it refers to, and
/// where it comes from.
pub fn about(model: &Model, resource: &Resource) -> String {
    let names: Vec<&str> = resource.key.iter().map(|column| column.name.as_str()).collect();
    let key = listed(&names);
    let mut about = match resource.kind {
        ResourceKind::Descriptor => format!(
            "Values of {}; {key} identify one. Other documents name a value as namespace#codeValue.",
            words(resource.name.strip_suffix("Descriptor").unwrap_or(&resource.name)),
        ),
        ResourceKind::Enumeration => format!(
            "The {} that this server knows; each is identified by {key}.",
            words(&resource.endpoint),
        ),
        ResourceKind::Entity | ResourceKind::Abstract => {
            format!("{}; each is identified by {key}.", sentence(&resource.endpoint))
        }
    };
    let targets = |needed: bool| {
        let properties = resource.properties.iter();
        let of = properties.filter(|of| (of.presence != Presence::Optional) == needed);
        let mut names: Vec<&str> = of
            .filter_map(|property| match &property.kind {
                PropertyKind::Reference(reference) => Some(model.target_name(reference.target)),
                _ => None,
            })
            .collect();
        names.dedup();
        names
    };
    let (needed, optional) = (targets(true), targets(false));
    if !needed.is_empty() {
        _ = write!(about, " It always refers to {}.", listed(&needed));
    }
    if !optional.is_empty() {
        _ = write!(about, " It may refer to {}.", listed(&optional));
    }
    if resource.kind != ResourceKind::Descriptor && !resource.interchanges.is_empty() {
        let interchanges: Vec<&str> = resource.interchanges.iter().map(String::as_str).collect();
        _ = write!(about, " Files bring it in the interchange {}.", listed(&interchanges));
    }
    about
}

/// Describes the content of a property in a sentence, and what it must keep. `of` is whose property it is.
pub fn property(
    property: &Property,
    of: &str,
    descriptor: impl Fn(Scalar) -> Option<String>,
) -> String {
    let mut about = match &property.kind {
        PropertyKind::Scalar(kind) => {
            let mut about = scalar(&property.name, *kind, of, descriptor);
            if *kind == Scalar::Boolean && property.presence == Presence::Optional {
                about += " It is absent where nobody has said.";
            }
            about
        }
        PropertyKind::List(inner) => {
            let keys: Vec<&str> = inner
                .iter()
                .filter(|member| member.presence == Presence::Key)
                .map(|member| member.name.as_str())
                .collect();
            let mut about =
                format!("The {}{}, in no particular order", words(&property.name), whose(of));
            if !keys.is_empty() {
                _ = write!(about, "; no two have the same {}", listed(&keys));
            }
            about + "."
        }
        PropertyKind::Object(_) if property.is_extensions() => {
            "Members that extensions of the standard add, by extension.".to_owned()
        }
        PropertyKind::Object(_) | PropertyKind::Reference(_) => {
            format!("The {}{}.", words(&property.name), whose(of))
        }
    };
    match property.presence {
        Presence::Key => about += " It is part of what identifies this, and cannot be changed.",
        Presence::Required => about += " It is required.",
        Presence::Optional => {}
    }
    about
}

/// Describes an item of a collection, or an embedded object.
pub fn item(property: &Property, inner: &[Property]) -> String {
    let needed: Vec<&str> = inner
        .iter()
        .filter(|member| member.presence != Presence::Optional)
        .map(|member| member.name.as_str())
        .collect();
    let what = match &property.kind {
        PropertyKind::List(_) => format!("One of the {}", words(&property.name)),
        _ => format!("The {}", words(&property.name)),
    };
    if needed.is_empty() {
        format!("{what}.")
    } else {
        format!("{what}: at least {}.", listed(&needed))
    }
}

/// Describes the content of a single value of something in a sentence.
pub fn scalar(
    name: &str,
    kind: Scalar,
    of: &str,
    descriptor: impl Fn(Scalar) -> Option<String>,
) -> String {
    let mut words = words(name);
    if kind == Scalar::Boolean {
        let what = if of.is_empty() { "it" } else { of };
        return format!("{}: true if that holds for the {what}.", capitalized(&words));
    }
    if !words.starts_with(of) {
        words += &whose(of);
    }
    match (kind, descriptor(kind)) {
        (_, Some(endpoint)) => {
            format!("The {words}: a value of {endpoint}, written namespace#codeValue.")
        }
        (Scalar::Date, None) => format!("The {words}, a day as YYYY-MM-DD."),
        (Scalar::DateTime, None) => format!("The {words}, a moment in ISO 8601, in UTC."),
        (Scalar::Time, None) => format!("The {words}, a time of day as HH:MM:SS."),
        (Scalar::Text { max, .. }, None) => format!("The {words}, at most {max} characters."),
        (Scalar::Decimal { scale, .. }, None) => {
            format!("The {words}, a number with at most {scale} digits after the point.")
        }
        (Scalar::Integer { .. } | Scalar::Descriptor(_) | Scalar::Boolean, None) => {
            format!("The {words}, a whole number.")
        }
    }
}

/// Returns whose something is, as the end of a phrase.
fn whose(of: &str) -> String {
    if of.is_empty() { String::new() } else { format!(" of the {of}") }
}

/// Returns what a schema describes, in words: `edFi_assessmentItem` is `assessment item`.
pub fn of_schema(schema: &str) -> String {
    words(schema.split_once('_').map_or(schema, |(_, stem)| stem))
}

/// Joins names as in `a, b and c`.
pub fn listed(names: &[&str]) -> String {
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
