//! `homeroom model import | check | show`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use homeroom_model::check::{self, Exceptions, Published, Report};
use homeroom_model::import::{self, Imported, Inputs, Problem, Rules, Text};
use homeroom_model::{Source, format};

use crate::config::DEFAULT_VERSION;
use crate::config::StandardConfig;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::standard;

/// Creates, checks and shows model files.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Creates a model file from the published artefacts of a data standard or an extension.
    Import(Box<ImportArgs>),
    /// Compares a model with the other published artefacts of its data standard.
    Check(CheckArgs),
    /// Shows one resource as the model file describes it.
    #[command(after_help = "Examples:
  homeroom model show sections
  homeroom model show tpdm/candidates --extensions tpdm")]
    Show {
        /// Endpoint or name, `sections` or `Section`; with its schema `ed-fi/sections`.
        resource: String,
        #[command(flatten)]
        standard: StandardArgs,
    },
}

/// Which model files are meant.
#[derive(Debug, Args)]
pub struct StandardArgs {
    /// Model file of a standard [default: the shipped one].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Version of the shipped model.
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_VERSION)]
    standard_version: String,
    /// Extensions of it, separated by commas: shipped ones by name, others by the path of their
    /// file.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    extensions: Vec<String>,
}

impl StandardArgs {
    fn sources(&self) -> Result<Vec<Source>, Failure> {
        standard::sources(&StandardConfig {
            version: self.standard_version.clone(),
            extensions: self.extensions.clone(),
            model: self.model.clone(),
            ..StandardConfig::default()
        })
    }
}

/// Where the artefacts are.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  homeroom model import --openapi resources.json --openapi-descriptors descriptors.json \\
    --tables 0020-Tables.sql --foreign-keys 0030-ForeignKeys.sql --xsd Schemas/Bulk \\
    --rules models/ed-fi/import.toml --out models/ed-fi/5.2.0/ed-fi.model
  homeroom model import --extension ApiSchema-EXTENSION.json --out my-extension.model")]
pub struct ImportArgs {
    /// API schema (`ApiSchema.json`) of an extension; no other artefact is needed.
    #[arg(long, value_name = "FILE", conflicts_with_all = ARTEFACTS)]
    extension: Option<PathBuf>,
    /// The standard, and any other extensions, that it extends.
    #[command(flatten)]
    standard: StandardArgs,
    #[command(flatten)]
    artefacts: Option<Artefacts>,
    /// The model file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// The arguments that say where a standard's artefacts are.
const ARTEFACTS: [&str; 9] = [
    "openapi",
    "openapi_descriptors",
    "openapi_domains",
    "tables",
    "foreign_keys",
    "xsd",
    "rules",
    "project",
    "schema",
];

/// Where a standard's artefacts are.
#[derive(Debug, Args)]
struct Artefacts {
    /// OpenAPI document of the resources (JSON).
    #[arg(long, value_name = "FILE")]
    openapi: PathBuf,
    /// OpenAPI document of the descriptors (JSON).
    #[arg(long, value_name = "FILE")]
    openapi_descriptors: PathBuf,
    /// OpenAPI document whose tags state domains; may be of a later version and may be repeated.
    #[arg(long, value_name = "FILE")]
    openapi_domains: Vec<PathBuf>,
    /// SQL script that creates the tables.
    #[arg(long, value_name = "FILE")]
    tables: PathBuf,
    /// SQL script that creates the foreign keys.
    #[arg(long, value_name = "FILE")]
    foreign_keys: PathBuf,
    /// Folder with the XML schemas: the core and the interchanges.
    #[arg(long, value_name = "DIR")]
    xsd: PathBuf,
    /// Facts that follow no rule (TOML).
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// Project name.
    #[arg(long, default_value = "Ed-Fi")]
    project: String,
    /// Schema segment of the project's paths.
    #[arg(long, default_value = "ed-fi")]
    schema: String,
}

/// What to compare.
#[derive(Debug, Args)]
#[command(after_help = "Exits with 6 if a difference has no reason or a reason has no difference.

Examples:
  homeroom model check --reference reference/ed-fi
  homeroom model check --reference reference/ed-fi --standard-version 4.0.0")]
pub struct CheckArgs {
    /// Folder with the published artefacts: model/, openapi/, dependencies/.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    #[command(flatten)]
    standard: StandardArgs,
    /// Known differences with their reasons (TOML) [default: the shipped ones].
    #[arg(long, value_name = "FILE")]
    exceptions: Option<PathBuf>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(command: ModelCommand) -> Result<Exit, Failure> {
    match command {
        ModelCommand::Import(args) => make(&args),
        ModelCommand::Check(args) => compare(&args),
        ModelCommand::Show { resource, standard } => show(&resource, &standard),
    }
}

fn make(args: &ImportArgs) -> Result<Exit, Failure> {
    output::check(&output::MODEL, &args.out)?;
    let imported = match (&args.extension, &args.artefacts) {
        (Some(file), _) => make_extension(file, &args.standard)?,
        (None, Some(artefacts)) => make_standard(artefacts)?,
        (None, None) => {
            return Err(Failure::Usage(
                "name the file of an extension with --extension, or the artefacts of a standard; \
                 --help shows both"
                    .into(),
            ));
        }
    };
    if let Some(folder) = args.out.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::because(&folder.display().to_string(), error))?;
    }
    output::write(&output::MODEL, &args.out, &format::write(&imported.source))?;
    let Source { resources, extensions, .. } = &imported.source;
    eprintln!(
        "{}: {} resources and bases, {} extended, {} XML elements placed",
        args.out.display(),
        resources.len(),
        extensions.len(),
        imported.elements
    );
    Ok(Exit::Done)
}

