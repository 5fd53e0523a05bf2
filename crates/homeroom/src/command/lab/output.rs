//! Writes the results of lab commands.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homeroom_lab::report::{Paint, Report, csv, html, markdown, summary};
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{CSV, FIGURES, MARKDOWN, PAGE, check, write as write_output};

/// The parts before `.csv` in the names of the tables that are written.
const TABLES: [&str; 4] = ["", "stages", "levels", "trials"];

/// Files that are written.
#[derive(Debug, Args)]
pub struct OutputArgs {
    #[command(flatten)]
    figures: FiguresArgs,
    /// Writes a report for people as one HTML page, which needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes the tables as Markdown: for a search, its verdict, levels and trials; the stages in the
    /// form of the published tests; every step
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Writes the tables as CSV: samples by stage and step to FILE; beside it, with `.stages.csv` in
    /// place of `.csv`, the stages in the form of the published tests; for a search, also its levels
    /// (`.levels.csv`) and trials (`.trials.csv`)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The file for programs.
#[derive(Debug, Args)]
pub struct FiguresArgs {
    /// Writes all figures as JSON; without FILE, to stdout in place of the summary
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl OutputArgs {
    /// Adds a page with this name, unless another was asked for.
    pub fn with_page(self, name: &str) -> Self {
        Self { html: self.html.or_else(|| Some(name.into())), ..self }
    }

    /// Checks before the load begins that the output files may be written.
    pub fn check(&self) -> Result<(), Failure> {
        self.figures.check()?;
        self.html.iter().try_for_each(|path| check(&PAGE, path))?;
        self.markdown.iter().try_for_each(|path| check(&MARKDOWN, path))?;
        let tables =
            |path: &PathBuf| TABLES.iter().try_for_each(|name| check(&CSV, &beside(path, name)));
        self.csv.iter().try_for_each(tables)
    }

    /// Returns the path of the page.
    pub fn page(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Writes the requested files, and the summary with further remarks.
    pub fn write(
        &self,
        report: &Report<'_>,
        figures: &impl Serialize,
        more: &str,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            write_output(&PAGE, path, &html(report))?;
        }
        if let Some(path) = &self.markdown {
            write_output(&MARKDOWN, path, &markdown(report))?;
        }
        if let Some(path) = &self.csv {
            for (name, text) in csv(report) {
                write_output(&CSV, &beside(path, name), &text)?;
            }
        }
        let is_terminal = std::io::stdout().is_terminal();
        let paint = if is_terminal { Paint::Colour } else { Paint::Plain };
        self.figures.write(figures, &format!("{}{more}", summary(report, paint)))
    }
}

/// Files of a published test: figures, a page, its tables.
#[derive(Debug, Args)]
pub struct PublishedArgs {
    #[command(flatten)]
    figures: FiguresArgs,
    /// Writes a report for people as one HTML page, which needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes the tables as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Writes the published table as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The texts of a published test's files.
pub struct PublishedTexts {
    /// The page.
    pub html: String,
    /// The tables as Markdown.
    pub markdown: String,
    /// The published table as CSV.
    pub csv: String,
    /// The summary for the terminal.
    pub summary: String,
}

impl PublishedArgs {
    /// Does the same as [`OutputArgs::check`].
    pub fn check(&self) -> Result<(), Failure> {
        self.figures.check()?;
        self.html.iter().try_for_each(|path| check(&PAGE, path))?;
        self.markdown.iter().try_for_each(|path| check(&MARKDOWN, path))?;
        self.csv.iter().try_for_each(|path| check(&CSV, path))
    }

    /// Writes the requested files, and the summary.
    pub fn write(&self, texts: &PublishedTexts, figures: &impl Serialize) -> Result<(), Failure> {
        let files = [
            (&self.html, &PAGE, &texts.html),
            (&self.markdown, &MARKDOWN, &texts.markdown),
            (&self.csv, &CSV, &texts.csv),
        ];
        for (path, kind, text) in files {
            if let Some(path) = path {
                write_output(kind, path, text)?;
            }
        }
        self.figures.write(figures, &texts.summary)
    }
}

impl FiguresArgs {
    /// Does the same as [`OutputArgs::check`].
    pub fn check(&self) -> Result<(), Failure> {
        let file = self.json.as_ref().filter(|path| path.as_os_str() != "-");
        file.map_or(Ok(()), |path| check(&FIGURES, path))
    }

    /// Writes the figures if requested, and prints the summary unless the figures go to stdout.
    pub fn write(&self, figures: &impl Serialize, summary: &str) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(figures)
            .map_err(|error| Failure::because("writing the figures", error))?;
        match &self.json {
            Some(path) if path.as_os_str() == "-" => {
                crate::exit::say!("{json}");
                return Ok(());
            }
            Some(path) => write_output(&FIGURES, path, &json)?,
            None => {}
        }
        crate::exit::print_as_it_is(summary);
        Ok(())
    }
}

/// Returns the path of a CSV file beside another: with `NAME.csv` in place of `.csv`.
fn beside(path: &Path, name: &str) -> PathBuf {
    if name.is_empty() {
        return path.to_owned();
    }
    let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let mut beside =
        if is_csv { path.with_extension("") } else { path.to_owned() }.into_os_string();
    beside.push(format!(".{name}.csv"));
    beside.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_go_together_differ_before_the_ending() {
        for (path, name, expected) in [
            ("a/r.csv", "", "a/r.csv"),
            ("a/r.csv", "stages", "a/r.stages.csv"),
            ("a.b/r", "trials", "a.b/r.trials.csv"),
            ("r.v2.CSV", "levels", "r.v2.levels.csv"),
        ] {
            assert_eq!(beside(Path::new(path), name), Path::new(expected));
        }
    }
}
