//! The statuses of operations and their files.

/// The status of an operation, or of one of its files.
///
/// Source: Ed-Fi Bulk Load Services v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing has been uploaded yet.
    Initialized,
    /// A part has been uploaded.
    Incomplete,
    /// The upload is complete.
    Ready,
    /// It is being loaded.
    Started,
    /// It is loaded, without an exception.
    Completed,
    /// It has ended with exceptions.
    Error,
    /// Its upload was not completed in time.
    Expired,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Initialized,
        Self::Incomplete,
        Self::Ready,
        Self::Started,
        Self::Completed,
        Self::Error,
        Self::Expired,
    ];

    /// Returns its name on the wire and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialized => "Initialized",
            Self::Incomplete => "Incomplete",
            Self::Ready => "Ready",
            Self::Started => "Started",
            Self::Completed => "Completed",
            Self::Error => "Error",
            Self::Expired => "Expired",
        }
    }

    /// Returns the status of a name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns whether chunks can still be uploaded.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Initialized | Self::Incomplete)
    }

    /// Returns whether it waits for its job, or the job is at it.
    pub fn is_with_job(self) -> bool {
        matches!(self, Self::Ready | Self::Started)
    }
}
