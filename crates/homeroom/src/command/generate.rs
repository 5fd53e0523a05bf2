//! `homeroom generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use homeroom_district::{DistrictPlan, Profile, SCHOOL_YEAR_DEFAULT, WriteError};
use serde_json::json;

use crate::config::StandardConfig;
use crate::exit::{Exit, Failure};
use crate::standard::Standard;

/// Generates a consistent synthetic school district of any size; the same seed gives the same one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom generate --students 1000 --out district
  homeroom generate --students 100000 --seed 7 --format xml --out interchanges
  homeroom generate --profile published --students 113000 --format xml --out volume
  homeroom generate --students 50 --format xml,jsonl --school-year 2027 --out small --json")]
pub struct GenerateArgs {
    /// Number of students; each has about 57 documents
    #[arg(long, value_name = "N")]
    students: usize,
    /// Seed; the same seed gives the same bytes
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Folder for the files, created if necessary; no file in it is overwritten
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Format: one file per resource (JSON lines), or interchanges (XML)
    #[arg(long, value_enum, value_delimiter = ',', default_value = "jsonl")]
    format: Vec<GenerateFormat>,
    /// Adds documents and items, so that the district has the volume and proportions of a published
    /// one: `published` has 151 records a student over all interchanges
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<&'static Profile>,
    /// The school year, by the calendar year in which it ends
    #[arg(long, value_name = "YEAR", default_value_t = SCHOOL_YEAR_DEFAULT)]
    school_year: u16,
    /// Prints JSON: documents by kind, and files
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GenerateFormat {
    /// Interchange files such as Student.xml
    Xml,
    /// JSON lines such as students.jsonl
    Jsonl,
}

fn profile(name: &str) -> Result<&'static Profile, String> {
    Profile::named(name).ok_or_else(|| {
        format!("there is no such profile; there is: {}", Profile::names().join(", "))
    })
}

/// Runs the command.
pub fn run(args: GenerateArgs) -> Result<Exit, Failure> {
    let GenerateArgs { students, seed, out, format, profile, school_year, json } = args;
    homeroom_store::check_folder(&out).map_err(crate::output::failure)?;
    let plan = DistrictPlan::new(students, seed, school_year)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let standard = Standard::read(&StandardConfig::default())?;
    let formats: Vec<_> = format
        .into_iter()
        .map(|format| match format {
            GenerateFormat::Xml => homeroom_district::Format::Xml,
            GenerateFormat::Jsonl => homeroom_district::Format::Jsonl,
        })
        .collect();
    let written = homeroom_district::write(&plan, profile, &standard.model, &out, &formats)
        .map_err(|error| match error {
            WriteError::Exists { .. } => Failure::Usage(error.to_string()),
            error => Failure::because("writing the district", error),
        })?;
    let documents: usize = written.documents.values().sum();
    if json {
        super::print_json(&json!({
            "students": students,
            "seed": seed,
            "schoolYear": school_year,
            "profile": profile.map(|profile| &profile.name),
            "documents": documents,
            "resources": written.documents,
            "files": written.files,
        }));
    } else {
        crate::exit::say!(
            "{documents} documents of {} kinds in {} files in {}",
            written.documents.len(),
            written.files.len(),
            out.display(),
        );
    }
    Ok(Exit::Done)
}
