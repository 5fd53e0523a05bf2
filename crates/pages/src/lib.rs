//! The pages of the course player, as `web/` builds them.
//!
//! The files are part of the program if they were built before it (`npm ci && npm run build` in
//! `web/`). Cargo never calls npm: without them the program builds too, and the pages say what is
//! missing and how to build it.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What both pages are while the real ones are not built.
const NOT_BUILT: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<title>The course player is not built</title></head><body><main>\
<h1>The course player is not built</h1>\
<p>This program was built without its pages. With Node.js 20 or newer, run \
<code>npm ci &amp;&amp; npm run build</code> in the folder <code>web</code>, \
then build the program again.</p></main></body></html>\n";

/// Returns the page that a launch link opens: it holds the title, the table of contents and the
/// frame of the [`bridge`]. Whole HTML; everything about the launch comes from its boot document.
#[must_use]
pub fn shell() -> &'static str {
    page("shell.html")
}

/// Returns the page in the content's origin that holds the run-time API and the frame of the
/// content. Whole HTML.
#[must_use]
pub fn bridge() -> &'static str {
    page("bridge.html")
}

/// Tells whether the pages were built before the program.
#[must_use]
pub fn built() -> bool {
    file("shell.html").is_some()
}

/// Returns the bytes and the media type of a script or style that the pages refer to. `path` is
/// what follows `/play/assets/`; names carry a hash of their content, so that they never change.
#[must_use]
pub fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    let bytes = file(&format!("assets/{path}"))?;
    Some((bytes, media_type(path)))
}

fn page(name: &str) -> &'static str {
    file(name).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or(NOT_BUILT)
}

fn file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_html_whether_it_is_built_or_not() {
        for page in [shell(), bridge()] {
            assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
            assert!(page.contains("<title>"), "{page}");
        }
    }

    #[test]
    fn without_a_build_the_pages_say_how_to_build_them() {
        assert!(NOT_BUILT.contains("npm ci &amp;&amp; npm run build"));
        assert_eq!(shell() == NOT_BUILT, !built());
    }

    #[test]
    fn every_asset_that_a_page_refers_to_is_there() {
        for page in [shell(), bridge()] {
            for reference in page.split("/play/assets/").skip(1) {
                let path = reference.split('"').next().unwrap();
                assert!(asset(path).is_some(), "{path}");
            }
        }
    }

    #[test]
    fn an_asset_has_the_media_type_of_its_ending() {
        assert_eq!(media_type("bridge-ABC.js"), "text/javascript; charset=utf-8");
        assert_eq!(media_type("style-ABC.css"), "text/css; charset=utf-8");
        assert_eq!(media_type("LICENSE"), "text/plain; charset=utf-8");
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_no_asset() {
        for path in ["", "..", "../shell.html", "%2e%2e/shell.html", "none.js"] {
            assert_eq!(asset(path), None, "{path}");
        }
    }
}
