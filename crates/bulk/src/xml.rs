//! Interchange XML: turns elements into JSON documents, as the model maps them.

mod bounds;
mod build;
mod elements;
mod file;
mod ids;
mod keys;
mod lookup;
mod references;
mod root;
mod scan;
mod shapes;
mod slice;
mod survey;
mod token;
mod value;
mod window;

pub(crate) use file::{ReadError, XmlFile};
pub(crate) use ids::Ids;
pub(crate) use lookup::{Lookups, Question};
pub(crate) use references::references;
pub(crate) use root::RootTag;
pub(crate) use shapes::Shapes;
pub(crate) use survey::survey;
pub(crate) use token::character;
pub(crate) use value::number;

#[cfg(test)]
mod tests;
