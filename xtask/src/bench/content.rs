//! Measures the files of courses beside nginx, which serves the same ones from a folder: whole files, and ranges of
//! a video, in turns. What counts is the ratio of processor time per request.

use serde_json::{Value, json};

use super::figures::{Figures, measure};
use super::files::text;
use super::load::{LabLoad, Scenario};
use super::options::Options;
use super::server::{Build, Nginx, Server};
use crate::house::Done;

const CONTENT_PORT: u16 = 18_085;
/// How a film begins.
const FILM: &[u8] = b"\0\0\0\x20ftypisom";
const API: &str = "/learning/api/v2";
/// Bytes of a file that is read whole, of the video, and of the ranges of that.
const FILE: usize = 50_000;
const VIDEO: usize = 8 << 20;
const RANGE: usize = 64 << 10;

/// Measures each cell in each round.
pub fn run(options: &Options, table: &mut String) -> Done {
    let folder = std::fs::canonicalize(&options.folder).map_err(|e| e.to_string())?;
    let environment =
        [("HOMEROOM_SERVER__CONTENT_LISTEN".to_owned(), format!("127.0.0.1:{CONTENT_PORT}"))];
    let build = Build::present();
    let data = folder.join("content");
    let homeroom = Server::start(&build, &data, &environment)?;
    let client = homeroom.client(&["--scope", "learning"])?;
    let nginx = Nginx::start(&folder, "{}")?;
    let mut cells = vec![];
    for (name, bytes, range) in
        [("a file of 50 KB", FILE, None), ("64 KiB of a video", VIDEO, Some(RANGE))]
    {
        let course = format!("of-{bytes}");
        let file = folder.join(format!("{course}.mp4"));
        let rest = (FILM.len()..bytes).map(|at| at.to_le_bytes()[0]);
        let whole: Vec<u8> = FILM.iter().copied().chain(rest).collect();
        std::fs::write(&file, &whole).map_err(|e| e.to_string())?;
        std::fs::write(folder.join(format!("nginx/www/{course}.mp4")), &whole)
            .map_err(|e| e.to_string())?;
        build.run(&["course", "add", text(&file), "--id", &course, "--data-dir", text(&data)])?;
        let asked = json!({ "redirectOnExitUrl": "", "expiry": 86_400 });
        let link = client.answer("POST", &format!("{API}/courses/{course}/preview"), &asked)?;
        let link = link["launchLink"].as_str().ok_or("no launch link came")?.to_owned();
        let launch = link.rsplit('/').next().unwrap_or_default();
        let path = format!("/play/{launch}/content/medium.mp4");
        cells.push((
            name,
            step(&path, bytes, range),
            step(&format!("/{course}.mp4"), bytes, range),
        ));
    }
    let mut figures = Figures::default();
    let load = |target: &str, name: &str, step: &Value| {
        let mut scenario = Scenario::new(name);
        scenario.step(step.clone());
        let load =
            LabLoad { users: 32, threads: 1, seconds: options.seconds, folder: &options.folder };
        load.without_key(target, &scenario)
    };
    for _ in 0..options.rounds {
        for (name, ours, plain) in &cells {
            let bare = measure(&nginx.pids(), || load(&Nginx::url(""), "nginx", plain))?;
            let target = format!("http://127.0.0.1:{CONTENT_PORT}");
            let own = measure(&[homeroom.pid()], || load(&target, "content", ours))?;
            for (who, found) in [("nginx", &bare), ("Homeroom", &own)] {
                figures.load(&format!("{name}: {who}"), found);
                figures.push(&format!("{name}: {who}, CPU per request, µs"), 1, found.cpu_micros);
            }
            let ratio = own.cpu_micros / bare.cpu_micros;
            figures.push(&format!("{name}: CPU, Homeroom : nginx"), 2, ratio);
        }
    }
    figures.write(table);
    Ok(())
}

/// Returns the step that reads a file, or a range in the middle of it.
fn step(path: &str, bytes: usize, range: Option<usize>) -> Value {
    match range {
        None => json!({ "name": "whole", "path": path, "auth": false, "expect": 200 }),
        Some(length) => {
            let (first, last) = (bytes / 2, bytes / 2 + length - 1);
            let headers = json!({ "Range": format!("bytes={first}-{last}") });
            json!({ "name": "part", "path": path, "auth": false, "headers": headers, "expect": 206 })
        }
    }
}
