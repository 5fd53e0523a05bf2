//! Writes the documents that are kept, and their parts, from the model and the composites.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_http::openapi::{part as cut, tags_of};
use homeroom_model::Model;
use serde_json::Value;

use super::dependencies::{graph, order};
use super::openapi::{self, Section};
use super::shelf::{Document, OpenApi, Part};
use crate::composites::Composites;

/// What the documents are written from.
#[derive(Clone)]
pub struct Sources {
    /// The model.
    pub model: Arc<Model>,
    /// The composites.
    pub composites: Arc<Composites>,
}

impl Sources {
    /// Writes a document, with [`homeroom_http::BASE_URL`] as a placeholder.
    pub fn write(&self, document: Document) -> String {
        match document {
            Document::OpenApi(document) => self.openapi(document).to_string(),
            Document::Dependencies => order(&self.model).to_string(),
            Document::DependencyGraph => graph(&self.model),
        }
    }

    /// Writes a part of a document, with [`homeroom_http::BASE_URL`] as a placeholder.
    pub fn write_part(&self, part: &Part) -> String {
        if let OpenApi::Section(section) = part.document {
            return openapi::part(&self.model, section, &part.tags).to_string();
        }
        let whole = self.openapi(part.document);
        let all = tags_of(&whole);
        let tags: Vec<&str> = part.tags.iter().filter_map(|at| all.get(*at)).copied().collect();
        cut(&whole, &tags).to_string()
    }

    /// Returns the tags of every OpenAPI document, in its order.
    pub fn tags(&self) -> HashMap<OpenApi, Vec<String>> {
        let sections = [Section::Resources, Section::Descriptors, Section::All]
            .into_iter()
            .chain((0..self.model.projects.len()).map(Section::Project))
            .map(|section| (OpenApi::Section(section), openapi::tags(&self.model, section)));
        let composites = (0..self.composites.categories.len()).map(OpenApi::Composites);
        let small = [OpenApi::Batch, OpenApi::ChangeQueries, OpenApi::Discovery]
            .into_iter()
            .chain(composites);
        let small = small.map(|document| {
            let whole = self.openapi(document);
            (document, tags_of(&whole).into_iter().map(str::to_owned).collect())
        });
        sections.chain(small).collect()
    }

    fn openapi(&self, document: OpenApi) -> Value {
        match document {
            OpenApi::Section(section) => openapi::document(&self.model, section),
            OpenApi::Batch => openapi::batch(),
            OpenApi::ChangeQueries => openapi::change_queries(),
            OpenApi::Discovery => openapi::discovery(),
            OpenApi::Composites(at) => {
                openapi::composites(&self.model, &self.composites.categories[at])
            }
        }
    }
}
