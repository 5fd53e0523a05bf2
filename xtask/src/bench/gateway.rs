//! Measures published APIs beside nginx's bare keep-alive proxy: `homeroom lab gateway` sends the
//! published messages to both, cell by cell in turns, to the same back end.
//!
//! Homeroom checks a token, counts the calls of its plan and of its metrics, and forwards; nginx only
//! forwards. What counts is the ratio of processor time per request. What the log of requests, ten thousand
//! tokens, TLS and a part of this server in place of an upstream make of it, and what a silent upstream makes of
//! another API's calls, is measured in the same rounds.

mod costs;
mod neighbours;
mod side;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::figures::{Bound, Figures};
use super::files::{text, write};
use super::options::Options;
use super::server::{Build, Server, exchange, wait};
use crate::house::Done;
use costs::Costs;
use neighbours::Neighbours;
use side::{BACK_END, NGINX_PORT, RIGHTS, Side, found};

const USERS: &[u32] = &[100, 500];
/// Sizes of messages.
const SIZES: &[&str] = &["50B", "1KiB", "10KiB", "100KiB"];

const APIS: &str = r#"
[[plans]]
name = "measured"
requests_per_second = 1000000
burst = 1000000

[[apis]]
name = "echo"
context = "echo"
version = "1.0.0"
upstream = ["http://127.0.0.1:18083"]
plan = "measured"
timeout = "60s"
max_body = "1MiB"

[[apis]]
name = "mediation"
context = "mediation"
version = "1.0.0"
upstream = ["http://127.0.0.1:18083"]
plan = "measured"
timeout = "60s"
max_body = "1MiB"
transform = { request = [
    { op = "rename", path = "/size", to = "length" },
    { op = "rename", path = "/payload", to = "content" },
] }
"#;

/// Measures each cell in each round.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = std::fs::canonicalize(&options.folder).map_err(|e| e.to_string())?;
    let (data, apis) = (folder.join("gateway"), folder.join("apis.toml"));
    write(&apis, APIS)?;
    // The lab draws from these where nobody looks at them.
    let tokens = folder.join("tokens");
    write(&tokens, "none\n")?;
    let build = Build::present();
    let server = Server::start(&build, &data, &[])?;
    build.run(&["gateway", "apply", text(&apis), "--data-dir", text(&data)])?;
    let [key, secret] = server.key(&RIGHTS)?;
    let proxy = Proxy::start(&folder)?;
    let costs = Costs::start(&folder, &apis, district)?;
    let neighbours = Neighbours::start(&folder)?;
    let mut figures = Figures::default();
    let (target, process) = (server.url(""), server.pid().to_string());
    let homeroom = Side::Homeroom { target, process, key, secret, more: vec![] };
    let nginx = Side::Nginx { process: proxy.0.id().to_string(), tokens: &tokens };
    // What is measured is told, whatever fails after it.
    let done = (0..options.rounds).try_for_each(|_| {
        cells(&nginx, &homeroom, &folder, options, &mut figures)?;
        costs.measure(&homeroom, &folder, options, &mut figures)?;
        neighbours.measure(options, &mut figures)
    });
    drop(proxy);
    let judged = figures.judge(table);
    done.and(judged)
}

/// Measures each cell once.
fn cells(
    nginx: &Side<'_>,
    homeroom: &Side<'_>,
    folder: &Path,
    options: &Options,
    figures: &mut Figures,
) -> Done {
    for users in USERS {
        for size in SIZES {
            let cell = format!("{size}, {users} users");
            let seconds = options.seconds;
            let bare = nginx.measure(folder, "passthrough", size, *users, seconds)?;
            let passed = homeroom.measure(folder, "passthrough", size, *users, seconds)?;
            let changed = homeroom.measure(folder, "transformation", size, *users, seconds)?;
            found(figures, &cell, "nginx", &bare);
            found(figures, &cell, "passed through", &passed);
            found(figures, &cell, "transformed", &changed);
            let name = format!("{cell}: passed through, CPU : nginx's");
            let ratio = passed.cpu_us / bare.cpu_us;
            match *size {
                "50B" | "10KiB" => figures.require(&name, 2, ratio, Bound::AtMost(1.4)),
                _ => figures.push(&name, 2, ratio),
            }
            let name = format!("{cell}: transformed, CPU : passed through");
            figures.require(&name, 2, changed.cpu_us / passed.cpu_us, Bound::AtMost(1.5));
        }
    }
    Ok(())
}

/// An nginx that passes everything on to the back end.
struct Proxy(Child);

impl Proxy {
    fn start(folder: &Path) -> Result<Self, String> {
        let folder = folder.join("proxy");
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let place = folder.display();
        let configuration = format!(
            "worker_processes 2; daemon off; pid {place}/pid; error_log {place}/error.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 1000000000;\n\
             client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;\n\
             fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi;\n\
             scgi_temp_path {place}/scgi; client_body_buffer_size 256k; proxy_buffers 8 64k;\n\
             client_max_body_size 2m;\n\
             upstream back {{ server {BACK_END}; keepalive 512; keepalive_requests 1000000000; }}\n\
             server {{ listen 127.0.0.1:{NGINX_PORT}; location / {{ proxy_pass http://back;\n\
             proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
        );
        let file = folder.join("nginx.conf");
        write(&file, &configuration)?;
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("nginx: {error}; install the package nginx-light"))?;
        let proxy = Self(child);
        // The back end is not there yet, so any answer will do.
        let is_there = || exchange(NGINX_PORT, "GET", "/", &[], "").is_ok();
        if wait(Duration::from_secs(10), is_there) {
            Ok(proxy)
        } else {
            Err("nginx did not start".into())
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        _ = Command::new("kill").arg(self.0.id().to_string()).status();
        _ = self.0.wait();
    }
}
