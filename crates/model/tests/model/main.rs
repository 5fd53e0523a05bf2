//! Tests of shipped, broken and published models.

mod broken_extensions;
mod reference;
mod shipped;
mod xml;
