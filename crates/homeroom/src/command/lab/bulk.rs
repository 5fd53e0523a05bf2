//! `homeroom lab bulk`: loads interchanges by the published method and reports how fast they were.
//!
//! The published method: count all records, load an interchange, count again; a record is a document
//! or an item of a collection. Each load is a process of its own, whose threads are sampled.

mod chart;
mod measure;
mod page;
mod result;
mod served;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use homeroom_district::{DistrictPlan, Format, Profile, SCHOOL_YEAR_DEFAULT};
use homeroom_model::Model;

use self::measure::{Records, load};
use self::result::{BulkResult, ModeResult, Row, now};
use self::served::Served;
use super::output::FiguresArgs;
use crate::command::interchange_order::{Group, groups};
use crate::command::terminal::{ProgressLine, grouped};
use crate::config::StandardConfig;
use crate::exit::{Exit, Failure};
use crate::output::{PAGE, check, write};
use crate::standard::Standard;

/// Loads interchanges one after the other and then all at once, each time into an empty store, and
/// reports time, records and records per second for each and in total
#[derive(Debug, Args)]
#[command(
    after_help = "The published method: all records are counted, an interchange is loaded, and all records are
counted again; a record is a document or an item of a collection. The mode `direct` loads everything
at once only, because it needs an empty store. In the mode `service`, files are uploaded to a server
on this machine, and the server is sampled; its seconds are those from the start of the upload to its
end, the transfer included. Otherwise seconds are those that the load tells, and the start of its process
is told apart. Each store is a SQLite file of its own, in the process that is sampled; loads into
PostgreSQL are not measured by this command.

Examples:
  homeroom lab bulk --students 2000 --html bulk.html
  homeroom lab bulk interchanges/ --json bulk.json --html bulk.html
  homeroom lab bulk interchanges/ --modes trusted,direct,service
  homeroom lab bulk interchanges/ --cores 1,2"
)]
pub struct BulkArgs {
    /// A folder of interchanges, `Student.xml` or `Student-001.xml`, or of JSON lines; without it, a
    /// district with the profile `published` is generated
    #[arg(value_name = "PATH", conflicts_with = "students")]
    path: Option<PathBuf>,
    /// Number of students of the generated district
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    students: usize,
    /// Modes that are measured side by side
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["trusted", "service"])]
    modes: Vec<Mode>,
    /// Numbers of processor cores that a load, or the server that loads, may use: each mode is measured
    /// with each of them. All cores without it
    #[arg(long, value_name = "N", value_delimiter = ',')]
    cores: Vec<NonZeroUsize>,
    #[command(flatten)]
    figures: FiguresArgs,
    /// Writes the table and the charts as one HTML page, which needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A way to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// `homeroom load`
    Trusted,
    /// `homeroom load --direct`
    Direct,
    /// `homeroom upload` to a server, with a key that may do everything
    Service,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Direct => "direct",
            Self::Service => "service",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Trusted | Self::Service => &[],
            Self::Direct => &["--direct"],
        }
    }
}

/// A mode, and how many cores it may use.
#[derive(Debug, Clone, Copy)]
struct Way {
    mode: Mode,
    /// Their number; all without it.
    cores: Option<usize>,
    /// Whether the number is part of its name.
    is_told: bool,
}

impl Way {
    fn name(self) -> String {
        match self.cores.filter(|_| self.is_told) {
            None => self.mode.name().to_owned(),
            Some(1) => format!("{} on 1 core", self.mode.name()),
            Some(cores) => format!("{} on {cores} cores", self.mode.name()),
        }
    }
}

/// Runs the command.
pub fn run(args: BulkArgs) -> Result<Exit, Failure> {
    args.figures.check()?;
    args.html.iter().try_for_each(|path| check(&PAGE, path))?;
    let standard = Standard::read(&StandardConfig::default())?;
    let model = &standard.model;
    let folder = Temporary::new()?;
    let files = match &args.path {
        Some(path) => path.clone(),
        None => generate(model, args.students, &folder.0.join("interchanges"))?,
    };
    let groups = groups(model, &files)?;
    let mut line = ProgressLine::new();
    let mut measured = vec![];
    let each: Vec<Option<usize>> = match &args.cores[..] {
        [] => vec![None],
        all => all.iter().map(|cores| Some(cores.get())).collect(),
    };
    for cores in &each {
        for mode in &args.modes {
            let way = Way { mode: *mode, cores: *cores, is_told: each.len() > 1 };
            measured.push(measure(&standard, way, &files, &groups, &folder.0, &mut line)?);
        }
    }
    line.end();
    let result = BulkResult::new(now(), each.into_iter().flatten().max(), measured);
    if let Some(path) = &args.html {
        write(&PAGE, path, &page::page(&result))?;
    }
    args.figures.write(&result, &page::summary(&result))?;
    Ok(Exit::Done)
}

/// Generates interchanges of a district.
fn generate(model: &Model, students: usize, folder: &Path) -> Result<PathBuf, Failure> {
    let plan = DistrictPlan::new(students, 1, SCHOOL_YEAR_DEFAULT)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let profile = Profile::named("published");
    homeroom_district::write(&plan, profile, model, folder, &[Format::Xml])
        .map_err(|error| Failure::because("writing the district", error))?;
    Ok(folder.to_owned())
}

/// Measures a mode: each interchange, then all of them at once.
fn measure(
    standard: &Standard,
    way: Way,
    files: &Path,
    groups: &[Group],
    folder: &Path,
    line: &mut ProgressLine,
) -> Result<ModeResult, Failure> {
    let Way { mode, cores, .. } = way;
    let name = way.name();
    let mut rows = vec![];
    let load_into = |data: &Path, files: &[PathBuf], served: &Option<Served>| match served {
        None => load(files, data, mode.arguments(), cores),
        Some(served) => served.upload(files, &data.with_extension("results.jsonl")),
    };
    let serve =
        |data: &Path| (mode == Mode::Service).then(|| Served::start(data, cores)).transpose();
    if mode != Mode::Direct {
        let data = folder.join("each");
        let served = serve(&data)?;
        let mut before = Records::default();
        for (at, group) in groups.iter().enumerate() {
            line.show(|| format!("{name}: {} ({} of {})", group.name, at + 1, groups.len()));
            let measured = load_into(&data, &group.files, &served)?;
            let after = Records::of(&data, standard)?;
            rows.push(Row::new(&group.name, group.is_descriptors, before, after, measured));
            before = after;
        }
        drop(served);
        remove(&data)?;
    }
    line.show(|| format!("{name}: all at once"));
    let data = folder.join("all");
    let served = serve(&data)?;
    let measured = load_into(&data, &[files.to_owned()], &served)?;
    let after = Records::of(&data, standard)?;
    drop(served);
    remove(&data)?;
    let total = Row::new("All at once", false, Records::default(), after, measured);
    line.show(|| format!("{name}: {} documents", grouped(total.documents)));
    Ok(ModeResult::new(name, rows, total))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    std::fs::remove_dir_all(folder).map_err(|error| Failure::because("removing a store", error))
}

/// A folder that is removed when the value is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(format!("homeroom-lab-bulk-{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| Failure::because(&format!("making {}", path.display()), e))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
