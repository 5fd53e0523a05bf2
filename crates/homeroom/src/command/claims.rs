//! `homeroom claim-sets import`: the shipped claims file from the published hierarchy.

use std::path::PathBuf;

use clap::Args;
use homeroom_access::import;
use homeroom_model::{format, link};

use crate::exit::{Exit, Failure};
use crate::output;

/// Where the hierarchy is, and which claims file it makes.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  homeroom claim-sets import Claims.json --model models/ed-fi/5.2.0/ed-fi.model \\
    --out models/ed-fi/claims.toml")]
pub struct ImportClaims {
    /// The published hierarchy (JSON with `claimSets` and `claimsHierarchy`).
    #[arg(value_name = "FILE")]
    hierarchy: PathBuf,
    /// A model file, the core first; may be repeated for extensions.
    #[arg(long, value_name = "FILE", required = true)]
    model: Vec<PathBuf>,
    /// The claims file to write; what it says of its own stays.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Claim sets whose names begin so are left out.
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
    let current = if args.out.exists() { read(&args.out)? } else { String::new() };
    let imported = import::import(&read(&args.hierarchy)?, &model, &current, &args.leave_out)
        .map_err(|error| Failure::because(&args.hierarchy.display().to_string(), error))?;
    output::write(&output::CLAIMS, &args.out, &imported.text)?;
    eprintln!(
        "{}: {} claim sets; left out {} sets and {} claims that stand for no resource of the model",
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
