//! Identifies the store that a command means, and checks whether a server has it open.

use std::path::{Path, PathBuf};

use homeroom_store::{FileId, StoreUrl, real_file};
use serde::{Deserialize, Serialize};

use super::Request;
use crate::config::Config;

/// The default name of the store's file; its socket has the short name.
const USUAL_FILE: &str = "homeroom.db";
/// The longest name of a store's file that is used unchanged in its socket's name: a socket's path
/// may have at most 107 bytes.
const NAME_BYTES_MAX: usize = 32;

/// A request as it is sent over the socket, always with the store that it is for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The store that it is for.
    pub store: Meant,
    /// The request itself.
    pub request: Request,
}

/// The file of a store, as a command finds it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Meant {
    /// The path with links resolved.
    path: PathBuf,
    /// The device and inode numbers; `None` if there is no file.
    file: Option<(u64, u64)>,
}

impl Meant {
    /// Returns the store that a configuration names.
    pub fn by(config: &Config) -> Self {
        let path = store_file(config).unwrap_or_default();
        let file = FileId::of(&path).map(|id| (id.device, id.inode));
        Self { path, file }
    }

    /// Returns whether this is the file that a server has open.
    pub fn is(&self, file: Option<&(PathBuf, FileId)>) -> bool {
        file.is_some_and(|(_, id)| self.file == Some((id.device, id.inode)))
    }

    /// Returns the refusal of a server that has another file open, or none any more.
    pub fn refused_by(&self, file: Option<&(PathBuf, FileId)>) -> String {
        let meant = self.path.display();
        match file {
            None => format!("the server has already closed its store, {meant}; nothing was done"),
            Some((path, _)) if *path == self.path => format!(
                "{meant} is no longer the file that the server at the control socket has open: it \
                 was moved, replaced or deleted; nothing was done; put it back, or stop the server"
            ),
            Some((path, _)) => format!(
                "the server at the control socket has {} open, but this command is for {meant}; \
                 nothing was done; stop that server, or name its store with --store or --data-dir",
                path.display()
            ),
        }
    }
}

/// Returns the path of a configured store with links resolved, if it is a file.
fn store_file(config: &Config) -> Option<PathBuf> {
    match config.store.place() {
        StoreUrl::Sqlite(file) => Some(real_file(&file).unwrap_or(file)),
        StoreUrl::Postgres(_) => None,
    }
}

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

/// Source: Fowler, Noll, Vo: FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Returns a server's answer to a line that it cannot parse.
pub fn not_understood(error: &serde_json::Error) -> String {
    format!(
        "the request is malformed or comes from another version of Homeroom ({error}); nothing \
         was done; use the \
         command of the server's version"
    )
}

/// Rewrites a server's message for people: an older server does not know the request.
pub fn plainly(message: String) -> String {
    if message.starts_with("the request is wrong: unknown variant `store`") {
        return "the server at the control socket runs another version of Homeroom; nothing was \
                done; restart it with this version, or use the command of its version"
            .into();
    }
    message
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
