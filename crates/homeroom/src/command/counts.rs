//! `homeroom counts`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use clap::Args;
use homeroom_model::Model;
use homeroom_store::{KindId, Snapshot};
use serde_json::{Value, json};

use crate::app::snapshot;
use crate::command::terminal::grouped;
use crate::config::ConfigArgs;
use crate::exit::{Exit, Failure};
use crate::standard::Standard;

/// Counts the documents of each resource exactly, all at one moment, whether or not a server has
/// the store open.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom counts
  homeroom counts students sections --json
  homeroom counts --since 48210

With --since, the counts cover documents that were created or changed after that change version and
still exist, and deletes after it.")]
pub struct CountsArgs {
    /// Counts only these resources (`students`, `Student` or `ed-fi/students`)
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Counts only what changed after this change version
    #[arg(long, value_name = "V")]
    since: Option<i64>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: CountsArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let standard = Standard::read(&config.standard)?;
    let asked = asked(&standard.model, &args.resources)?;
    let snapshot = snapshot(&config)?;
    let counts = Counts::of(&snapshot, &standard.model, args.since, &asked)
        .map_err(|error| Failure::because("reading the store", error))?;
    if args.json {
        super::print_json(&counts.json());
    } else {
        crate::exit::print(&counts.text());
    }
    Ok(Exit::Done)
}

/// Returns the requested resources under the store's names.
fn asked(model: &Model, names: &[String]) -> Result<Vec<String>, Failure> {
    names
        .iter()
        .map(|name| {
            let found = model.named(name);
            found
                .map(|resource| format!("{}/{}", resource.schema, resource.name))
                .ok_or_else(|| Failure::Usage(format!("there is no resource {name}")))
        })
        .collect()
}

struct Counts {
    since: Option<i64>,
    change_version: i64,
    /// The number of documents and of deletes by resource, such as `ed-fi/students`.
    resources: BTreeMap<String, (u64, u64)>,
}

impl Counts {
    fn of(
        snapshot: &Snapshot,
        model: &Model,
        since: Option<i64>,
        asked: &[String],
    ) -> Result<Self, homeroom_store::StoreError> {
        let documents = since.map_or_else(|| snapshot.counts(), |v| snapshot.changed_counts(v))?;
        let mut found: HashMap<KindId, (u64, u64)> =
            documents.into_iter().map(|(kind, count)| (kind, (count, 0))).collect();
        for (kind, count) in snapshot.deleted_counts(since.unwrap_or(0))? {
            found.entry(kind).or_default().1 = count;
        }
        let mut resources = BTreeMap::new();
        for (name, kind) in snapshot.kinds()? {
            let count = found.remove(&kind);
            let is_shown = if asked.is_empty() { count.is_some() } else { asked.contains(&name) };
            if is_shown {
                resources.insert(shown(model, &name), count.unwrap_or_default());
            }
        }
        Ok(Self { since, change_version: snapshot.newest_change_version(), resources })
    }

    fn total(&self) -> (u64, u64) {
        self.resources.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    fn json(&self) -> Value {
        let count = |(documents, deletes): (u64, u64)| json!({ "documents": documents, "deletes": deletes });
        let resources: serde_json::Map<String, Value> =
            self.resources.iter().map(|(name, found)| (name.clone(), count(*found))).collect();
        let (documents, deletes) = self.total();
        json!({
            "changeVersion": self.change_version,
            "since": self.since,
            "documents": documents,
            "deletes": deletes,
            "resources": resources,
        })
    }

    fn text(&self) -> String {
        let total = self.total();
        let mut rows = vec![("documents".to_owned(), "deletes".to_owned(), "resource")];
        let row = |count: (u64, u64)| (grouped(count.0), grouped(count.1));
        for (name, count) in &self.resources {
            let (documents, deletes) = row(*count);
            rows.push((documents, deletes, name));
        }
        let (documents, deletes) = row(total);
        rows.push((documents, deletes, "in all"));
        let width =
            |of: fn(&(String, String, &str)) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let (first, second) = (width(|row| row.0.len()), width(|row| row.1.len()));
        let mut out = String::new();
        for (documents, deletes, name) in &rows {
            _ = writeln!(out, "{documents:>first$}  {deletes:>second$}  {name}");
        }
        out + &format!("at change version {}\n", self.change_version)
    }
}

/// Returns a resource's name for display, such as `ed-fi/students`. A resource that is no longer in
/// the model keeps the store's name.
fn shown(model: &Model, name: &str) -> String {
    model.named(name).map_or_else(|| name.to_owned(), |r| format!("{}/{}", r.schema, r.endpoint))
}
