//! The published transactional test: its stages over every resource, then a search for the
//! capacity.

use std::path::Path;
use std::process::Command;

use super::files::text;
use super::options::Options;
use super::server::{BINARY, homeroom};
use super::server::{Build, Client, Server};
use crate::house::Done;

const SCENARIO: &str = "edfi-day-to-day";

/// Runs the stages and a search for the three levels on the same data, and prints both.
pub fn run(options: &Options, district: &Path) -> Done {
    let data = options.folder.join("published");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let server = Server::start(&Build::present(), &data, &options.environment)?;
    let client = server.client(&["--claim-set", "FullAccess"])?;
    let stages = options.folder.join("published.md");
    let page = options.folder.join("published.html");
    let files = ["--markdown", text(&stages), "--html", text(&page)];
    lab(&[&["run", "--published", "--seed", "1"], &files[..]].concat(), &server, &client)?;
    let table = std::fs::read_to_string(&stages).map_err(|e| e.to_string())?;
    // The second table is left out: it has a row for each of some thousand steps.
    println!("{}\n", table.split("\n**").next().unwrap_or_default());
    let levels = options.folder.join("capacity.html");
    // Another seed creates other documents.
    lab(&["capacity", "--seed", "2", "--html", text(&levels)], &server, &client)?;
    println!("Reports: {} and {}.", page.display(), levels.display());
    Ok(())
}

fn lab(arguments: &[&str], server: &Server, client: &Client) -> Done {
    let watch = format!("web={}", server.pid());
    let done = Command::new(BINARY)
        .arg("lab")
        .args(arguments)
        .args(["--target", &server.url(""), "--scenario", SCENARIO])
        .args(["--key", &client.key, "--watch", &watch, "--watch", "database=web"])
        .env("HOMEROOM_LAB_SECRET", &client.secret)
        .status()
        .map_err(|e| e.to_string())?;
    if done.success() { Ok(()) } else { Err(format!("lab {} failed", arguments.join(" "))) }
}
