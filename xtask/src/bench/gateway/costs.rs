//! What a call costs under other conditions than the cells': with a line in the log of requests, with ten thousand
//! tokens, over TLS, and where a part of this server answers in place of an upstream.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::side::{RIGHTS, Side, found};
use crate::bench::figures::{Bound, Figures, measure};
use crate::bench::files::{copy, text, write};
use crate::bench::load::{LabLoad, Scenario};
use crate::bench::options::Options;
use crate::bench::server::{Build, Client, Server};
use crate::bench::work::ASSESSMENT;
use crate::house::Done;

/// The cell in which they are measured.
const USERS: u32 = 100;
const SIZES: &[&str] = &["50B", "10KiB"];
/// The tokens of which each call takes the next.
const TOKENS: &str = "10000";
/// Ports of the API and of metrics.
const LOGGED: [u16; 2] = [18_086, 18_096];
const TLS: [u16; 2] = [18_087, 18_097];
const PART: [u16; 2] = [18_088, 18_098];
/// The part as it is published, and how its resources are reached there.
const PUBLISHED: &str = "\n[[apis]]\nname = \"ods\"\ncontext = \"ods\"\nversion = \"v3\"\npart = \"data\"\nplan = \"measured\"\n";
const PART_BASE: &str = "/data/v3";
const PUBLISHED_BASE: &str = "/apis/ods/v3";