fn make_extension(path: &Path, standard: &StandardArgs) -> Result<Imported, Failure> {
    let file = File::read(path)?;
    import::import_extension(file.text(), &standard.sources()?)
        .map_err(|problems| failure("the extension cannot be imported", &problems))
}

fn failure(what: &str, problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    Failure::Failed(format!("{what}:{}", lines.concat()))
}

fn make_standard(args: &Artefacts) -> Result<Imported, Failure> {
    let rules_text = read(&args.rules)?;
    let rules = Rules::read(&rules_text)
        .map_err(|error| Failure::because(&args.rules.display().to_string(), error))?;
    let resources = File::read(&args.openapi)?;
    let descriptors = File::read(&args.openapi_descriptors)?;
    let domains =
        args.openapi_domains.iter().map(|p| File::read(p)).collect::<Result<Vec<_>, _>>()?;
    let tables = File::read(&args.tables)?;
    let foreign_keys = File::read(&args.foreign_keys)?;
    let xsd = schema_files(&args.xsd)?;
    let imported = import::import(&Inputs {
        project: &args.project,
        schema: &args.schema,
        resources: resources.text(),
        descriptors: descriptors.text(),
        domains: domains.iter().map(File::text).collect(),
        tables: tables.text(),
        foreign_keys: foreign_keys.text(),
        xsd: xsd.iter().map(File::text).collect(),
        rules: &rules,
    })
    .map_err(|problems| failure("the artefacts do not fit together", &problems))?;
    for row in &imported.unused {
        eprintln!("homeroom: {}: nothing uses the row: {row}", args.rules.display());
    }
    homeroom_model::link(std::slice::from_ref(&imported.source))
        .map_err(|error| Failure::because("the model does not link", error))?;
    Ok(imported)
}

