//! Why an engine cannot be created or run.

use std::io;

use super::target::TargetError;

/// Why an engine cannot be created or run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The target's address cannot be found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target's name is not valid in a certificate.
    #[error("the target's name is not valid in a certificate")]
    Name,
    /// The run needs more connections than the system allows this process.
    #[error(
        "{asked} connections exceed the {limit} open files that this process may have: raise the hard \
            limit (ulimit -n as root, LimitNOFILE= of a service, --ulimit nofile= of a container) or ask \
            for fewer"
    )]
    Files {
        /// The number of connections asked for.
        asked: u64,
        /// The limit on open files.
        limit: u64,
    },
    /// The system refused something.
    #[error("the system refused a resource that sending needs: {0}")]
    System(#[from] io::Error),
}
