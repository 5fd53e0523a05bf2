//! The socket's file, which is private from the moment it exists and is removed only by the process
//! that made it.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// A bound control socket.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: UnixListener,
    pub(super) name: Name,
}

/// The path at which a socket is bound.
#[derive(Debug, Clone)]
pub(super) struct Name {
    path: PathBuf,
    /// The device and inode numbers of the socket's file.
    id: (u64, u64),
}

impl Socket {
    /// Refuses a path at which no socket can be.
    ///
    /// # Errors
    ///
    /// Says why, and what to do.
    pub fn expect_possible(path: &Path) -> Result<(), Failure> {
        let possible = SocketAddr::from_pathname(path);
        possible.map(drop).map_err(|error| {
            let mend = "choose a folder with a shorter path (--data-dir)";
            Failure::because(&format!("binding {}", path.display()), format!("{error}; {mend}"))
        })
    }

    /// Binds the socket and replaces one that a killed server left behind. The store's lock
    /// prevents two servers from using the same store, and so the same path.
    ///
    /// The socket gets its permissions inside a private folder, and only then its final name.
    ///
    /// # Errors
    ///
    /// Says why it cannot be bound.
    pub fn bind(path: &Path) -> Result<Self, Failure> {
        let doing = format!("binding {}", path.display());
        Self::expect_possible(path)?;
        if path.symlink_metadata().is_ok_and(|about| !about.file_type().is_socket()) {
            let mend = "it is not a socket; move it away";
            return Err(Failure::because(&doing, mend));
        }
        let (listener, id) = bind(path).map_err(|error| Failure::because(&doing, error))?;
        Ok(Self { listener, name: Name { path: path.to_owned(), id } })
    }
}

impl Name {
    /// Removes the socket, unless its path belongs to another one by now.
    pub(super) fn remove(&self) {
        if self.path.symlink_metadata().is_ok_and(|about| (about.dev(), about.ino()) == self.id) {
            _ = std::fs::remove_file(&self.path);
        }
    }
}

fn bind(path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
    // Not longer than the shortest final name, so a path that fits there also fits here.
    let folder = path.with_file_name(format!(".c{:x}", std::process::id()));
    let private = folder.join("s");
    let remove = || {
        _ = std::fs::remove_file(&private);
        _ = std::fs::remove_dir(&folder);
    };
    // Left behind by a killed server that had the same process id.
    remove();
    DirBuilder::new().mode(0o700).create(&folder)?;
    let bound = bind_private(&private, path);
    remove();
    bound
}

fn bind_private(private: &Path, path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
    let listener = UnixListener::bind(private)?;
    listener.set_nonblocking(true)?;
    std::fs::set_permissions(private, Permissions::from_mode(0o600))?;
    let about = std::fs::symlink_metadata(private)?;
    std::fs::rename(private, path)?;
    Ok((listener, (about.dev(), about.ino())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_socket_is_private_from_the_start_and_removed_only_by_its_creator() {
        let folder = std::env::temp_dir().join(format!("hr-socket-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("control.sock");
        let is_over = AtomicBool::new(false);

        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut seen = 0_u32;
                while !is_over.load(Ordering::Acquire) {
                    if let Ok(about) = path.symlink_metadata() {
                        assert_eq!(about.mode() & 0o777, 0o600);
                        seen += 1;
                    }
                }
                seen
            });
            let mut last: Option<Socket> = None;
            for _ in 0..300 {
                let socket = Socket::bind(&path).unwrap();
                if let Some(earlier) = last.replace(socket) {
                    earlier.name.remove();
                }
                assert!(UnixStream::connect(&path).is_ok(), "the later one's stays");
            }
            is_over.store(true, Ordering::Release);
            assert!(watch.join().unwrap() > 0);
            last.unwrap().name.remove();
        });

        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }
}
