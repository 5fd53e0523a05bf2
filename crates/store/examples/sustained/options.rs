//! The options of a run.

use std::path::PathBuf;

use crate::compared::Periods;

/// What `--help` prints.
pub const HELP: &str = "\
sustained URL [options]

  URL                     sqlite:FILE (a new file) or postgres://…
  --minutes N             how long it is measured (10); --seconds N instead
  --documents-before N    documents in the store at the start (100000)
  --clients N             clients that create documents, one after the other (64)
  --mix                   they read (60 %), create (20 %), update (15 %) and delete (5 %) instead
  --part-commits RATE     commits of courses a second beside them (0)
  --alternate SECONDS     the commits pause and go on by periods (of at least 15 s), and what the clients have is
                          compared; fails if they lose more than 15 %
  --body-bytes N          size of a document's text (700)
  --page-bytes N          SQLite: page size
  --cache-mib N           SQLite: page cache of each reading connection
  --log-mib N             SQLite: size of the log beyond which it begins anew
  --recent-documents N    SQLite: documents whose identities and edges are in memory
  --json FILE, --csv FILE a row for each second
  --svg FILE              a chart of them
  --keep                  leaves the file
";

/// What is measured, on which store.
pub struct Options {
    pub store: homeroom_store::Options,
    pub seconds: u64,
    pub documents_before: u64,
    pub clients: u64,
    pub is_mix: bool,
    pub part_commits: u64,
    /// Periods by turns without and with a part's commits.
    pub periods: Option<Periods>,
    pub body_bytes: u64,
    pub json: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    pub svg: Option<PathBuf>,
    pub keeps: bool,
}

impl Options {
    /// Reads the arguments; [`None`] where help is asked for.
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let url = match arguments.next() {
            None => return Err("the address of a store is missing; see --help".into()),
            Some(help) if help == "--help" => return Ok(None),
            Some(url) => url.parse().map_err(|error| format!("{url}: {error}"))?,
        };
        let mut options = Self {
            store: homeroom_store::Options::new(url),
            seconds: 600,
            documents_before: 100_000,
            clients: 64,
            is_mix: false,
            part_commits: 0,
            periods: None,
            body_bytes: 700,
            json: None,
            csv: None,
            svg: None,
            keeps: false,
        };
        let mut alternate = None;
        while let Some(name) = arguments.next() {
            match name.as_str() {
                "--help" => return Ok(None),
                "--keep" => {
                    options.keeps = true;
                    continue;
                }
                "--mix" => {
                    options.is_mix = true;
                    continue;
                }
                _ => {}
            }
            let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
            if name == "--alternate" {
                alternate = Some(value.parse().map_err(|_| format!("{name} wants seconds"))?);
            } else {
                options.set(&name, &value)?;
            }
        }
        if let Some(seconds) = alternate {
            if options.part_commits == 0 {
                return Err("--alternate wants --part-commits".into());
            }
            options.periods = Some(Periods::of(options.seconds, seconds)?);
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number =
            || value.parse::<u64>().map_err(|_| format!("{name}: `{value}` is not a whole number"));
        let small = || {
            let number = number()?;
            u32::try_from(number).map_err(|_| format!("{name}: {number} is too large"))
        };
        let file = || Some(PathBuf::from(value));
        match name {
            "--minutes" => self.seconds = number()? * 60,
            "--seconds" => self.seconds = number()?,
            "--documents-before" => self.documents_before = number()?,
            "--clients" => self.clients = number()?,
            "--part-commits" => self.part_commits = number()?,
            "--body-bytes" => self.body_bytes = number()?,
            "--page-bytes" => self.store.page_bytes = small()?,
            "--cache-mib" => self.store.cache_kib = small()?.saturating_mul(1_024),
            "--log-mib" => self.store.wal_bytes_max = number()? << 20,
            "--recent-documents" => self.store.recent_documents = small()? as usize,
            "--json" => self.json = file(),
            "--csv" => self.csv = file(),
            "--svg" => self.svg = file(),
            other => return Err(format!("unknown option {other}; see --help")),
        }
        if self.seconds == 0 { Err("it is measured for no time".into()) } else { Ok(()) }
    }
}
