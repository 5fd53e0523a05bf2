//! Finds out which processes hold a lock, where the system reports it.
//!
//! A process that may read a file may lock it. If no holder of a lock may write the file, none of
//! them is a Homeroom that has the store open.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Returns whether the lock (`flock`) of a file is held, and only by processes of users who may not
/// write the file. Returns false in doubt.
///
/// Source: proc(5), `/proc/locks` and `/proc/[pid]/status`.
pub(super) fn are_strangers(file: &Metadata) -> bool {
    // Users other than the owner may write it, so every holder may be a Homeroom.
    if file.mode() & 0o022 != 0 {
        return false;
    }
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else { return false };
    let own = std::fs::metadata("/proc/self").map_or(0, |about| about.uid());
    let holders = holders(&locks, file.dev(), file.ino());
    let is_stranger = |uid: u32| uid != 0 && uid != own && uid != file.uid();
    !holders.is_empty()
        && holders.iter().all(|process| {
            let status =
                process.and_then(|id| std::fs::read_to_string(format!("/proc/{id}/status")).ok());
            let users = status.as_deref().map(users).unwrap_or_default();
            !users.is_empty() && users.into_iter().all(is_stranger)
        })
}

/// Returns the processes that have a file locked; [`None`] for one that is not known.
fn holders(locks: &str, device: u64, inode: u64) -> Vec<Option<u32>> {
    // The way Linux packs a device's numbers and prints them in this file.
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    let place = format!("{major:02x}:{minor:02x}:{inode}");
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The line of a waiting process has an arrow after its number.
        let is_it = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place.as_str());
        is_it.then(|| words[4].parse().ok())
    };
    locks.lines().filter_map(of_line).collect()
}

/// Returns the user ids that a process runs as: real, effective, saved, file system.
fn users(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_in_the_systems_list() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fe:00:66 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 8 fe:00:66 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 fe:00:66 0 EOF\n\
                     3: FLOCK  ADVISORY  READ -1 fe:00:67 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 10 fe:01:67 0 EOF\n";
        let device = 0xfe00;

        assert_eq!(holders(locks, device, 66), [Some(8)]);
        assert_eq!(holders(locks, device, 67), [None], "somebody whose number is not told");
        assert_eq!(holders(locks, device, 68), []);
        assert_eq!(holders(locks, device + 1, 67), [Some(10)]);
    }

    #[test]
    fn all_four_user_ids_of_a_process_are_read() {
        let status = "Name:\tflock\nUid:\t65534\t65534\t0\t65534\nGid:\t1\t1\t1\t1\n";

        assert_eq!(users(status), [65_534, 65_534, 0, 65_534]);
        assert!(users("").is_empty());
    }
}
