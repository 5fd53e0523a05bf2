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
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "get", text: include_str!("../../scenarios/get.toml") },
    Shipped {
        name: "edfi-initial-setup",
        text: include_str!("../../scenarios/edfi-initial-setup.toml"),
    },
    Shipped { name: "edfi-enrollment", text: include_str!("../../scenarios/edfi-enrollment.toml") },
    Shipped { name: "edfi-day-to-day", text: include_str!("../../scenarios/edfi-day-to-day.toml") },
    Shipped {
        name: "edfi-end-of-year",
        text: include_str!("../../scenarios/edfi-end-of-year.toml"),
    },
];

impl Shipped {
    /// Returns the scenario of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }
}

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
