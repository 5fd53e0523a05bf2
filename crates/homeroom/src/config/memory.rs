//! How much memory this machine has, and the sizes in the store that follow from it.

use std::fs;
use std::path::Path;

use homeroom_store::Options;

use super::sections::StoreConfig;

/// Where the kernel says what there is.
const MEMINFO: &str = "/proc/meminfo";
/// Where it says in which groups this process is.
const GROUPS: &str = "/proc/self/cgroup";
/// Where these groups are.
const GROUPS_AT: &str = "/sys/fs/cgroup";
/// The files of a group with limits in bytes, of the second version of groups and of the first.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "memory.limit_in_bytes"];

/// Memory for each document whose rows may wait in memory: these take a thirtieth to an eightieth of it.
const BYTES_OF_RECENT: u64 = 8 << 10;
/// The fewest such documents: the fewer there are, the fewer of the rows that move share a page.
const RECENT_MIN: u64 = 16_384;
/// The part of the memory that all page caches together may fill.
const CACHES_SHARE: u64 = 16;
/// Bounds of the page cache of a reading connection, in KiB.
const CACHE_KIB: (u64, u64) = (2_048, 32_768);
/// Reading connections of each core: of lists, of filters without an index, and of a thread that serves requests.
const READERS_OF_CORE: u64 = 3;
/// Page caches of that size that the writer has.
const WRITER_CACHES: u64 = 4;

/// What this process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    /// Its memory in bytes: the machine's or, where that is less, what its groups (a container's, a
    /// service's) allow; [`None`] where the system does not say.
    memory: Option<u64>,
    cores: u64,
}

impl Machine {
    /// Asks the system.
    pub(super) fn ask() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get() as u64);
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let groups = allowed(&text(GROUPS), Path::new(GROUPS_AT));
        Self { memory: installed(&text(MEMINFO)).into_iter().chain(groups).min(), cores }
    }

    /// Sets those sizes that are not set.
    pub(super) fn size(self, store: &mut StoreConfig) {
        store.cache_kib.get_or_insert(self.cache_kib());
        store.recent_documents.get_or_insert(self.recent_documents());
    }

    /// Returns the size of a reading connection's page cache. SQLite fills a cache only as it is used.
    fn cache_kib(self) -> u32 {
        let Some(memory) = self.memory else { return Options::CACHE_KIB };
        let caches = self.cores * READERS_OF_CORE + WRITER_CACHES;
        let kib = (memory / CACHES_SHARE / caches / 1_024).clamp(CACHE_KIB.0, CACHE_KIB.1);
        u32::try_from(kib).unwrap_or(Options::CACHE_KIB)
    }

    /// Returns for how many documents rows may wait in memory.
    fn recent_documents(self) -> u32 {
        let most = Options::RECENT_DOCUMENTS as u64;
        let documents = self.memory.map_or(most, |memory| memory / BYTES_OF_RECENT);
        u32::try_from(documents.clamp(RECENT_MIN, most)).unwrap_or(u32::MAX)
    }
}

/// Returns the machine's memory in bytes, from what the kernel says.
///
/// Source: `proc_meminfo(5)`, `MemTotal`.
fn installed(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024)
}

/// Returns the least limit of a process's groups and of all that they are in; a group that is not seen
/// in `at`, as in a container, has none there.
///
/// Source: `cgroups(7)`, `/proc/PID/cgroup`: `ID:CONTROLLERS:PATH`, without controllers in the second version.
fn allowed(groups: &str, at: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next().unwrap_or_default();
        let group = Path::new(fields.next().unwrap_or_default().trim_start_matches('/'));
        let is_first = controllers.split(',').any(|controller| controller == "memory");
        let root = if is_first { at.join("memory") } else { at.to_owned() };
        let is_asked = is_first || controllers.is_empty();
        let above = group.ancestors().take(if is_asked { usize::MAX } else { 0 });
        above.map(|group| limit(&root.join(group))).collect::<Vec<_>>()
    });
    limits.flatten().min()
}

/// Returns the least limit that a group has itself.
fn limit(group: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok();
    LIMITS.into_iter().filter_map(read).min()
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn sizes(memory: Option<u64>, cores: u64) -> (u32, u32) {
        let machine = Machine { memory, cores };
        (machine.recent_documents(), machine.cache_kib())
    }

    #[test]
    fn small_machines_get_less_and_large_ones_what_was_measured() {
        assert_eq!(sizes(Some(256 << 20), 1), (32_768, 2_340));
        assert_eq!(sizes(Some(GIB), 2), (131_072, 6_553));
        assert_eq!(sizes(Some(4 * GIB), 4), (262_144, 16_384));
        assert_eq!(sizes(Some(24 * GIB), 2), (262_144, 32_768));
        assert_eq!(sizes(Some(1_024 * GIB), 128), (262_144, 32_768));
        assert_eq!(sizes(None, 2), (262_144, 16_384), "a system that does not say");
        assert_eq!(sizes(Some(1), 4_096), (16_384, 2_048));
    }

    #[test]
    fn what_is_set_stays() {
        let mut store = StoreConfig { recent_documents: Some(5_000), ..StoreConfig::default() };

        Machine { memory: Some(GIB), cores: 2 }.size(&mut store);

        assert_eq!((store.recent_documents, store.cache_kib), (Some(5_000), Some(6_553)));
    }

    #[test]
    fn the_kernel_says_what_the_machine_has() {
        assert_eq!(installed("MemTotal:       24689320 kB\nMemFree: 1 kB\n"), Some(25_281_863_680));
        assert_eq!(installed("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let folder = Folder::new();
        let put = |file: &str, text: &str| _ = folder.write(file, text);
        put("system.slice/memory.max", "2147483648\n");
        put("system.slice/homeroom.service/memory.max", "max\n");
        put("system.slice/homeroom.service/memory.high", "3221225472\n");
        put("memory/docker/abc/memory.limit_in_bytes", "1073741824\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let allowed = |groups: &str| allowed(groups, folder.path());

        assert_eq!(allowed("0::/system.slice/homeroom.service\n"), Some(2 * GIB));
        assert_eq!(allowed("5:cpu:/a\n4:memory,x:/docker/abc\n"), Some(GIB));
        assert_eq!(allowed("4:memory:/not/seen/here\n"), Some(9_223_372_036_854_771_712));
        assert_eq!(allowed("0::/\n"), None);
        assert_eq!(allowed(""), None);
    }
}
