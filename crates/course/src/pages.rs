//! The pages of the player, as the crate `homeroom-pages` has them.

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// The player itself, on the API's origin.
    Shell,
    /// What holds the run-time's API for content, on the content's origin.
    Bridge,
}

/// Returns the text of a page.
pub(crate) fn page(page: Page) -> &'static str {
    match page {
        Page::Shell => homeroom_pages::shell(),
        Page::Bridge => homeroom_pages::bridge(),
    }
}

/// Returns a built file, by its path below `/play/assets/`, and its media type.
pub(crate) fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    homeroom_pages::asset(path)
}
