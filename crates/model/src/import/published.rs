//! The published artefacts after reading.

use std::collections::{HashMap, HashSet};

use super::names::camel;
use super::openapi::{Api, Endpoint, segments};
use super::sql::{Table, Tables};
use super::{Rules, xsd};

/// The artefacts after reading.
pub struct Published<'a> {
    pub project: &'a str,
    pub schema: &'a str,
    pub resources: Api,
    pub descriptors: Api,
    pub tables: Tables,
    pub schemas: xsd::Schemas,
    pub domains: HashMap<String, Vec<String>>,
    pub rules: &'a Rules,
}

impl Published<'_> {
    /// Returns every endpoint with the document that states it.
    pub fn endpoints(&self) -> impl Iterator<Item = (&Api, &Endpoint)> {
        self.resources
            .endpoints
            .iter()
            .map(|endpoint| (&self.resources, endpoint))
            .chain(self.descriptors.endpoints.iter().map(|e| (&self.descriptors, e)))
    }

    /// Finds the table of an endpoint: by the schema's name, or else by the endpoint's singular.
    pub fn table_of(&self, endpoint: &Endpoint) -> Option<&Table> {
        let singular = endpoint.name.strip_suffix('s').unwrap_or(&endpoint.name);
        self.tables.get(&segments(&endpoint.schema).concat()).or_else(|| self.tables.get(singular))
    }

    /// Returns the names of the tables that belong to an endpoint, in lower case.
    pub fn tables_of_endpoints(&self) -> HashSet<String> {
        self.endpoints()
            .filter_map(|(_, endpoint)| self.table_of(endpoint))
            .map(|table| table.name.to_ascii_lowercase())
            .collect()
    }

    /// Finds enumerations that have a table but are missing from the document; every server version
    /// provides them.
    pub fn enumerations_without_endpoint(&self, owned: &HashSet<String>) -> Vec<Endpoint> {
        let enumerations = self.schemas.simple.iter().filter(|(_, kind)| kind.is_enumeration());
        enumerations
            .filter_map(|(name, _)| self.tables.get(name))
            .filter(|table| !owned.contains(&table.name.to_ascii_lowercase()))
            .map(|table| Endpoint {
                name: format!("{}s", camel(&table.name)),
                schema: format!("edFi_{}", camel(&table.name)),
                updatable_key: false,
            })
            .collect()
    }

    /// Returns the school years of the enumeration, each by its second year.
    pub fn school_years(&self) -> Vec<u16> {
        let Some(found) = self.schemas.simple.get("SchoolYearType") else { return vec![] };
        found.values.iter().filter_map(|value| value.rsplit('-').next()?.parse().ok()).collect()
    }

    /// Returns the interchanges that may carry elements of a type.
    pub fn interchanges(&self, name: &str) -> Vec<String> {
        self.schemas
            .interchanges
            .iter()
            .filter(|(_, elements)| elements.iter().any(|element| element.kind == name))
            .map(|(interchange, _)| interchange.clone())
            .collect()
    }
}
