//! How the artefacts spell the same name.

/// Returns a column's name as JSON spells it; a surrogate is replaced by the value that it stands
/// for.
///
/// `StudentUSI` is `studentUniqueId`, `TermDescriptorId` is `termDescriptor`.
pub fn flat(column: &str) -> String {
    camel(&external(column))
}

/// Returns a column's name in Pascal case; a surrogate is replaced by the value that it stands for.
pub fn external(column: &str) -> String {
    if let Some(stem) = column.strip_suffix("USI") {
        return format!("{stem}UniqueId");
    }
    match column.strip_suffix("DescriptorId") {
        Some(stem) => format!("{stem}Descriptor"),
        None => column.to_owned(),
    }
}

/// Turns `SchoolId` into `schoolId`, `CTEProgram` into `cteProgram`, `URI` into `uri`.
pub fn camel(name: &str) -> String {
    let capitals = name.chars().take_while(char::is_ascii_uppercase).count();
    let lowered = match capitals {
        0 | 1 => capitals,
        _ if capitals == name.len() => capitals,
        _ => capitals - 1,
    };
    name[..lowered].to_ascii_lowercase() + &name[lowered..]
}

/// Whether two names differ at most in case.
pub fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_name_is_spelled_as_in_json() {
        for (column, json) in [
            ("LocationSchoolId", "locationSchoolId"),
            ("StudentUSI", "studentUniqueId"),
            ("TermDescriptorId", "termDescriptor"),
            ("URI", "uri"),
            ("CTEProgramCompletionIndicator", "cteProgramCompletionIndicator"),
        ] {
            assert_eq!(flat(column), json);
        }
    }
}
