//! The order in which resources are loaded, and the selection of resources.

use std::collections::HashSet;

use homeroom_model::{Model, Operations, ResourceId, dependency_order};

use crate::error::LoadError;

/// The level of every resource; higher levels are loaded later. Resources whose documents the store
/// itself provides have level 0.
#[derive(Debug)]
pub(crate) struct Levels {
    levels: Vec<u16>,
    selected: Option<HashSet<ResourceId>>,
}

impl Levels {
    /// Works out the levels of a model; `select` names the resources to load, and an empty list
    /// selects all.
    ///
    /// # Errors
    ///
    /// [`LoadError::UnknownResource`].
    pub(crate) fn of_model(model: &Model, select: &[String]) -> Result<Self, LoadError> {
        let mut levels = vec![0; model.resources.len()];
        for place in dependency_order(model) {
            // A trusted loader creates persons before the associations that give clients access.
            if place.operations != Operations::Update {
                levels[usize::from(place.resource.0)] = place.order;
            }
        }
        let mut selected = HashSet::new();
        for name in select {
            let found = resource_named(model, name)
                .ok_or_else(|| LoadError::UnknownResource(name.clone()))?;
            selected.insert(found);
        }
        Ok(Self { levels, selected: (!select.is_empty()).then_some(selected) })
    }

    /// Returns a resource's level.
    pub(crate) fn of(&self, resource: ResourceId) -> u16 {
        self.levels[usize::from(resource.0)]
    }

    /// Whether a resource is to be loaded.
    pub(crate) fn is_selected(&self, resource: ResourceId) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected.contains(&resource))
    }
}

/// Finds a resource by `students`, `Student` or `ed-fi/students`, regardless of case.
pub(crate) fn resource_named(model: &Model, name: &str) -> Option<ResourceId> {
    model.named(name).map(|resource| resource.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_come_after_the_resources_that_they_refer_to() {
        let model = crate::tests::model();
        let levels = Levels::of_model(&model, &[]).unwrap();
        let level = |name: &str| levels.of(resource_named(&model, name).unwrap());

        assert_eq!(level("schoolYearTypes"), 0);
        assert!(level("termDescriptors") < level("schools"));
        assert!(level("schools") < level("students") || level("students") < level("sections"));
        assert!(level("students") < level("studentSchoolAssociations"));
        assert!(level("sections") < level("studentSectionAssociations"));
    }

    #[test]
    fn a_resource_is_found_by_each_of_its_names() {
        let model = crate::tests::model();
        let student = resource_named(&model, "students");

        for name in ["Student", "STUDENTS", "ed-fi/students", "/Ed-Fi/Student"] {
            assert_eq!(resource_named(&model, name), student, "{name}");
        }
        assert_eq!(resource_named(&model, "pupils"), None);
        let unknown = Levels::of_model(&model, &["pupils".into()]).unwrap_err();
        assert!(unknown.to_string().contains("pupils"));
    }
}
