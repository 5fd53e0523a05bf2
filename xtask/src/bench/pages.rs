//! Compares page sizes of a store: single writes and loads for each size, interleaved.

use std::path::Path;
use std::time::Instant;

use super::figures::row;
use super::files::{lines, text};
use super::load::LabLoad;
use super::options::Options;
use super::server::homeroom_with;
use super::server::{Build, Server};
use super::work::ATTENDANCE;
use crate::house::Done;

const SIZES: [&str; 4] = ["2048", "4096", "8192", "16384"];
/// The environment variable with the page size of new stores.
const PAGE_BYTES: &str = "HOMEROOM_STORE__PAGE_BYTES";

/// Measures each size in each round.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let documents = lines(district)?;
    let mut loads = SIZES.map(|_| vec![]);
    let mut creates = SIZES.map(|_| vec![]);
    let mut megabytes = SIZES.map(|_| vec![]);
    for _ in 0..options.rounds {
        for (at, size) in SIZES.iter().enumerate() {
            let data = options.folder.join("pages");
            _ = std::fs::remove_dir_all(&data);
            let begun = Instant::now();
            let arguments = ["load", text(district), "--data-dir", text(&data)];
            homeroom_with(&arguments, &[(PAGE_BYTES, size)])?;
            loads[at].push(documents as f64 / begun.elapsed().as_secs_f64());
            let server = Server::start(&Build::present(), &data, &[])?;
            let client = server.client(&["--claim-set", "FullAccess"])?;
            let scenario = ATTENDANCE.create("create", &client)?;
            let folder = &options.folder;
            let load = LabLoad { users: 64, threads: 2, seconds: options.seconds, folder };
            creates[at].push(load.run(&server.url(""), &scenario, &client, 1_000)?.rate);
            drop(server);
            let file = std::fs::metadata(data.join("homeroom.db")).map_err(|e| e.to_string())?;
            megabytes[at].push(file.len() as f64 / 1e6);
        }
    }
    for (at, size) in SIZES.iter().enumerate() {
        row(table, &format!("pages of {size} bytes: load, documents/s"), &loads[at], 0);
        row(table, &format!("pages of {size} bytes: durable creates/s"), &creates[at], 0);
        row(table, &format!("pages of {size} bytes: file after both, MB"), &megabytes[at], 1);
    }
    Ok(())
}
