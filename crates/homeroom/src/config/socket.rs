//! The name of the control socket for a store.

use std::path::{Path, PathBuf};

use homeroom_store::{PostgresUrl, real_file};

/// The default name of the store's file; its socket has the short name.
const USUAL_FILE: &str = "homeroom.db";

/// The longest name of a store's file that is used unchanged in its socket's name: a socket's path
/// may have at most 107 bytes.
const NAME_BYTES_MAX: usize = 32;

/// Returns the path of the socket for a store's file: in the folder of the file, with links
/// resolved, under a name that belongs to that file.
pub fn socket_name(file: &Path) -> PathBuf {
    let file = real_file(file).unwrap_or_else(|_| file.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = match &*name {
        USUAL_FILE => "control.sock".to_owned(),
        name if name.len() <= NAME_BYTES_MAX => format!("control-{name}.sock"),
        name => {
            // If two names have the same hash, the request still names the right file.
            format!("control-{:016x}.sock", fnv1a(name.as_bytes()))
        }
    };
    file.with_file_name(name)
}

/// Returns the path of the socket for a database: in the data directory, under a name that belongs to
/// that database; [`None`] for an address that names none.
pub fn socket_name_of_database(folder: &Path, url: &PostgresUrl) -> Option<PathBuf> {
    let place = url.place()?;
    Some(folder.join(format!("control-{:016x}.sock", fnv1a(place.as_bytes()))))
}

/// Source: Fowler, Noll, Vo: FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_the_short_name_or_one_of_its_stores_own() {
        let long = "a-name-of-a-store-that-goes-on-and-on.db";
        let names = [USUAL_FILE, "other.db", long, "Other.db"]
            .map(|name| socket_name(&Path::new("/nowhere").join(name)));

        assert_eq!(names[0], Path::new("/nowhere/control.sock"));
        assert_eq!(names[1], Path::new("/nowhere/control-other.db.sock"));
        assert!(names[2].as_os_str().len() < 50, "{names:?}");
        assert_ne!(names[1], names[3]);
    }
}
