//! `homeroom views`.

use clap::{Args, Subcommand};
use homeroom_export::views::{Dialect, apply, views};
use homeroom_model::Resource;
use homeroom_store::{StoreUrl, View};
use serde_json::json;

use crate::app::snapshot;
use crate::config::Config;
use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};
use crate::standard::{Standard, refuse_unknown};

/// Makes the documents readable as tables under the names of the ODS, for SQL and reporting tools.
#[derive(Debug, Args)]
pub struct ViewsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: ViewsCommand,
}

#[derive(Debug, Subcommand)]
enum ViewsCommand {
    /// Creates the views in the store, whether or not a server has it open; a server recreates them
    /// when the model changes
    #[command(after_help = "Examples:
  homeroom views apply
  sqlite3 'file:homeroom-data/homeroom.db?mode=ro' 'SELECT count(*) FROM edfi_Student'
  psql ods -c 'SELECT count(*) FROM edfi.Student'")]
    Apply {
        /// Creates only the views of these resources (endpoints or names, separated by commas)
        #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
        resource: Vec<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Removes the views from the store
    #[command(after_help = "Example:\n  homeroom views drop")]
    Drop,
    /// Prints a script that creates the views for one session and leaves the store unchanged
    #[command(after_help = "Example:
  homeroom views sql > views.sql
  sqlite3 -init views.sql 'file:homeroom-data/homeroom.db?mode=ro'")]
    Sql {
        /// Creates only the views of these resources (endpoints or names, separated by commas)
        #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
        resource: Vec<String>,
    },
}

/// Runs the command.
pub fn run(args: ViewsArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let url = config.store.place();
    match args.command {
        ViewsCommand::Apply { resource, json } => {
            let views = wanted(&config, &url, &resource)?;
            let put = put(&config, &url, Some(&views), &resource)?;
            if json {
                super::print_json(&json!({ "views": put }));
            } else {
                crate::exit::say!("{put} views");
            }
        }
        ViewsCommand::Drop => _ = put(&config, &url, None, &[])?,
        ViewsCommand::Sql { resource } => {
            let views = wanted(&config, &url, &resource)?;
            crate::exit::print_as_it_is(&Dialect::of(&url).script(&views));
        }
    }
    Ok(Exit::Done)
}

/// Creates the views: by the server that has the file open, or directly if none has it or the store
/// is a database. Returns how many views there are.
fn put(
    config: &Config,
    url: &StoreUrl,
    views: Option<&[View]>,
    only: &[String],
) -> Result<u64, Failure> {
    if matches!(url, StoreUrl::Sqlite(_)) && control::is_served(config) {
        let asked = Request::Views { of: views.map(|_| only.to_owned()) };
        let answer = control::request(config, asked, &mut |_| {})?;
        return Ok(answer["views"].as_u64().unwrap_or_default());
    }
    let views = views.unwrap_or_default();
    apply(url, views, only)
        .map_err(|error| Failure::because("creating the views in the store", error))?;
    Ok(views.len() as u64)
}

/// Returns the views of the requested resources; an empty list means all.
fn wanted(config: &Config, url: &StoreUrl, names: &[String]) -> Result<Vec<View>, Failure> {
    let standard = Standard::read(&config.standard)?;
    refuse_unknown(&standard.model, names)?;
    let snapshot = snapshot(config)?;
    let kinds = snapshot.kinds().map_err(|e| Failure::because("reading the store", e))?;
    let kind = |resource: &Resource| {
        let name = format!("{}/{}", resource.schema, resource.name);
        kinds.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    };
    Ok(views(&standard.model, Dialect::of(url), names, &kind))
}
