//! XML: any bytes are loaded or refused, with a reason and a place.

use std::path::PathBuf;
use std::sync::LazyLock;

use homeroom_bulk::fuzz::XmlReader;

use crate::world::World;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("homeroom-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder.join("file.xml")
});

static READER: LazyLock<XmlReader> =
    LazyLock::new(|| XmlReader::new(Box::leak(Box::new(World::get().data.documents()))));

/// The bytes are an interchange file.
///
/// # Panics
///
/// When more records are read than can be there, or as [`XmlReader::read`].
pub fn xml(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).expect("the file can be written");
    if let Ok(records) = READER.read(&FILE) {
        assert!(records <= bytes.len() as u64, "{records} records");
    }
}
