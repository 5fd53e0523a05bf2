//! The Ed-Fi data API: every resource from the model.
