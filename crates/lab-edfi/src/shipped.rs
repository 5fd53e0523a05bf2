//! The Ed-Fi scenarios that come with the program.

use homeroom_load::scenario::Shipped;

/// All Ed-Fi scenarios that come with the program.
pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "edfi-initial-setup",
        text: include_str!("../scenarios/edfi-initial-setup.toml"),
    },
    Shipped { name: "edfi-enrollment", text: include_str!("../scenarios/edfi-enrollment.toml") },
    Shipped { name: "edfi-day-to-day", text: include_str!("../scenarios/edfi-day-to-day.toml") },
    Shipped { name: "edfi-end-of-year", text: include_str!("../scenarios/edfi-end-of-year.toml") },
];

#[cfg(test)]
mod tests {
    use homeroom_load::scenario::ScenarioFile;

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
