//! The sites of the server: each has a listener of its own, and so an origin of its own to browsers.

/// A site. What is served on one has no part in the other: a script of a course cannot call the API with
/// what a browser keeps for the API's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The API, its management and their pages.
    Api,
    /// Content that others have written, such as courses.
    Content,
}

/// The sites on which a route is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// Only with the API.
    Api,
    /// Only with content.
    Content,
    /// With both, for what content has to call on its own origin.
    Both,
}

impl Served {
    /// Returns whether the route is served on a site.
    pub fn on(self, site: Site) -> bool {
        match self {
            Self::Api => site == Site::Api,
            Self::Content => site == Site::Content,
            Self::Both => true,
        }
    }
}
