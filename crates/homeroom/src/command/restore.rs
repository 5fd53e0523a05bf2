//! `homeroom restore`.
#![expect(clippy::disallowed_methods, reason = "a restored store goes on above the present moment")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use homeroom_access::{Revival, revive};
use homeroom_blobs::{BlobPlace, Copied, HandOver};
use homeroom_document::Catalog;
use homeroom_http::Timestamp;
use homeroom_store::{
    Restored, Restoring, Snapshot, SnapshotOptions, Sql, Store, StoreError, StoreUrl,
};
use serde_json::{Value, json};

use crate::command::terminal::{ProgressLine, grouped};
use crate::config::Config;
use crate::config::{ConfigArgs, HumanDuration};
use crate::exit::{Exit, Failure};
use crate::health::{self, Looked};
use crate::standard::Standard;

/// The longest time for fetching the blobs of the replaced store from a bucket.
const KEEPING_MAX: Duration = Duration::from_hours(24);

/// Replaces the store with a backup. No server may have the store open; an old store in a file is kept
/// beside it. A database must be empty or unused.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_help = "Examples:
  homeroom restore /backups/homeroom-2026-11-21.db --yes
  homeroom restore /backups/ods.db --yes --store postgres://homeroom@db.example.org/new_ods
  homeroom restore --already-copied --yes

A backup of a file or of a database is restored into either.
Its blobs are read from BACKUP.blobs, and those of the old store are kept beside it, too; of a
bucket, those that the restored store does not name.
The restored store continues at change versions, ETags and ids above all that the previous store may
have issued. Keys that were revoked, removed or suspended since the backup stay so if the
previous store can be read. Clients that read changes by version must load everything again.")]
pub struct RestoreArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The backup
    #[arg(required_unless_present = "already_copied")]
    from: Option<PathBuf>,
    /// Confirms that the store is to be replaced, or that it was replaced
    #[arg(long)]
    yes: bool,
    /// Reports that the store was put back to an earlier state by other means (a file copied over
    /// it, rows of a dump, a disk snapshot): it continues above all versions and ids that may have
    /// been issued
    #[arg(long, conflicts_with_all = ["from", "keys_as_in_backup", "without_blobs", "take_blobs"])]
    already_copied: bool,
    /// Restores keys and secrets as the backup has them: those revoked since become valid again
    #[arg(long)]
    keys_as_in_backup: bool,
    /// Restores the store even if the backup lacks bytes of its blobs; `homeroom doctor` then lists
    /// what is missing
    #[arg(long)]
    without_blobs: bool,
    /// Takes the folder (blobs.dir) or bucket (blobs.url) of the blobs from another store, which is
    /// no more
    #[arg(long)]
    take_blobs: bool,
    /// Longest time to check the backup for damage
    #[arg(long, value_name = "TIME", default_value = "1h")]
    time_max: HumanDuration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: RestoreArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    if !args.yes {
        return Err(Failure::Usage("restore replaces the store; confirm with --yes".into()));
    }
    let report = match &args.from {
        Some(from) => replace(&config, from.clone(), &args)?,
        None => raise(&config)?,
    };
    if args.json {
        super::print_json(&report.json());
    } else {
        crate::exit::print(&report.text());
    }
    Ok(Exit::Done)
}

/// The report of a restore.
struct Report {
    url: StoreUrl,
    from: Option<PathBuf>,
    restored: Restored,
    revival: Revival,
    /// The number of documents written since the backup, and of deletions; `None` unless the
    /// replaced store can be read and is a later state of the backed-up one.
    lost: Option<(u64, u64)>,
    /// Why the replaced store cannot be compared.
    unread: Option<String>,
    as_in_backup: bool,
    looked: Looked,
    copied: Copied,
}

fn replace(config: &Config, from: PathBuf, args: &RestoreArgs) -> Result<Report, Failure> {
    let standard = Standard::read(&config.standard)?;
    let url = config.store.place();
    let mut restoring = Comparing {
        standard: &standard,
        time_max: args.time_max.0,
        as_in_backup: args.keys_as_in_backup,
        looked: Looked::default(),
        revival: Revival::default(),
        lost: None,
        unread: None,
        from: (!args.without_blobs).then(|| BlobPlace::beside(&from)),
        place: config.blob_place(),
        // The folder beside a file is that file's, whatever its mark.
        is_free: args.take_blobs
            || config.blobs.dir.is_none()
                && config.blobs.bucket.is_none()
                && matches!(url, StoreUrl::Sqlite(_)),
        handing: None,
        copied: Copied::default(),
        line: ProgressLine::new(),
    };
    let restored = Store::restore_with(&from, &url, &mut restoring);
    restoring.line.end();
    let restored = restored.map_err(|e| Failure::because("restoring", e))?;
    settle_blobs(&config.blob_place(), &url, restoring.handing.take(), &restored)
        .map_err(|e| Failure::because("the store is restored; settling its blobs", e))?;
    let Comparing { looked, revival, lost, unread, as_in_backup, copied, .. } = restoring;
    let from = Some(from);
    Ok(Report { url, from, restored, revival, lost, unread, as_in_backup, looked, copied })
}

