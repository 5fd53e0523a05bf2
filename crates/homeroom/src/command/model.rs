//! `homeroom model import | check | show`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use homeroom_model::check::{self, Exceptions, Published, Report};
use homeroom_model::import::{self, Inputs, Rules, Text};
use homeroom_model::{Source, format};

use crate::exit::{Exit, Failure};

/// What to do with a model.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Makes a model file from the artefacts that a data standard is published in.
    Import(Box<ImportArgs>),
    /// Compares a model with what else is published about its data standard.
    Check(CheckArgs),
    /// Shows one resource as the model file states it.
    #[command(after_help = "Example:\n  homeroom model show sections")]
    Show {
        /// Endpoint or name, `sections` or `Section`.
        resource: String,
        /// A model file; the shipped one unless given.
        #[arg(long, value_name = "FILE")]
        model: Option<PathBuf>,
    },
}

/// Where the artefacts are.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  homeroom model import --openapi resources.json --openapi-descriptors descriptors.json \\
    --tables 0020-Tables.sql --foreign-keys 0030-ForeignKeys.sql --xsd Schemas/Bulk \\
    --rules models/ed-fi/import.toml --out models/ed-fi/5.2.0/ed-fi.model")]
pub struct ImportArgs {
    /// OpenAPI document of the resources (JSON).
    #[arg(long, value_name = "FILE")]
    openapi: PathBuf,
    /// OpenAPI document of the descriptors (JSON).
    #[arg(long, value_name = "FILE")]
    openapi_descriptors: PathBuf,
    /// OpenAPI document whose tags state domains; may be of a later version, may be repeated.
    #[arg(long, value_name = "FILE")]
    openapi_domains: Vec<PathBuf>,
    /// SQL that makes the tables.
    #[arg(long, value_name = "FILE")]
    tables: PathBuf,
    /// SQL that makes the foreign keys.
    #[arg(long, value_name = "FILE")]
    foreign_keys: PathBuf,
    /// Folder with the XML schemas: the core and the interchanges.
    #[arg(long, value_name = "DIR")]
    xsd: PathBuf,
    /// Rows for what follows no rule (TOML).
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// The model file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Project name.
    #[arg(long, default_value = "Ed-Fi")]
    project: String,
    /// Schema segment of the project's paths.
    #[arg(long, default_value = "ed-fi")]
    schema: String,
}

/// What to compare.
#[derive(Debug, Args)]
#[command(after_help = "Exits with 6 when a difference has no reason, or a reason no difference.

Example:
  homeroom model check --reference reference/ed-fi")]
pub struct CheckArgs {
    /// Folder with the published artefacts: model/, openapi/, dependencies/.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// A model file; the shipped one unless given.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Differences with their reasons (TOML); the shipped ones unless given.
    #[arg(long, value_name = "FILE")]
    exceptions: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// The artefacts inside a reference folder.
const MANIFEST: &str = "model/relational-model-manifest-ds-5.2.0.json";
const API_SCHEMA: &str = "model/ApiSchema-ds-5.1.0.json";
const OPENAPI: &str = "openapi/resources-ds-5.2-with-tpdm-dms.json";
const OPENAPI_DESCRIPTORS: &str = "openapi/descriptors-ds-5.2-with-tpdm-dms.json";
const DEPENDENCIES: &str = "dependencies/dependencies-ds-5.2.0.json";

/// The version whose model is meant unless another one is named.
const SHIPPED: &str = "5.2.0";

fn shipped() -> Result<&'static str, Failure> {
    homeroom_model::shipped(SHIPPED)
        .ok_or_else(|| Failure::Failed(format!("no model of {SHIPPED} is shipped")))
}

/// Runs the command.
pub fn run(command: ModelCommand) -> Result<Exit, Failure> {
    match command {
        ModelCommand::Import(args) => make(&args),
        ModelCommand::Check(args) => compare(&args),
        ModelCommand::Show { resource, model } => show(&resource, model.as_deref()),
    }
}

fn make(args: &ImportArgs) -> Result<Exit, Failure> {
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
    .map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        Failure::Failed(format!("the artefacts do not fit together:{}", lines.concat()))
    })?;
    for row in &imported.unused {
        eprintln!("homeroom: {}: nothing uses the row: {row}", args.rules.display());
    }
    homeroom_model::link(std::slice::from_ref(&imported.source))
        .map_err(|error| Failure::because("the model does not link", error))?;
    if let Some(folder) = args.out.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::because(&folder.display().to_string(), error))?;
    }
    std::fs::write(&args.out, format::write(&imported.source))
        .map_err(|error| Failure::because(&args.out.display().to_string(), error))?;
    eprintln!(
        "{}: {} resources and bases, {} XML elements placed",
        args.out.display(),
        imported.source.resources.len(),
        imported.elements
    );
    Ok(Exit::Done)
}

fn compare(args: &CheckArgs) -> Result<Exit, Failure> {
    let source = source(args.model.as_deref())?;
    let model = homeroom_model::link(std::slice::from_ref(&source))
        .map_err(|error| Failure::because("the model does not link", error))?;
    let (name, text) = match &args.exceptions {
        Some(path) => (path.display().to_string(), read(path)?),
        None => {
            let text = homeroom_model::shipped_exceptions(SHIPPED).unwrap_or_default();
            (format!("the shipped exceptions of {SHIPPED}"), text.to_owned())
        }
    };
    let exceptions = Exceptions::read(&text).map_err(|error| Failure::because(&name, error))?;
    let artefact = |path: &str| read(&args.reference.join(path));
    let manifest = artefact(MANIFEST)?;
    let api_schema = artefact(API_SCHEMA)?;
    let resources = artefact(OPENAPI)?;
    let descriptors = artefact(OPENAPI_DESCRIPTORS)?;
    let dependencies = artefact(DEPENDENCIES)?;
    let published = Published {
        manifest: &manifest,
        api_schema: &api_schema,
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

fn show(resource: &str, model: Option<&Path>) -> Result<Exit, Failure> {
    let source = source(model)?;
    let found = source.resources.iter().find(|found| {
        found.name.eq_ignore_ascii_case(resource) || found.endpoint.eq_ignore_ascii_case(resource)
    });
    match found {
        Some(found) => {
            print!("{}", format::write_resource(found));
            Ok(Exit::Done)
        }
        None => Err(Failure::Usage(format!("the model has no resource `{resource}`"))),
    }
}

/// A model file's content: the one named, or else the shipped one.
fn source(model: Option<&Path>) -> Result<Source, Failure> {
    let (name, text) = match model {
        Some(path) => (path.display().to_string(), read(path)?),
        None => (format!("the shipped model of {SHIPPED}"), shipped()?.to_owned()),
    };
    format::read(&text).map_err(|error| Failure::because(&name, error))
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
        return Err(Failure::Failed(format!("{}: no .xsd file in it", folder.display())));
    }
    paths.iter().map(|path| File::read(path)).collect()
}
