//! A view for reporting.

/// A view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// `edfi`. In an engine without schemas it is a prefix of the name, with `_`. In PostgreSQL, a
    /// store in another schema than `public` adds that as a prefix: `homeroom_edfi`.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The statement whose rows it shows.
    pub select: String,
}
