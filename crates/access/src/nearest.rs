//! "Did you mean": the known names nearest to one that nothing has.

/// Most names that a message offers.
const OFFERED_MAX: usize = 3;

/// Longest name that is compared.
const NAME_MAX: usize = 200;

/// Up to three of `known` that differ least from `name`, the nearest first; none where all differ in
/// more than half of their letters.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().take(NAME_MAX).collect();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| distance * 2 <= candidate.chars().count())
        .collect();
    near.sort_unstable();
    near.truncate(OFFERED_MAX);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// `; did you mean A, B?`, or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known)[..] {
        [] => String::new(),
        ref names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// Fewest letters to insert, remove or replace (Levenshtein).
fn distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (at, letter) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in a.iter().enumerate() {
            let replace = diagonal + usize::from(*other != letter);
            diagonal = row[column + 1];
            row[column + 1] = replace.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
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
