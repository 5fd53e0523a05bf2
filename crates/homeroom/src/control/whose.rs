//! Identifies the store that a command means, and checks whether a server has it open.

use std::path::PathBuf;

use homeroom_store::{FileId, Store, StoreUrl, real_file};
use serde::{Deserialize, Serialize};

use super::request::Request;
use crate::config::Config;

/// A request as it is sent over the socket, always with the store that it is for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The store that it is for.
    pub store: Meant,
    /// The request itself.
    pub request: Request,
}

/// The file of a store, as a command finds it, or the database.
#[derive(Debug, Serialize, Deserialize)]
pub struct Meant {
    /// The path with links resolved.
    path: PathBuf,
    /// The device and inode numbers; `None` if there is no file.
    file: Option<(u64, u64)>,
    /// What distinguishes the database from others; `None` for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    database: Option<String>,
}

impl Meant {
    /// Returns the store that a configuration names.
    pub fn by(config: &Config) -> Self {
        let path = store_file(config).unwrap_or_default();
        let file = FileId::of(&path).map(|id| (id.device, id.inode));
        Self { path, file, database: database(&config.store.place()) }
    }

    /// Returns whether this is the store that a server has open.
    pub fn is(&self, store: &Store) -> bool {
        let is_database = self.database.is_some() && self.database == database(store.url());
        is_database || store.file().is_some_and(|(_, id)| self.file == Some((id.device, id.inode)))
    }

    /// Returns the refusal of a server that has another store open, or none any more.
    pub fn refused_by(&self, store: &Store) -> String {
        if self.database.is_some() || matches!(store.url(), StoreUrl::Postgres(_)) {
            return "the server at the control socket has another store open; nothing was done; \
                    start the servers of the stores with data directories of their own"
                .into();
        }
        let meant = self.path.display();
        match store.file() {
            None => format!("the server has already closed its store, {meant}; nothing was done"),
            Some((path, _)) if path == self.path => format!(
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

/// Returns what distinguishes a database from others; `None` for a file.
fn database(url: &StoreUrl) -> Option<String> {
    match url {
        StoreUrl::Sqlite(_) => None,
        StoreUrl::Postgres(url) => url.place(),
    }
}

/// Returns the path of a configured store with links resolved, if it is a file.
fn store_file(config: &Config) -> Option<PathBuf> {
    match config.store.place() {
        StoreUrl::Sqlite(file) => Some(real_file(&file).unwrap_or(file)),
        StoreUrl::Postgres(_) => None,
    }
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
