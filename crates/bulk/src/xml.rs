//! Interchange XML: turns elements into JSON documents, as the model maps them.

mod build;
mod file;
mod ids;
mod keys;
mod lookup;
mod references;
mod root;
mod scan;
mod shapes;
mod survey;
mod value;

pub(crate) use file::{ReadError, XmlFile};
pub(crate) use ids::Ids;
pub(crate) use lookup::Lookups;
pub(crate) use references::references;
pub(crate) use root::RootTag;
pub(crate) use shapes::Shapes;
pub(crate) use survey::survey;

#[cfg(test)]
mod tests;
