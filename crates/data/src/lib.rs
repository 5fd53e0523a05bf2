//! The Ed-Fi data API: every resource from the model.

pub mod metadata;
