//! Names of tables and columns, as in the ODS.

use homeroom_model::{Property, PropertyKind, capitalized, singulars};
use sha2::{Digest as _, Sha256};

/// Length of the longest name that PostgreSQL keeps, in bytes.
const POSTGRES_NAME_MAX: usize = 63;
/// Length to which a longer name is cut.
const POSTGRES_NAME_CUT: usize = 56;

/// Returns the schema of a project's tables from its path segment: `edfi` for `ed-fi`.
pub fn schema_name(segment: &str) -> String {
    segment.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Returns a name as PostgreSQL stores it, in lower case. As in the ODS, a name that is too long is
/// cut, and `_` and the beginning of a hash are added.
pub fn postgres_name(name: &str) -> String {
    if name.len() <= POSTGRES_NAME_MAX {
        return name.to_ascii_lowercase();
    }
    let hash = Sha256::digest(name.as_bytes());
    let cut = name.get(..POSTGRES_NAME_CUT).unwrap_or(name).to_ascii_lowercase();
    format!("{cut}_{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2])
}

/// Returns the table name of a collection or an embedded object: the collection's name in the
/// singular, with the owner's name in front unless it already begins with that. A collection that
/// only holds references always gets both names.
pub(super) fn child_name(owner: &str, property: &Property) -> String {
    let name = capitalized(&property.name);
    let is_list = matches!(property.kind, PropertyKind::List(_));
    // If the element has the same name, singular and plural are the same word.
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

/// Returns the name of a descriptor's code value column, from that of its URI column.
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
