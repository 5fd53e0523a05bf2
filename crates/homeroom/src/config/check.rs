//! Checks values that fit their type but make no sense.

use std::ops::RangeInclusive;
use std::time::Duration;

use homeroom_blobs::BucketSettings;
use homeroom_http::Cors;

use super::bucket::{ENDPOINT, is_endpoint};
use super::budgets::zero_budget;
use super::sections::{BlobsConfig, Config, JobsConfig};

/// The greatest length of the write queue.
const QUEUE_MAX: u32 = 1 << 20;
/// The smallest number of reads that the database has not answered: one for each connection that they share.
const PROBES_MIN: u32 = 2;
/// The fewest and the most documents whose rows may wait in memory: the latter's take up to 5 GiB.
const RECENT: RangeInclusive<u32> = 1_000..=(1 << 24);
/// The smallest and the largest write-ahead log, in MiB.
const LOG_MIB: RangeInclusive<u32> = 4..=65_536;
/// The names of log levels, from nothing to everything.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Returns the name of the first setting that makes no sense, and what would be right.
pub(super) fn flaw(config: &Config) -> Option<(&'static str, String)> {
    let (server, store) = (&config.server, &config.store);
    if store.data_dir.to_string_lossy().contains("://") {
        return Some((
            "store.data_dir",
            "is a folder; a URL belongs in store.url (--store)".into(),
        ));
    }
    if server.in_flight_max == 0 {
        return Some(("server.in_flight_max", "must be at least 1".into()));
    }
    if server.connections_max == 0 {
        return Some(("server.connections_max", "must be at least 1".into()));
    }
    if server.client_authorities.is_some() && server.tls.is_empty() {
        let right = "needs server.tls: clients show certificates within TLS only";
        return Some(("server.client_authorities", right.into()));
    }
    for (name, url) in
        [("server.public_url", &server.public_url), ("server.content_url", &server.content_url)]
    {
        if url.as_ref().is_some_and(|url| url == "*" || !Cors::is_origin(url)) {
            return Some((name, "is an origin, such as https://learn.example.org".into()));
        }
    }
    if server.content_url.is_some() && server.public_url.is_none() {
        let right = "needs server.public_url: pages of the content are framed by that origin only";
        return Some(("server.content_url", right.into()));
    }
    // The value is not shown, since it may be a URL with a password.
    if let Some(at) = server.cors_origins.iter().position(|origin| !Cors::is_origin(origin)) {
        let right = format!("item {} is not an origin, such as https://app.example.org", at + 1);
        return Some(("server.cors_origins", right));
    }
    if server.client_rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
        return Some(("server.client_rate", "must be greater than 0, such as 50".into()));
    }
    if server.client_burst == 0 {
        return Some(("server.client_burst", "must be at least 1".into()));
    }
    if server.client_tokens_max == Some(0) {
        return Some(("server.client_tokens_max", "must be at least 1".into()));
    }
    if store.queue == 0 || store.queue > QUEUE_MAX {
        return Some(("store.queue", format!("must be 1 to {QUEUE_MAX}")));
    }
    if store.queue_time.0.is_zero() {
        return Some(("store.queue_time", "must be longer than zero".into()));
    }
    if let Some(name) = zero_budget(&config.budgets) {
        return Some((name, "must be at least 1".into()));
    }
    if config.budgets.transform_bytes_mib <= TRANSFORM_MIB_ALONE {
        let right =
            format!("must be more than {TRANSFORM_MIB_ALONE}, which are for one body alone");
        return Some(("budgets.transform_bytes_mib", right));
    }
    if config.budgets.store_probes < PROBES_MIN {
        return Some(("budgets.store_probes", format!("must be at least {PROBES_MIN}")));
    }
    if config.budgets.upstream_wait.0.is_zero() {
        return Some(("budgets.upstream_wait", "must be longer than zero".into()));
    }
    // Source: SQLite, PRAGMA page_size.
    if !store.page_bytes.is_power_of_two() || !(512..=65_536).contains(&store.page_bytes) {
        let right = "must be a power of two from 512 to 65536, such as 4096";
        return Some(("store.page_bytes", right.into()));
    }
    if store.recent_documents.is_some_and(|documents| !RECENT.contains(&documents)) {
        let right = format!("must be {} to {}", RECENT.start(), RECENT.end());
        return Some(("store.recent_documents", right));
    }
    if !LOG_MIB.contains(&store.log_mib) {
        return Some((
            "store.log_mib",
            format!("must be {} to {}", LOG_MIB.start(), LOG_MIB.end()),
        ));
    }
    if store.list_deadline.0.is_zero() {
        return Some(("store.list_deadline", "must be longer than zero".into()));
    }
    if config.blobs.grace.0.is_zero() {
        return Some(("blobs.grace", "must be longer than zero".into()));
    }
    let dir = config.blobs.dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    if dir.is_some_and(|dir| dir.contains("://")) {
        return Some(("blobs.dir", "is a folder, not a URL".into()));
    }
    if let Some(flaw) = flaw_of_bucket(&config.blobs) {
        return Some(flaw);
    }
    if config.courses.session_silence.0.is_zero() {
        return Some(("courses.session_silence", "must be longer than zero".into()));
    }
    if let Some(flaw) = flaw_of_jobs(&config.jobs) {
        return Some(flaw);
    }
    if config.log.level.contains("://") {
        return Some(("log.level", "a URL is not a log level".into()));
    }
    wrong_level(&config.log.level).map(|word| {
        ("log.level", format!("`{word}` is not a log level; choose from {}", LEVELS.join(", ")))
    })
}

