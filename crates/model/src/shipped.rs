//! The shipped model files, by version of the data standard.

/// The shipped files of one version.
struct Shipped {
    version: &'static str,
    model: &'static str,
    exceptions: &'static str,
    seed: &'static str,
}

macro_rules! shipped {
    ($version:literal) => {
        Shipped {
            version: $version,
            model: include_str!(concat!("../../../models/ed-fi/", $version, "/ed-fi.model")),
            exceptions: include_str!(concat!(
                "../../../models/ed-fi/",
                $version,
                "/exceptions.toml"
            )),
            seed: include_str!(concat!("../../../models/ed-fi/", $version, "/seed.jsonl")),
        }
    };
}

macro_rules! extension {
    ($name:literal, $version:literal) => {
        (
            $name,
            $version,
            include_str!(concat!("../../../models/extensions/", $name, "/", $version, ".model")),
        )
    };
}

const ALL: &[Shipped] = &[shipped!("4.0.0"), shipped!("5.2.0")];

/// Versions of the data standard that have a shipped model.
pub const VERSIONS: &[&str] = &["4.0.0", "5.2.0"];

/// Shipped extensions: name, version of the standard that it extends, model file.
pub const EXTENSIONS_SHIPPED: &[(&str, &str, &str)] =
    &[extension!("homograph", "5.2.0"), extension!("sample", "5.2.0"), extension!("tpdm", "5.2.0")];

fn find(version: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.version == version)
}

/// Returns the shipped model file of the core standard for a version such as `5.2.0`.
pub fn shipped(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.model)
}

/// Returns the shipped model file of an extension for a version of the standard.
pub fn shipped_extension(name: &str, version: &str) -> Option<&'static str> {
    let mut all = EXTENSIONS_SHIPPED.iter();
    all.find(|(found, of, _)| *found == name && *of == version).map(|(.., model)| *model)
}

/// Returns the shipped data file of [`check::Exceptions`](crate::check::Exceptions) for a version.
pub fn shipped_exceptions(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.exceptions)
}

/// Returns the shipped documents of a new store for a version, as JSON lines.
pub fn shipped_seed(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.seed)
}

/// Returns the shipped examples of documents for a version, as JSON lines, each with the name of its
/// resource. They are from a generated district.
pub fn shipped_examples(version: &str) -> Option<&'static str> {
    let examples = include_str!("../../../models/ed-fi/5.2.0/examples.jsonl");
    (version == "5.2.0").then_some(examples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_versions_matches_the_shipped_files() {
        let versions: Vec<&str> = ALL.iter().map(|shipped| shipped.version).collect();

        assert_eq!(versions, VERSIONS);
    }
}
