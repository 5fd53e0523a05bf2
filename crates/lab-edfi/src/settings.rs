//! The settings of a scenario over an Ed-Fi API: which resources are used, and how often each
//! operation is done.

use thiserror::Error;

use homeroom_load::scenario::EdfiFile;

/// A setting that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// No setting has this name.
    #[error(
        "{name} is not a setting; the settings are create, read, update, delete, list, \
            weight.RESOURCE, only and except"
    )]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The value is not a share.
    #[error("{value} is not a share for {name}: write a number of at least 0, such as 20 or 0.5")]
    NoShare {
        /// The setting's name.
        name: String,
        /// The value that was given.
        value: String,
    },
}

/// Changes one setting by its command-line name: `create`, `read`, `update`, `delete` and
/// `list` are shares, `weight.students` is a resource's share, `only` and `except` are
/// comma-separated lists of resources.
///
/// # Errors
///
/// If there is no such setting, or the value is not valid.
pub fn set(file: &mut EdfiFile, name: &str, value: &str) -> Result<(), SettingError> {
    let names = || {
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let share = || {
        let number = value.trim().parse().ok();
        number
            .filter(|share: &f64| share.is_finite() && *share >= 0.0)
            .ok_or_else(|| SettingError::NoShare { name: name.to_owned(), value: value.to_owned() })
    };
    match name {
        "create" => file.create = share()?,
        "read" => file.read = share()?,
        "update" => file.update = share()?,
        "delete" => file.delete = share()?,
        "list" => file.list = share()?,
        "only" => file.only = names(),
        "except" => file.except = names(),
        _ => match name.strip_prefix("weight.").filter(|resource| !resource.is_empty()) {
            Some(resource) => drop(file.weights.insert(resource.to_owned(), share()?)),
            None => return Err(SettingError::Unknown { name: name.to_owned() }),
        },
    }
    Ok(())
}

/// Returns the share of a resource: by its name, else by the longest pattern that it ends with,
/// else 1.
pub fn weight(file: &EdfiFile, resource: &str) -> f64 {
    let named = || {
        let fitting = file.weights.iter().filter(|(pattern, _)| fits(pattern, resource));
        fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, weight)| weight)
    };
    file.weights.get(resource).or_else(named).copied().unwrap_or(1.0)
}

/// Returns whether a name equals a pattern or, if the pattern begins with `*`, ends with the rest.
pub fn fits(pattern: &str, name: &str) -> bool {
    pattern == name || pattern.strip_prefix('*').is_some_and(|end| name.ends_with(end))
}

/// Returns whether a scenario includes a resource.
pub fn selects(file: &EdfiFile, resource: &str) -> bool {
    let names = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, resource));
    (file.only.is_empty() || names(&file.only)) && !names(&file.except)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SHIPPED;
    use homeroom_load::scenario::ScenarioFile;

    fn file() -> EdfiFile {
        let mut files = SHIPPED.iter().map(|shipped| ScenarioFile::read(shipped.text).unwrap());
        files.find_map(|file| file.edfi).unwrap()
    }

    #[test]
    fn settings_change_shares_weights_and_resources() {
        let mut file = file();

        for (name, value) in [
            ("create", "12.5"),
            ("list", "0"),
            ("weight.students", "7"),
            ("only", "students, *Descriptors"),
            ("except", "termDescriptors"),
        ] {
            set(&mut file, name, value).unwrap();
        }

        let numbers = (file.create, file.list, weight(&file, "students"));
        assert_eq!(format!("{numbers:?}"), "(12.5, 0.0, 7.0)");
        let selected = ["students", "sexDescriptors", "termDescriptors", "staffs"]
            .map(|name| selects(&file, name));
        assert_eq!(selected, [true, true, false, false]);
    }

    #[test]
    fn an_unknown_setting_or_invalid_share_is_refused() {
        let mut file = file();

        for (name, value) in
            [("creat", "1"), ("create", "-1"), ("create", "NaN"), ("weight.", "1"), ("list", "")]
        {
            assert!(set(&mut file, name, value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn a_full_name_takes_precedence_over_a_suffix_pattern() {
        let mut file = file();
        file.weights.clear();
        for (name, value) in [("*s", "2"), ("*Descriptors", "3"), ("termDescriptors", "4")] {
            set(&mut file, &format!("weight.{name}"), value).unwrap();
        }

        let found = ["staffs", "sexDescriptors", "termDescriptors", "staff"];

        let weights = found.map(|name| weight(&file, name).to_string());
        assert_eq!(weights, ["2", "3", "4", "1"]);
    }

    #[test]
    fn the_shipped_scenarios_cover_every_resource_except_one() {
        let shipped = SHIPPED.iter().filter(|shipped| shipped.name.starts_with("edfi-"));
        let files: Vec<EdfiFile> = shipped
            .map(|shipped| ScenarioFile::read(shipped.text).unwrap().edfi.unwrap())
            .collect();

        assert_eq!(files.len(), 4);
        for file in files {
            assert_eq!(file.except, ["studentGradebookEntries"]);
            assert!(file.only.is_empty() && file.weights.values().all(|weight| *weight > 0.0));
        }
    }
}
