//! Whose store a command means, and whether a server has it.

use std::path::{Path, PathBuf};

use homeroom_store::{FileId, StoreUrl, real_file};
use serde::{Deserialize, Serialize};

use super::Request;
use crate::config::Config;

/// The file that is a store unless another was named; its socket has the short name.
const USUAL_FILE: &str = "homeroom.db";
/// Longest name of a store's file that stands in the name of its socket as it is: a socket's path has
/// 107 bytes at most.
const NAME_BYTES_MAX: usize = 32;

/// A request as it goes over the socket: no request goes without its store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The store that is meant.
    pub store: Meant,
    /// What is to be done.
    pub request: Request,
}

/// A store's file as a command finds it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Meant {
    /// Its path without links.
    path: PathBuf,
    /// The device that it is on, and its number there; nothing where there is no file.
    file: Option<(u64, u64)>,
}

impl Meant {
    /// The store of a configuration.
    pub fn by(config: &Config) -> Self {
        let path = store_file(config).unwrap_or_default();
        let file = FileId::of(&path).map(|id| (id.device, id.inode));
        Self { path, file }
    }

    /// Whether it is this file, which a server has open.
    pub fn is(&self, file: Option<&(PathBuf, FileId)>) -> bool {
        file.is_some_and(|(_, id)| self.file == Some((id.device, id.inode)))
    }

    /// What a server says that has another file open, or none any more.
    pub fn refused_by(&self, file: Option<&(PathBuf, FileId)>) -> String {
        let meant = self.path.display();
        match file {
            None => format!("the server has closed its store already, {meant}; nothing was done"),
            Some((path, _)) if *path == self.path => format!(
                "{meant} is not the file any more that the server at the control socket has open: it \
                 was moved, replaced or deleted; nothing was done; put it back, or stop the server"
            ),
            Some((path, _)) => format!(
                "the server at the control socket has {} open, and {meant} is meant; nothing was \
                 done; stop that server, or name its store with --store or --data-dir",
                path.display()
            ),
        }
    }
}

/// The path without links of a configuration's store, if that is a file.
fn store_file(config: &Config) -> Option<PathBuf> {
    match config.store.place() {
        StoreUrl::Sqlite(file) => Some(real_file(&file).unwrap_or(file)),
        StoreUrl::Postgres(_) => None,
    }
}

/// The path of the socket of a store's file: in the folder where the file is, links followed, and of a
/// name that no other file's has there.
pub fn socket_name(file: &Path) -> PathBuf {
    let file = real_file(file).unwrap_or_else(|_| file.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = match &*name {
        USUAL_FILE => "control.sock".to_owned(),
        name if name.len() <= NAME_BYTES_MAX => format!("control-{name}.sock"),
        name => {
            // Two that hash alike are told apart by the file that is meant.
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

/// What a server says to a line that it cannot read.
pub fn not_understood(error: &serde_json::Error) -> String {
    format!(
        "the request is of another version of Homeroom, or none ({error}); nothing was done; use the \
         command of the server's version"
    )
}

/// What a server has said, for people: an older one does not know what it is asked.
pub fn plainly(message: String) -> String {
    if message.starts_with("the request is wrong: unknown variant `store`") {
        return "the server at the control socket is of another version of Homeroom; nothing was done; \
                restart it with this one, or use the command of its version"
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
