//! Folders that another machine serves, on which no store may stand.

use std::path::Path;

use crate::error::StoreError;

/// File systems on which SQLite's locks or its shared memory are unreliable.
const NETWORK: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "glusterfs"];

/// Refuses a folder that another machine serves: a store there would be damaged sooner or later.
pub(crate) fn refuse_network_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(folder) = std::fs::canonicalize(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mounts") else { return Ok(()) };
    match network_mount(&mounts, &folder) {
        None => Ok(()),
        Some(kind) => Err(StoreError::Unusable(format!(
            "{} is on a network file system ({kind}), where a store cannot be kept safe; \
             use a local disk",
            folder.display()
        ))),
    }
}

/// Returns the kind of the network file system that holds `folder`, from a list of mounts.
fn network_mount<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mut deepest: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(place), Some(kind)) = (words.next(), words.next()) else { continue };
        // Spaces in a mount's path are written in octal.
        let place = place.replace("\\040", " ");
        let is_deeper = deepest.is_none_or(|(depth, _)| place.len() >= depth);
        if folder.starts_with(&place) && is_deeper {
            deepest = Some((place.len(), kind));
        }
    }
    deepest.map(|(_, kind)| kind).filter(|kind| NETWORK.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_decides_whether_a_folder_is_remote() {
        let mounts = "/dev/vda / ext4 rw 0 0\nhost:/x /mnt/my\\040share nfs4 rw 0 0\n\
                      /dev/vdb /mnt/my\\040share/local xfs rw 0 0\n";
        for (folder, kind) in [
            ("/var/lib/homeroom", None),
            ("/mnt/my share/data", Some("nfs4")),
            ("/mnt/my share/local/data", None),
            ("/mnt/my sharer", None),
        ] {
            assert_eq!(network_mount(mounts, Path::new(folder)), kind, "{folder}");
        }
    }
}
