//! What callers of one API notice when another one's upstream never answers, how exactly that one's calls end, and
//! how fast a call is refused whose upstreams are all gone.

use std::net::TcpListener;
use std::path::Path;

use serde_json::json;

use crate::bench::echo::Echo;
use crate::bench::figures::{Bound, Figures};
use crate::bench::files::{text, write};
use crate::bench::load::{LabLoad, Scenario};
use crate::bench::options::Options;
use crate::bench::server::{Build, Client, Server};
use crate::house::Done;

/// Ports of the API and of metrics.
const PORTS: [u16; 2] = [18_089, 18_099];
/// Calls a second of the API that is looked at, of the one beside it, and of that without any upstream.
const GOOD: u32 = 1_000;
const BESIDE: u32 = 50;
const GONE: u32 = 500;
/// The time-out of each API.
const TIMEOUT_MS: f64 = 1_000.0;

/// A server with four APIs: two with a good upstream, one with a silent one, one with none.
pub(super) struct Neighbours {
    server: Server,
    client: Client,
    _echo: Echo,
}

impl Neighbours {
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        let listener = || TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string());
        let address = |listener: &TcpListener| {
            listener
                .local_addr()
                .map(|address| format!("http://{address}"))
                .map_err(|e| e.to_string())
        };
        let taken = listener()?;
        let silent = address(&taken)?;
        // It takes connections, keeps them and answers nothing, as long as the bench runs.
        std::thread::spawn(move || taken.incoming().collect::<Vec<_>>());
        // Its port is free again at once.
        let gone = address(&listener()?)?;
        let echo = Echo::start(&["--body", "50B"])?;
        let upstreams =
            [("good", Echo::url()), ("other", Echo::url()), ("silent", silent), ("gone", gone)];
        let apis: Vec<String> = upstreams
            .iter()
            .map(|(name, url)| {
                format!(
                    "[[apis]]\nname = \"{name}\"\ncontext = \"{name}\"\nversion = \"v1\"\n\
                     upstream = [\"{}\"]\ntimeout = \"1s\"\n\
                     breaker = {{failures = 1000000}}\n\n",
                    url.trim_end_matches('/')
                )
            })
            .collect();
        let (file, data) = (folder.join("neighbours.toml"), folder.join("neighbours"));
        write(&file, &apis.concat())?;
        let server = Server::start(&Build::present().beside(PORTS, None), &data, &[])?;
        server.build.run(&["gateway", "apply", text(&file), "--data-dir", text(&data)])?;
        let client = server.client(&["--apis", "*"])?;
        Ok(Self { server, client, _echo: echo })
    }

    /// Measures the good API beside another good one and beside the silent one, then that without upstreams.
    pub(super) fn measure(&self, options: &Options, figures: &mut Figures) -> Done {
        let [_, alone] = self.beside(options, "other", 200)?;
        let [silent, beside] = self.beside(options, "silent", 504)?;
        let gone = self.calls(options, "gone", 503, GONE)?;
        let good = format!("an API of {GOOD} calls/s");
        figures.push(&format!("{good} beside another's {BESIDE}, p99 ms"), 2, alone.0);
        figures.push(&format!("{good} beside a silent upstream's {BESIDE}, p99 ms"), 2, beside.0);
        let name = format!("{good}, p99 beside a silent upstream : beside another");
        figures.require(&name, 2, beside.0 / alone.0, Bound::AtMost(1.1));
        let late = silent.0 - TIMEOUT_MS;
        figures.push("a silent upstream's 504, p99 ms after the time-out", 1, late);
        let name = "no upstream that answers: 503, p99 ms";
        figures.require(name, 2, gone.0, Bound::AtMost(10.0));
        let failed = alone.1 + beside.1 + silent.1 + gone.1;
        let name = "calls of them that ended otherwise than expected";
        figures.require(name, 0, failed, Bound::AtMost(0.0));
        Ok(())
    }

    /// Calls the good API beside another one. Returns what is told of that one and of the good one.
    fn beside(
        &self,
        options: &Options,
        other: &str,
        status: u16,
    ) -> Result<[(f64, f64); 2], String> {
        std::thread::scope(|scope| {
            let other = scope.spawn(move || self.calls(options, other, status, BESIDE));
            let good = self.calls(options, "good", 200, GOOD);
            let other = other.join().map_err(|_| "the load beside failed".to_owned())?;
            Ok([other?, good?])
        })
    }

    /// Calls an API at a rate. Returns the 99th percentile in milliseconds, and how many calls ended otherwise than
    /// expected.
    fn calls(
        &self,
        options: &Options,
        name: &str,
        status: u16,
        rate: u32,
    ) -> Result<(f64, f64), String> {
        // Loads that run at the same time write files of the same names.
        let folder = options.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let mut scenario = Scenario::new(name);
        let path = format!("/apis/{name}/v1/");
        scenario.step(json!({ "name": "call", "path": path, "expect": status }));
        let load = LabLoad { users: 0, threads: 1, seconds: options.seconds, folder: &folder };
        let run = load.at_rate(&self.server.url(""), &scenario, &self.client, rate)?;
        Ok((run.p99_ms, run.errors))
    }
}