/// Servers with such conditions.
pub(super) struct Costs {
    logged: (Server, Side<'static>),
    tls: (Server, Side<'static>),
    part: Server,
    /// A key for what the part has, and its reads: straight, and through a published API.
    client: Client,
    reads: [Scenario; 2],
    /// The certificate of the server with TLS.
    certificate: PathBuf,
}

impl Costs {
    /// Starts the servers. `apis` is the file of what the cells call, `district` what the part serves.
    pub(super) fn start(folder: &Path, apis: &Path, district: &Path) -> Result<Self, String> {
        let build = Build::present();

        let file = folder.join("requests.jsonl");
        let environment = [
            ("HOMEROOM_LOG__REQUESTS".to_owned(), "all".to_owned()),
            ("HOMEROOM_LOG__REQUESTS_FILE".to_owned(), text(&file).to_owned()),
        ];
        let logged =
            Server::start(&build.beside(LOGGED, None), &folder.join("logged"), &environment)?;
        let calls = side(&logged, apis, logged.url(""), &[])?;
        let logged = (logged, calls);

        let [data, copied] = ["part", "tls"].map(|name| folder.join(name));
        build.run(&["load", text(district), "--data-dir", text(&data)])?;
        copy(&data, &copied)?;
        let published = folder.join("part.toml");
        let read = std::fs::read_to_string(apis).map_err(|e| e.to_string())?;
        write(&published, &(read + PUBLISHED))?;
        let part = Server::start(&build.beside(PART, None), &data, &[])?;
        build.run(&["gateway", "apply", text(&published), "--data-dir", text(&data)])?;
        let client = part.client(&["--claim-set", "FullAccess", "--apis", "ods"])?;
        let path = ASSESSMENT.path.replacen(PART_BASE, PUBLISHED_BASE, 1);
        let reads =
            [ASSESSMENT.get("straight", &client)?, ASSESSMENT.get_at("through", &client, &path)?];

        let [certificate, configuration] = certified(folder)?;
        let tls = Server::start(&build.beside(TLS, Some(&configuration)), &copied, &[])?;
        let calls = side(&tls, apis, tls_url(), &["--ca", text(&certificate)])?;
        let tls = (tls, calls);
        Ok(Self { logged, tls, part, client, reads, certificate })
    }

    /// Measures each of them, and the plain call that it is compared with.
    pub(super) fn measure(
        &self,
        plain: &Side<'_>,
        folder: &Path,
        options: &Options,
        figures: &mut Figures,
    ) -> Done {
        let mut many = plain.clone();
        if let Side::Homeroom { more, .. } = &mut many {
            more.extend(["--token-count".to_owned(), TOKENS.to_owned()]);
        }
        let ways = [
            ("with a line in the log", &self.logged.1),
            ("with 10,000 tokens", &many),
            ("over TLS", &self.tls.1),
        ];
        for size in SIZES {
            let cell = format!("{size}, {USERS} users");
            for (name, way) in ways {
                let of = |side: &Side<'_>| {
                    side.measure(folder, "passthrough", size, USERS, options.seconds)
                };
                let (before, other) = (of(plain)?, of(way)?);
                found(figures, &cell, name, &other);
                let ratio = other.cpu_us / before.cpu_us;
                figures.push(&format!("{cell}: {name}, CPU : without"), 2, ratio);
            }
        }
        self.read(options, figures)
    }

    /// Measures reads of documents: straight, through a published API, and over TLS.
    fn read(&self, options: &Options, figures: &mut Figures) -> Done {
        let (seconds, folder) = (options.seconds, options.folder.as_path());
        let load = LabLoad { users: USERS, threads: 1, seconds, folder };
        let [straight, through] = &self.reads;
        let Side::Homeroom { key, secret, .. } = &self.tls.1 else { return Ok(()) };
        let (url, trust) = (self.part.url(""), ["--ca", text(&self.certificate)]);
        let plain = measure(&[self.part.pid()], || load.run(&url, straight, &self.client, 1))?;
        let published = measure(&[self.part.pid()], || load.run(&url, through, &self.client, 1))?;
        let over_tls = measure(&[self.tls.0.pid()], || {
            load.run_with(&tls_url(), straight, [key, secret], 1, &trust)
        })?;
        for (name, found) in
            [("straight", &plain), ("through a published API", &published), ("over TLS", &over_tls)]
        {
            let name = format!("GET by id, {name}");
            figures.load(&name, found);
            figures.push(&format!("{name}, CPU per request, µs"), 1, found.cpu_micros);
        }
        let ratio = published.cpu_micros / plain.cpu_micros;
        let name = "GET by id, CPU through a published API : straight";
        figures.require(name, 2, ratio, Bound::AtMost(1.25));
        let ratio = over_tls.cpu_micros / plain.cpu_micros;
        figures.push("GET by id, CPU over TLS : without", 2, ratio);
        let ratio = over_tls.run.rate / plain.run.rate;
        figures.require("GET by id, rate over TLS : without", 2, ratio, Bound::AtLeast(0.75));
        Ok(())
    }
}

/// Returns the URL of the server with TLS.
fn tls_url() -> String {
    format!("https://localhost:{}", TLS[0])
}

/// Makes a certificate for `localhost` and a configuration with it. Returns both files.
fn certified(folder: &Path) -> Result<[PathBuf; 2], String> {
    let [certificate, key, configuration] =
        ["api.pem", "api.key", "tls.toml"].map(|name| folder.join(name));
    let done = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        // An authority's certificate is none of a server.
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", text(&key)])
        .args(["-out", text(&certificate)])
        .output()
        .map_err(|error| format!("openssl: {error}"))?;
    if !done.status.success() {
        return Err(format!("openssl: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let files = [text(&certificate), text(&key)];
    let said = format!("[[server.tls]]\ncertificate = {:?}\nkey = {:?}\n", files[0], files[1]);
    write(&configuration, &said)?;
    Ok([certificate, configuration])
}

/// Publishes the APIs on a server and makes a key for them.
fn side(
    server: &Server,
    apis: &Path,
    target: String,
    more: &[&str],
) -> Result<Side<'static>, String> {
    server.build.run(&["gateway", "apply", text(apis), "--data-dir", text(&server.data)])?;
    let [key, secret] = server.key(&RIGHTS)?;
    let more = more.iter().map(|&argument| argument.to_owned()).collect();
    Ok(Side::Homeroom { target, process: server.pid().to_string(), key, secret, more })
}