/// Returns what is wrong with a bucket. No value is shown, since it may be a URL with a password.
fn flaw_of_bucket(blobs: &BlobsConfig) -> Option<(&'static str, String)> {
    let is_set = [
        ("blobs.endpoint", blobs.endpoint.is_some()),
        ("blobs.region", blobs.region.is_some()),
        ("blobs.bucket_in_host", blobs.bucket_in_host),
        ("blobs.access_key_id", blobs.access_key_id.is_some()),
        ("blobs.secret_access_key", blobs.secret_access_key.is_some()),
    ];
    let Some(url) = &blobs.url else {
        let (name, _) = is_set.into_iter().find(|(_, is_set)| *is_set)?;
        return Some((name, "needs blobs.url: it is about a bucket".into()));
    };
    if let Err(why) = BucketSettings::read(url) {
        return Some(("blobs.url", why));
    }
    if blobs.dir.is_some() {
        return Some(("blobs.url", "cannot be set with blobs.dir: blobs are in one place".into()));
    }
    let endpoint = blobs.endpoint.as_ref().filter(|endpoint| !is_endpoint(endpoint));
    endpoint.map(|_| ("blobs.endpoint", ENDPOINT.to_owned()))
}

/// What the longest answer needs that is changed, with what it is changed to.
const TRANSFORM_MIB_ALONE: u32 = 64;

/// The shortest lease: it is renewed at a third of it, by a transaction.
const LEASE_MIN: Duration = Duration::from_secs(3);

fn flaw_of_jobs(jobs: &JobsConfig) -> Option<(&'static str, String)> {
    if jobs.lease.0 < LEASE_MIN {
        return Some(("jobs.lease", format!("must be at least {}s", LEASE_MIN.as_secs())));
    }
    let counts = [
        ("jobs.attempts_max", jobs.attempts_max.unwrap_or(1)),
        ("jobs.queued_max", jobs.queued_max),
        ("jobs.queued_of_owner_max", jobs.queued_of_owner_max),
    ];
    if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
        return Some((name, "must be at least 1".into()));
    }
    let times = [
        ("jobs.poll", jobs.poll),
        ("jobs.pause", jobs.pause),
        ("jobs.ended_kept", jobs.ended_kept),
        ("jobs.dead_kept", jobs.dead_kept),
    ];
    if let Some((name, _)) = times.into_iter().find(|(_, time)| time.0.is_zero()) {
        return Some((name, "must be longer than zero".into()));
    }
    (jobs.pause_max.0 < jobs.pause.0)
        .then(|| ("jobs.pause_max", "must not be shorter than jobs.pause".into()))
}

