//! The pages of the player.

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// The player itself, on the API's origin.
    Shell,
    /// What holds the run-time's API for content, on the content's origin.
    Bridge,
}

/// What is served while the pages are not built.
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
<title>The player is not built</title></head>\n<body>\n<h1>The player is not built</h1>\n\
<p>This Homeroom was built without its pages. Build them in <code>web/player</code> with \
<code>npm ci</code> and <code>npm run build</code>, then build Homeroom again.</p>\n</body>\n</html>\n";

/// Returns the text of a page.
pub(crate) fn page(page: Page) -> &'static str {
    match page {
        Page::Shell | Page::Bridge => NOT_BUILT,
    }
}

/// Returns a built file, by its path below `/play/assets/`, and its media type.
pub(crate) fn asset(_path: &str) -> Option<(&'static [u8], &'static str)> {
    None
}
