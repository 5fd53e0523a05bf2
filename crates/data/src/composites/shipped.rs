//! The shipped definitions, and those of files beside them.

use homeroom_model::Model;

use super::compile;
use super::error::CompositeError;
use super::served::{Category, Composites};

/// The shipped definitions, with the file names that error messages use.
const SHIPPED: &[(&str, &str)] =
    &[("the shipped enrollment.xml", include_str!("../../../../models/composites/enrollment.xml"))];

impl Composites {
    /// Compiles the shipped definitions and `files`, named texts of definitions. A category of the
    /// same organization and name as a shipped one takes its place.
    ///
    /// # Errors
    ///
    /// Names the file and the line of the first part that does not fit.
    pub fn compile(model: &Model, files: &[(String, String)]) -> Result<Self, CompositeError> {
        let mut categories: Vec<Category> = vec![];
        for (file, text) in files {
            for (line, category) in compile::file(model, file, text, false)? {
                let there = categories.iter().find(|there| there.is_at(&category));
                if there.is_some() {
                    return Err(CompositeError {
                        file: file.clone(),
                        line,
                        what: format!(
                            "Category: {}/{} is defined twice; give one of them another name",
                            category.organization, category.name
                        ),
                    });
                }
                categories.push(category);
            }
        }
        for (file, text) in SHIPPED {
            for (_, category) in compile::file(model, file, text, true)? {
                if !categories.iter().any(|own| own.is_at(&category)) {
                    categories.push(category);
                }
            }
        }
        categories.sort_by(|a, b| (&a.organization, &a.name).cmp(&(&b.organization, &b.name)));
        Ok(Self { categories })
    }
}
