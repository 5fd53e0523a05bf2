//! Measures a million documents: load, start, memory, pages, counts, reads beside scans.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::figures::row;
use super::files::text;
use super::load::LabLoad;
use super::options::Options;
use super::server::homeroom;
use super::server::{Build, Client, Server};
use super::work::{ATTENDANCE, Made};
use crate::house::Done;

/// The number of scans that run at the same time.
const SCANS: usize = 4;

/// Runs the measurements one after the other.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let data = options.folder.join("large");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let file = options.folder.join("many/studentSchoolAttendanceEvents.jsonl");
    {
        let server = Server::start(&Build::present(), &data, &[])?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        Made::write_many(&ATTENDANCE.templates(&client)?, options.documents, &file)?;
    }
    let begun = Instant::now();
    homeroom(&["load", text(&file), "--data-dir", text(&data)])?;
    let rate = options.documents as f64 / begun.elapsed().as_secs_f64();
    row(table, "load of many documents (JSON lines), documents/s", &[rate], 0);
    let mut starts = vec![];
    for _ in 0..options.rounds {
        starts.push(Server::start(&Build::present(), &data, &[])?.seconds_to_ready * 1e3);
    }
    row(table, "start on them, ms to ready", &starts, 0);
    let server = Server::start(&Build::present(), &data, &[])?;
    let resident = server.resident_megabytes()?;
    row(table, "resident memory after that start, MB", &[resident], 0);
    let client = server.client(&["--claim-set", "FullAccess"])?;
    pages(options, &client, table)?;
    beside_scans(options, &server, &client, table)
}

fn pages(options: &Options, client: &Client, table: &mut String) -> Done {
    let path = ATTENDANCE.path;
    let depth = options.documents * 8 / 10;
    let cursor = client.last_fifth(path)?.ok_or("there is no fifth partition")?;
    let cursor = format!("{path}?pageToken={cursor}&pageSize=500");
    let offset = format!("{path}?offset={depth}&limit=500");
    let count = format!("{path}?limit=0&totalCount=true");
    for (what, path) in [
        ("page of 500 at 80 % depth by cursor, ms", cursor),
        ("page of 500 at 80 % depth by offset, ms", offset),
        ("exact total count of the resource, ms", count),
    ] {
        let mut times = vec![];
        for _ in 0..options.rounds * 10 {
            let begun = Instant::now();
            client.get(&path)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        row(table, what, &times, 2);
    }
    Ok(())
}

/// Measures reads by id, alone and while scans read all documents; each scan ends at its deadline.
fn beside_scans(options: &Options, server: &Server, client: &Client, table: &mut String) -> Done {
    let reads = ATTENDANCE.get("scan", client)?;
    let scan = format!("{}?attendanceEventReason=none%20has%20it", ATTENDANCE.path);
    let folder = &options.folder;
    let load = LabLoad { users: 16, threads: 1, seconds: options.seconds, folder };
    let get = || load.run(&server.url(""), &reads, client, 1);
    let (mut alone, mut beside, mut rates) = (vec![], vec![], vec![]);
    let scanned = AtomicU64::new(0);
    for _ in 0..options.rounds {
        alone.push(get()?.p99_ms);
        let is_over = AtomicBool::new(false);
        let run = std::thread::scope(|scope| {
            for _ in 0..SCANS {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // A 503 at the deadline is expected.
                        _ = client.get(&scan);
                        scanned.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let run = get();
            is_over.store(true, Ordering::Relaxed);
            run
        })?;
        beside.push(run.p99_ms);
        rates.push(run.rate);
    }
    row(table, "GET by id at 16 connections, p99 ms", &alone, 1);
    row(table, "GET by id at 16 connections beside four scans, p99 ms", &beside, 1);
    row(table, "GET by id at 16 connections beside four scans, requests/s", &rates, 0);
    println!("{} scans were answered meanwhile.\n", scanned.load(Ordering::Relaxed));
    Ok(())
}