fn compare(args: &CheckArgs) -> Result<Exit, Failure> {
    let model = homeroom_model::link(&args.standard.sources()?)
        .map_err(|error| Failure::because("the model does not link", error))?;
    let version = &model.projects[0].version;
    let (name, text) = match &args.exceptions {
        Some(path) => (path.display().to_string(), read(path)?),
        None => {
            let text = homeroom_model::shipped_exceptions(version).unwrap_or_default();
            (format!("the shipped exceptions of {version}"), text.to_owned())
        }
    };
    let exceptions = Exceptions::read(&text).map_err(|error| Failure::because(&name, error))?;
    let artefacts =
        check::ARTEFACTS.iter().find(|found| found.version == version).ok_or_else(|| {
            let known: Vec<&str> = check::ARTEFACTS.iter().map(|found| found.version).collect();
            Failure::Usage(format!(
                "there is nothing to compare Data Standard {version} with; supported versions: {}",
                known.join(", ")
            ))
        })?;
    let artefact = |path: &str| read(&args.reference.join(path));
    let manifest = artefacts.manifest.map(artefact).transpose()?;
    let api_schema = artefacts.api_schema.map(artefact).transpose()?;
    let resources = artefact(artefacts.resources)?;
    let descriptors = artefact(artefacts.descriptors)?;
    let dependencies = artefact(artefacts.dependencies)?;
    let published = Published {
        manifest: manifest.as_deref(),
        api_schema: api_schema.as_deref(),
        resources: &resources,
        descriptors: &descriptors,
        dependencies: &dependencies,
    };
    let report = check::check(&model, &published, &exceptions).map_err(Failure::Failed)?;
    print_report(&report, args.json);
    Ok(if report.is_clean() { Exit::Done } else { Exit::Differences })
}

fn print_report(report: &Report, json: bool) {
    if json {
        let compared: serde_json::Map<String, serde_json::Value> = report
            .compared
            .iter()
            .map(|(name, facts)| ((*name).to_owned(), (*facts).into()))
            .collect();
        let unexplained: Vec<String> = report.unexplained.iter().map(ToString::to_string).collect();
        let value = serde_json::json!({
            "compared": compared,
            "explained": report.explained,
            "unexplained": unexplained,
            "idle": report.idle,
        });
        crate::exit::say!("{value}");
        return;
    }
    for (artefact, facts) in &report.compared {
        crate::exit::say!("{artefact}: {facts} facts compared");
    }
    crate::exit::say!(
        "{} differences with a reason, {} without",
        report.explained,
        report.unexplained.len()
    );
    for difference in &report.unexplained {
        crate::exit::say!("  {difference}");
    }
    for row in &report.idle {
        crate::exit::say!("  a row explains nothing: {row}");
    }
}

fn show(resource: &str, standard: &StandardArgs) -> Result<Exit, Failure> {
    let sources = standard.sources()?;
    let (schema, name) = match resource.trim_matches('/').split_once('/') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, resource),
    };
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    for source in &sources {
        if schema.is_some_and(|schema| !same(schema, &source.schema)) {
            continue;
        }
        let mut resources = source.resources.iter();
        let Some(found) = resources.find(|r| same(&r.name, name) || same(&r.endpoint, name)) else {
            continue;
        };
        let mut text = format::write_resource(found);
        for other in sources.iter().filter(|other| other.schema != source.schema) {
            let mine = |target: &str| {
                target == found.name || target == format!("{}/{}", source.schema, found.name)
            };
            for extension in other.extensions.iter().filter(|extension| mine(&extension.target)) {
                _ = write!(text, "\n# {}\n{}", other.project, format::write_extension(extension));
            }
        }
        crate::exit::say!("{}", text.trim_end());
        return Ok(Exit::Done);
    }
    Err(Failure::Usage(format!("the model has no resource `{resource}`")))
}

struct File {
    name: String,
    content: String,
}

impl File {
    fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self { name: path.display().to_string(), content: read(path)? })
    }

    fn text(&self) -> Text<'_> {
        Text { file: &self.name, text: &self.content }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::because(&path.display().to_string(), error))
}

fn schema_files(folder: &Path) -> Result<Vec<File>, Failure> {
    let wrong = |error| Failure::because(&folder.display().to_string(), error);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(wrong)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "xsd"));
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::Failed(format!("{}: it contains no .xsd file", folder.display())));
    }
    paths.iter().map(|path| File::read(path)).collect()
}