/// Returns the first word in place of a level that is not one, or a directive that names spans,
/// which the filter of log lines does not know.
fn wrong_level(directives: &str) -> Option<&str> {
    if let Some(spans) = directives.split(',').find(|directive| directive.contains('[')) {
        return Some(spans);
    }
    directives
        .split(',')
        .map(|directive| directive.rsplit_once('=').map_or(directive, |(_, level)| level).trim())
        .find(|word| !LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HumanDuration;
    use crate::config::sections::StoreConfig;

    #[test]
    fn log_levels_apply_globally_or_to_a_module() {
        for right in ["info", "WARN", "info,homeroom_gateway=debug", "off, h2=trace"] {
            assert_eq!(wrong_level(right), None, "{right}");
        }
        for (directives, wrong) in [
            ("", ""),
            ("loud", "loud"),
            ("info,a=b", "b"),
            ("a=,info", ""),
            ("info,[a{b}]=info", "[a{b}]=info"),
        ] {
            assert_eq!(wrong_level(directives), Some(wrong), "{directives}");
        }
    }

    #[test]
    fn authorities_of_clients_need_tls() {
        let mut config = Config::default();
        config.server.client_authorities = Some("clients.pem".into());

        assert_eq!(flaw(&config).map(|(name, _)| name), Some("server.client_authorities"));
    }

    #[test]
    fn settings_of_jobs_that_make_no_sense_are_named() {
        let second = HumanDuration::from_secs(1);
        let wrong = [
            ("jobs.lease", JobsConfig { lease: second, ..JobsConfig::default() }),
            ("jobs.attempts_max", JobsConfig { attempts_max: Some(0), ..JobsConfig::default() }),
            (
                "jobs.poll",
                JobsConfig { poll: HumanDuration::from_secs(0), ..JobsConfig::default() },
            ),
            ("jobs.pause_max", JobsConfig { pause_max: second, ..JobsConfig::default() }),
        ];
        for (name, jobs) in wrong {
            let config = Config { jobs, ..Config::default() };

            assert_eq!(flaw(&config).map(|(name, _)| name), Some(name));
        }
    }

    #[test]
    fn sizes_of_the_store_have_bounds() {
        for (name, store) in [
            (
                "store.recent_documents",
                StoreConfig { recent_documents: Some(0), ..StoreConfig::default() },
            ),
            ("store.log_mib", StoreConfig { log_mib: 0, ..StoreConfig::default() }),
        ] {
            let config = Config { store, ..Config::default() };

            assert_eq!(flaw(&config).map(|(name, _)| name), Some(name));
        }
    }

    #[test]
    fn settings_of_a_bucket_go_together() {
        let url = Some("s3://blobs".to_owned());
        let blobs = |blobs: BlobsConfig| flaw(&Config { blobs, ..Config::default() });
        let named = |given| blobs(given).map(|(name, _)| name);
        let right = || BlobsConfig { url: url.clone(), ..BlobsConfig::default() };

        assert_eq!(named(right()), None);
        assert_eq!(named(BlobsConfig { dir: Some("blobs".into()), ..right() }), Some("blobs.url"));
        let alone = BlobsConfig { region: Some("r".into()), ..BlobsConfig::default() };
        assert_eq!(named(alone), Some("blobs.region"));
        let wrong = BlobsConfig { url: Some("file:///a".into()), ..BlobsConfig::default() };
        assert_eq!(named(wrong), Some("blobs.url"));
    }

    #[test]
    fn the_default_configuration_is_valid() {
        assert_eq!(flaw(&Config::default()), None);
    }
}
