//! `homeroom claim-sets import`: makes the shipped claims files from published hierarchies.

use std::path::PathBuf;

use clap::Args;
use homeroom_access::import::{self, ExtensionClaims};
use homeroom_model::{format, link};

use crate::exit::{Exit, Failure};
use crate::output;

/// Creates a claims file from a published hierarchy of claims.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom claim-sets import Claims.json More.json --model models/ed-fi/5.2.0/ed-fi.model \\
    --out models/ed-fi/claims.toml
  homeroom claim-sets import Claims.json --extension tpdm --standard models/ed-fi/claims.toml \\
    --model models/ed-fi/5.2.0/ed-fi.model --model models/extensions/tpdm/5.2.0.model \\
    --out models/extensions/tpdm/claims.toml")]
pub struct ImportClaims {
    /// The published hierarchy (JSON with `claimSets` and `claimsHierarchy`); each further file
    /// adds the claim sets that the files before it lack.
    #[arg(value_name = "FILE", required = true)]
    hierarchies: Vec<PathBuf>,
    /// Imports only the claims of an extension, named by its schema.
    #[arg(long, value_name = "SCHEMA", requires = "standard")]
    extension: Option<String>,
    /// The claims file of the standard, which an extension's claims are added to.
    #[arg(long, value_name = "FILE")]
    standard: Option<PathBuf>,
    /// Claim set to which the extension also adds grants on claims of the standard.
    #[arg(long, value_name = "NAME", requires = "extension")]
    whole_set: Vec<String>,
    /// Model file, the core first; may be repeated for extensions.
    #[arg(long, value_name = "FILE", required = true)]
    model: Vec<PathBuf>,
    /// Claims file to write; its `own` section is kept.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Leaves out claim sets whose names begin with this prefix.
    #[arg(long, value_name = "PREFIX", default_value = "E2E-")]
    leave_out: String,
}

/// Runs the command.
pub fn run(args: &ImportClaims) -> Result<Exit, Failure> {
    output::check(&output::CLAIMS, &args.out)?;
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::because(&format!("reading {}", path.display()), error))
    };
    let mut sources = vec![];
    for path in &args.model {
        let source = format::read(&read(path)?);
        sources.push(source.map_err(|error| Failure::because(&path.display().to_string(), error))?);
    }
    let model = link(&sources).map_err(|error| Failure::because("linking the model", error))?;
    let references: Vec<String> = args.hierarchies.iter().map(read).collect::<Result<_, _>>()?;
    let references: Vec<&str> = references.iter().map(String::as_str).collect();
    let imported = match (&args.extension, &args.standard) {
        (Some(schema), Some(standard)) => import::import_extension(&ExtensionClaims {
            reference: references[0],
            model: &model,
            standard: &read(standard)?,
            schema,
            whole_sets: &args.whole_set,
        }),
        _ => {
            let current = if args.out.exists() { read(&args.out)? } else { String::new() };
            import::import(&references, &model, &current, &args.leave_out)
        }
    };
    let imported = imported
        .map_err(|error| Failure::because(&args.hierarchies[0].display().to_string(), error))?;
    output::write(&output::CLAIMS, &args.out, &imported.text)?;
    eprintln!(
        "{}: {} claim sets; left out {} sets and {} claims that match no resource of the model",
        args.out.display(),
        imported.claim_sets.len(),
        imported.left_out_sets.len(),
        imported.left_out_claims.len(),
    );
    for name in imported.left_out_sets.iter().chain(&imported.left_out_claims) {
        eprintln!("  {name}");
    }
    Ok(Exit::Done)
}
