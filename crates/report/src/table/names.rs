//! Names as the ODS has them.

use homeroom_model::{Property, PropertyKind, capitalized, singulars};
use sha2::{Digest as _, Sha256};

/// Longest name that PostgreSQL keeps, in bytes.
const POSTGRES_NAME_MAX: usize = 63;
/// Where a name that is longer is cut.
const POSTGRES_NAME_CUT: usize = 56;

/// The schema of a project's tables, by its path segment: `ed-fi` has `edfi`.
pub fn schema_name(segment: &str) -> String {
    segment.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// A name as PostgreSQL has it: in lower case; one that is too long is cut, with `_` and the
/// beginning of a hash behind, as in the ODS.
pub fn postgres_name(name: &str) -> String {
    if name.len() <= POSTGRES_NAME_MAX {
        return name.to_ascii_lowercase();
    }
    let hash = Sha256::digest(name.as_bytes());
    let cut = name.get(..POSTGRES_NAME_CUT).unwrap_or(name).to_ascii_lowercase();
    format!("{cut}_{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2])
}

/// The table of a collection or an embedded object, by its owner's: the collection's name in the
/// singular, and the owner's name before it where it does not begin so already. A collection that
/// only refers to others keeps both names.
pub(super) fn child_name(owner: &str, property: &Property) -> String {
    let name = capitalized(&property.name);
    let is_list = matches!(property.kind, PropertyKind::List(_));
    // Where the element has the very name, the word is the same in the singular.
    let is_uncountable = property.xml.ends_with(&name);
    let own = if is_list && !is_uncountable {
        singulars(&name).into_iter().next().unwrap_or(name)
    } else {
        name
    };
    let only_refers = match &property.kind {
        PropertyKind::List(items) => {
            matches!(items.as_slice(), [only] if matches!(only.kind, PropertyKind::Reference(_)))
        }
        _ => false,
    };
    if own.starts_with(owner) && !only_refers { own } else { format!("{owner}{own}") }
}

/// The column of a descriptor's code value, by the one of its URI.
pub(super) fn code_value_name(column: &str) -> String {
    format!("{}CodeValue", column.strip_suffix("Descriptor").unwrap_or(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_as_the_ods_cuts_it() {
        let long = "StudentSpecialEducationProgramAssociationSpecialEducationProgramService";

        assert_eq!(
            postgres_name(long),
            "studentspecialeducationprogramassociationspecialeducatio_a51ff9"
        );
        assert_eq!(postgres_name("StudentSchoolAssociation"), "studentschoolassociation");
    }
}
