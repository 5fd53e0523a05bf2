//! What callers of one API notice when another one's upstream never answers, how exactly that one's calls end, and
//! how fast a call is refused whose upstreams are all gone.

use std::net::TcpListener;
use std::path::Path;

use serde_json::json;

use crate::bench::echo::Echo;
use crate::bench::figures::Figures;
use crate::bench::files::{text, write};
use crate::bench::load::{LabLoad, Scenario};
use crate::bench::options::Options;
use crate::bench::server::{Build, Client, Server};
use crate::house::Done;

/// Ports of the API and of metrics.
const PORTS: [u16; 2] = [18_089, 18_099];
/// Calls a second of the API with a good upstream, of that with a silent one, and of that without any.
const GOOD: u32 = 1_000;
const SILENT: u32 = 50;
const GONE: u32 = 500;
/// The time-out of each API.
const TIMEOUT_MS: f64 = 1_000.0;

/// A server with three APIs.
pub(super) struct Neighbours {
    server: Server,
    client: Client,
    _echo: Echo,
    /// It takes connections and answers nothing.
    _silent: TcpListener,
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
        let silent = listener()?;
        // Its port is free again at once.
        let gone = address(&listener()?)?;
        let echo = Echo::start(&["--body", "50B"])?;
        let upstreams = [("good", Echo::url()), ("silent", address(&silent)?), ("gone", gone)];
        let apis: Vec<String> = upstreams
            .iter()
            .map(|(name, url)| {
                format!(
                    "[[apis]]\nname = \"{name}\"\ncontext = \"{name}\"\nversion = \"v1\"\n\
                     upstream = [\"{}\"]\ntimeout = \"1s\"\n\n",
                    url.trim_end_matches('/')
                )
            })
            .collect();
        let (file, data) = (folder.join("neighbours.toml"), folder.join("neighbours"));
        write(&file, &apis.concat())?;
        let server = Server::start(&Build::present().beside(PORTS, None), &data, &[])?;
        server.build.run(&["gateway", "apply", text(&file), "--data-dir", text(&data)])?;
        let client = server.client(&["--apis", "*"])?;
        Ok(Self { server, client, _echo: echo, _silent: silent })
    }

    /// Measures the good API alone and beside the silent one, then that without upstreams.
    pub(super) fn measure(&self, options: &Options, figures: &mut Figures) -> Done {
        let alone = self.calls(options, "good", 200, GOOD)?;
        let [silent, beside] = std::thread::scope(|scope| {
            let silent = scope.spawn(|| self.calls(options, "silent", 504, SILENT));
            let beside = self.calls(options, "good", 200, GOOD);
            let silent = silent.join().map_err(|_| "the silent API's load failed".to_owned())?;
            Ok::<_, String>([silent?, beside?])
        })?;
        let gone = self.calls(options, "gone", 503, GONE)?;
        let good = format!("an API of {GOOD} calls/s");
        figures.push(&format!("{good}, p99 ms"), 2, alone.0);
        figures.push(&format!("{good} beside a silent upstream's {SILENT}, p99 ms"), 2, beside.0);
        figures.push(&format!("{good}, p99 beside : alone"), 2, beside.0 / alone.0);
        figures.push(
            "a silent upstream's 504, p99 ms after the time-out",
            1,
            silent.0 - TIMEOUT_MS,
        );
        figures.push("no upstream that answers: 503, p99 ms", 2, gone.0);
        let failed = alone.1 + beside.1 + silent.1 + gone.1;
        figures.push("calls that ended otherwise than expected", 0, failed);
        Ok(())
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
