//! "Did you mean": suggests the known names nearest to an unknown one.

/// Most names that a message suggests.
const OFFERED_MAX: usize = 3;

/// Most characters of a name that are compared.
const NAME_MAX: usize = 200;

/// Returns up to three of `known` that differ least from `name`, nearest first. Names that differ
/// in more than half of their letters are left out.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name: String = name.to_lowercase().chars().take(NAME_MAX).collect();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (strsim::levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| distance * 2 <= candidate.chars().count())
        .collect();
    near.sort_unstable();
    near.truncate(OFFERED_MAX);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns `; did you mean A, B?`, or an empty text.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known)[..] {
        [] => String::new(),
        ref names => format!("; did you mean {}?", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_distant_ones_not_at_all() {
        let known = ["SISVendor", "RosterVendor", "EdFiSandbox"];

        assert_eq!(nearest("sisvender", known), ["SISVendor", "RosterVendor"]);
        assert_eq!(nearest("zebra", known), [""; 0]);
        assert_eq!(did_you_mean("edfisandbx", known), "; did you mean EdFiSandbox?");
    }
}
