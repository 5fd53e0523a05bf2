//! Where the results of the lab go.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homeroom_lab::report::{Paint, Report, html, samples, summary, transactional};
use serde::Serialize;

use crate::exit::Failure;

/// Files that are written.
#[derive(Debug, Args)]
pub struct OutputArgs {
    #[command(flatten)]
    figures: FiguresArgs,
    /// Writes a report for people: one page, which needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes the tables as Markdown: stages as published tables have them, and every step
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Writes the table of stages and steps as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The file for programs.
#[derive(Debug, Args)]
pub struct FiguresArgs {
    /// Writes all figures as JSON; without a file, to stdout instead of the summary
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl OutputArgs {
    /// The same, with a page of this name unless another was asked for.
    pub fn with_page(self, name: &str) -> Self {
        Self { html: self.html.or_else(|| Some(name.into())), ..self }
    }

    /// Where the page is written.
    pub fn page(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Writes what was asked for, and the summary with what else is to be said.
    pub fn write(
        &self,
        report: &Report<'_>,
        figures: &impl Serialize,
        more: &str,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            write_file(path, &html(report))?;
        }
        if let Some(path) = &self.markdown {
            let tables = [transactional(report.run).markdown(), samples(report.run).markdown()];
            write_file(path, &tables.join("\n"))?;
        }
        if let Some(path) = &self.csv {
            write_file(path, &samples(report.run).csv())?;
        }
        let is_terminal = std::io::stdout().is_terminal();
        let paint = if is_terminal { Paint::Colour } else { Paint::Plain };
        self.figures.write(figures, &format!("{}{more}", summary(report, paint)))
    }
}

impl FiguresArgs {
    /// Writes the figures where they are asked for, and prints the summary unless they are printed.
    pub fn write(&self, figures: &impl Serialize, summary: &str) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(figures)
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

/// Writes a file.
pub fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::because(&format!("writing {}", path.display()), error))
}
