//! Where the results of the lab go.

use std::path::{Path, PathBuf};

use clap::Args;
use homeroom_lab::run::RunFile;

use crate::exit::Failure;

/// Files that are written.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Writes all figures as JSON; without a file, to stdout instead of the summary
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

impl OutputArgs {
    /// Writes what was asked for, and the summary.
    pub fn write(&self, run: &RunFile, summary: &str) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(run)
            .map_err(|error| Failure::because("writing the figures", error))?;
        match &self.json {
            Some(path) if path.as_os_str() == "-" => {
                crate::exit::say!("{json}");
                return Ok(());
            }
            Some(path) => write_file(path, &json)?,
            None => {}
        }
        crate::exit::print(summary);
        Ok(())
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::because(&format!("writing {}", path.display()), error))
}
