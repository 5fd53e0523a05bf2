//! The model files that are shipped, by version of the data standard.

/// What is shipped of one version.
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

/// Versions of the data standard that are shipped.
pub const VERSIONS: &[&str] = &["4.0.0", "5.2.0"];

/// Extensions that are shipped: name, version of the standard that it extends, model file.
pub const EXTENSIONS_SHIPPED: &[(&str, &str, &str)] =
    &[extension!("homograph", "5.2.0"), extension!("sample", "5.2.0"), extension!("tpdm", "5.2.0")];

fn find(version: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.version == version)
}

/// The model file of the core standard that is shipped for a version, `5.2.0`.
pub fn shipped(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.model)
}

/// The model file of an extension that is shipped for a version of the standard.
pub fn shipped_extension(name: &str, version: &str) -> Option<&'static str> {
    let mut all = EXTENSIONS_SHIPPED.iter();
    all.find(|(found, of, _)| *found == name && *of == version).map(|(.., model)| *model)
}

/// The data file of [`check::Exceptions`](crate::check::Exceptions) that is shipped for a version.
pub fn shipped_exceptions(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.exceptions)
}

/// The documents of a new store that are shipped for a version, as JSON lines.
pub fn shipped_seed(version: &str) -> Option<&'static str> {
    find(version).map(|shipped| shipped.seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_versions_is_what_is_shipped() {
        let versions: Vec<&str> = ALL.iter().map(|shipped| shipped.version).collect();

        assert_eq!(versions, VERSIONS);
    }
}
