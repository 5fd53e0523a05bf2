//! Any query string yields a list or a refusal.

use homeroom_http::Query;
use http::{Method, Uri};

use crate::choice::choice;
use crate::world::World;

/// Two bytes choose a resource, the rest is the query string of a list.
///
/// # Panics
///
/// When the answer is neither 200 nor 400, or a page's cursor is not taken back.
pub fn query(bytes: &[u8]) {
    let world = World::get();
    let Some((at, text)) = choice(bytes, world.model().resources.len()) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(query) = Query::read(text) {
        for (name, _) in query.iter() {
            assert!(query.get(name).is_some(), "a parameter that is there is found: {name:?}");
        }
    }
    let path = world.model().resources[at].path();
    let Ok(uri) = format!("/data/v3{path}?{text}").parse::<Uri>() else { return };
    let (status, body) = world.send(Method::GET, uri, "");
    assert!(matches!(status.as_u16(), 200 | 400), "{status}: {}", String::from_utf8_lossy(&body));
}