fn raise(config: &Config) -> Result<Report, Failure> {
    let url = config.store.place();
    let cannot = |error: StoreError| Failure::because("restoring", error);
    let restored = Store::raise(&url).map_err(cannot)?;
    let snapshot = Snapshot::open(&url, &SnapshotOptions::default()).map_err(cannot)?;
    let (revival, _) = revive(&snapshot, None, true, Timestamp::now()).map_err(cannot)?;
    Ok(Report {
        url,
        from: None,
        restored,
        revival,
        lost: None,
        unread: Some("the previous store no longer exists".into()),
        as_in_backup: true,
        looked: Looked::default(),
        copied: Copied::default(),
    })
}

/// Gives the place of the blobs to the restored store, and keeps what is in it beside the replaced one.
fn settle_blobs(
    place: &BlobPlace,
    url: &StoreUrl,
    handing: Option<HandOver>,
    restored: &Restored,
) -> Result<(), StoreError> {
    handing.map_or(Ok(()), HandOver::finish)?;
    let Some(kept) = &restored.kept else { return Ok(()) };
    if place.exists_blocking()? {
        let open = |url: &StoreUrl| {
            let options = SnapshotOptions { time_max: KEEPING_MAX, ..SnapshotOptions::default() };
            Snapshot::open(url, &options)
        };
        let both = || Ok((open(&StoreUrl::Sqlite(kept.clone()))?, open(url)?));
        homeroom_blobs::keep(place, &both, kept)?;
    }
    Ok(())
}

/// Examines a backup and compares it with the store that it replaces.
struct Comparing<'a> {
    standard: &'a Standard,
    time_max: Duration,
    as_in_backup: bool,
    looked: Looked,
    revival: Revival,
    lost: Option<(u64, u64)>,
    unread: Option<String>,
    /// Where the backup's blobs are, unless they are left out.
    from: Option<BlobPlace>,
    /// Where the restored store's blobs are to be.
    place: BlobPlace,
    /// Whether no other store can use that place.
    is_free: bool,
    handing: Option<HandOver>,
    copied: Copied,
    line: ProgressLine,
}

impl Restoring for Comparing<'_> {
    /// Finds documents that a server has not put there by itself.
    fn in_the_way(&mut self, there: &Snapshot) -> Result<Option<String>, StoreError> {
        let catalog = Catalog::of_snapshot(Arc::clone(&self.standard.model), there)?;
        let seeded = homeroom_document::seeded(&self.standard.model, self.standard.seed);
        let is_seeded =
            |kind| catalog.resource(kind).is_some_and(|resource| seeded.contains(&resource.id));
        let mut own = there.counts()?;
        own.retain(|(kind, _)| !is_seeded(*kind));
        let documents: u64 = own.iter().map(|(_, count)| count).sum();
        Ok((documents > 0).then(|| format!("{} document(s) already", grouped(documents))))
    }

    fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError> {
        let (standard, line) = (self.standard, &mut self.line);
        let looked = health::look(copy, standard, self.time_max, false, &mut health::shown(line));
        self.looked = looked?;
        Ok(self.looked.problems.clone())
    }

    fn settle(
        &mut self,
        restored: &Snapshot,
        replaced: Result<&Snapshot, &StoreError>,
    ) -> Result<Vec<Sql>, StoreError> {
        let handing = HandOver::begin(&self.place, replaced.ok(), self.is_free)?;
        let mark = handing.row();
        self.handing = Some(handing);
        // What is copied and then not needed belongs to nobody, and is swept.
        if let Some(from) = &self.from {
            self.copied = homeroom_blobs::copy(restored, from, &self.place)?;
        }
        let now = Timestamp::now();
        // A store that cannot be read to its end is treated like one that cannot be opened.
        let compared = replaced.map_err(ToString::to_string).and_then(|replaced| {
            let since = restored.newest_change_version();
            let sum = |counts: Vec<(_, u64)>| counts.into_iter().map(|(_, n)| n).sum::<u64>();
            let compared = || {
                let (revival, statements) =
                    revive(restored, Some(replaced), self.as_in_backup, now)?;
                let written = sum(replaced.changed_counts(since)?);
                let deleted = sum(replaced.deleted_counts(since)?);
                Ok::<_, StoreError>((revival, statements, (written, deleted)))
            };
            compared().map_err(|error| error.to_string())
        });
        let mut statements = match compared {
            Ok((revival, statements, lost)) => {
                self.lost = revival.is_later.then_some(lost);
                if !revival.is_later {
                    let why =
                        "the previous store is a different store, or an earlier state of this one";
                    self.unread = Some(why.into());
                }
                self.revival = revival;
                statements
            }
            Err(why) => {
                self.unread = Some(why);
                let (revival, statements) = revive(restored, None, self.as_in_backup, now)?;
                self.revival = revival;
                statements
            }
        };
        statements.push(mark);
        Ok(statements)
    }

    fn copied(&mut self, rows: u64) {
        health::copied(&mut self.line, rows);
    }
}

