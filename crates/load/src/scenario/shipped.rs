//! The scenarios that come with the program.

/// A scenario that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

/// All scenarios that come with the program.
pub const SHIPPED: &[Shipped] =
    &[Shipped { name: "get", text: include_str!("../../scenarios/get.toml") }];

#[cfg(test)]
mod tests {
    use super::super::ScenarioFile;
    use super::*;

    #[test]
    fn every_shipped_scenario_can_be_read_and_has_its_own_name() {
        for shipped in SHIPPED {
            let file = ScenarioFile::read(shipped.text).unwrap();

            assert_eq!(file.name, shipped.name);
            assert!(!file.description.is_empty(), "{}", shipped.name);
        }
    }
}
