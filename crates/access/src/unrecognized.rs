//! Why a caller is not recognized.

use homeroom_http::{Named, Problem};

/// Why a caller is not recognized.
#[derive(Debug)]
pub enum Unrecognized {
    /// Its key or secret is not in the registry, as this process has read it. They may have been
    /// made a moment ago by another.
    Unknown(Problem),
    /// Another reason.
    Other(Problem),
}

impl Unrecognized {
    /// Returns the same, which names a client to the log.
    pub(crate) fn naming(mut self, named: Option<Named>) -> Self {
        let (Self::Unknown(problem) | Self::Other(problem)) = &mut self;
        problem.named = named;
        self
    }
}

impl From<Problem> for Unrecognized {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl From<Unrecognized> for Problem {
    fn from(unrecognized: Unrecognized) -> Self {
        match unrecognized {
            Unrecognized::Unknown(problem) | Unrecognized::Other(problem) => problem,
        }
    }
}
