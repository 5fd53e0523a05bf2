//! How full something limited is, as metrics show it.

/// The figures of a queue, a pool or another limited amount that requests share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetFigures {
    /// Its name in metrics, refusals and documentation.
    pub name: &'static str,
    /// The most that it holds.
    pub size: u64,
    /// How much of that is taken.
    pub used: u64,
    /// How often something was refused since the start.
    pub refused: u64,
}