impl Report {
    fn json(&self) -> Value {
        let replaced = self.lost.map(|(written, deleted)| {
            json!({
                "changeVersion": self.restored.replaced_version,
                "documentsWrittenSince": written,
                "deletionsUndone": deleted,
            })
        });
        let revival = &self.revival;
        json!({
            "store": self.url.to_string(),
            "backup": self.from,
            "backupChangeVersion": self.restored.backup_version,
            "goesOnAfter": self.restored.goes_on_after,
            "kept": self.restored.kept,
            "blobs": { "copied": self.copied.blobs, "bytes": self.copied.bytes },
            "replacedStore": replaced,
            "notCompared": self.unread,
            "keysAsInBackup": self.as_in_backup,
            "stayRevoked": revival.stay_revoked,
            "staySuspended": revival.stay_suspended,
            "secretsKept": revival.secrets_kept,
            "activeAgain": revival.active_again,
            "secretsValidAgain": revival.secrets_valid_again,
            "rightsDiffer": revival.rights_differ,
            "claimSetsDiffer": revival.claim_sets_differ,
            "lostKeys": revival.lost_keys,
            "activeKeys": revival.active_keys,
            "misfits": self.looked.misfits,
            "leftOut": self.looked.left_out,
        })
    }

    fn text(&self) -> String {
        let Restored { kept, backup_version, goes_on_after, .. } = &self.restored;
        let mut lines = vec![];
        if self.from.is_some() {
            let kept =
                kept.as_ref().map(|kept| format!("; the previous store is {}", kept.display()));
            lines.push(format!("restored {}{}", self.url, kept.unwrap_or_default()));
        } else {
            lines.push(format!("{} is treated as a copy", self.url));
        }
        lines.push(format!(
            "change versions continue after {goes_on_after}, above all that may have been issued \
             since {backup_version}; clients that read changes by version must load everything \
             again"
        ));
        if let Some((written, deleted)) = self.lost {
            lines.push(format!(
                "the writes of {} document(s) and {} deletion(s) since the backup are undone",
                grouped(written),
                grouped(deleted)
            ));
        }
        let revival = &self.revival;
        let lists = [
            ("keys revoked or removed since the backup stay revoked", &revival.stay_revoked),
            ("keys suspended since the backup stay suspended", &revival.stay_suspended),
            ("keys with the secrets of the previous store", &revival.secrets_kept),
            (
                "keys that are VALID AGAIN although they were revoked, removed or suspended since \
                 the backup",
                &revival.active_again,
            ),
            (
                "keys with secrets that are VALID AGAIN although they were revoked since the backup",
                &revival.secrets_valid_again,
            ),
            ("keys whose rights differ from those before the restore", &revival.rights_differ),
            ("claim sets that differ from those before the restore", &revival.claim_sets_differ),
            ("keys created since the backup, which no longer exist", &revival.lost_keys),
        ];
        for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            lines.push(format!("{what} ({}): {}", names.len(), names.join(", ")));
        }
        if let Some(why) = &self.unread {
            let keys = &revival.active_keys;
            lines.push(format!(
                "it is not known whether any of its keys was revoked since the backup ({why}); \
                 these keys are valid ({}): {}",
                keys.len(),
                keys.join(", ")
            ));
        }
        lines.extend(self.looked.misfits.iter().map(|misfit| format!("note: {misfit}")));
        lines.extend(self.looked.left_out.iter().map(|part| format!("not checked: {part}")));
        lines.join("\n") + "\n"
    }
}
