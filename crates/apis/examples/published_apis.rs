//! Measures what many published APIs cost: time until they are served and memory of a server that starts, how fast
//! one client changes them one by one, and what 50 changes a second do to calls. Each API has an OpenAPI document of
//! its own; every tenth is open, and is called.
//!
//! `cargo run --release -p homeroom-apis --example published_apis -- [APIS] [OPERATIONS] [postgres://…]`
#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use homeroom_apis::{Apis, Definition, Published, routes};
use homeroom_gateway::{FrontDoor, Limits, Listener, Metrics, Times};
use homeroom_http::Timestamp;
use homeroom_store::{Options, Store};
use homeroom_testkit::once_more::{line, start};
use homeroom_testkit::{Folder, TestApp, USUAL};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Calls a second, over so many connections.
const CALLS: u32 = 1_000;
const CONNECTIONS: u32 = 10;
/// Changes a second while calls run.
const CHANGES: u32 = 50;
/// How long calls run without changes, and then with them, in each round.
const SLICE: Duration = Duration::from_secs(5);
const ROUNDS: usize = 5;
/// How long one client changes APIs as fast as it can.
const HURRY: Duration = Duration::from_secs(5);
/// Every API of such a number is open.
const OPEN: usize = 10;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    if let [serve, url] = &arguments[..]
        && serve == "serve"
    {
        return runtime.block_on(serve_all(url));
    }
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (apis, operations): (usize, usize) = (number(0, 10_000)?, number(1, 10)?);
    let folder = Folder::new();
    let own = format!("sqlite:{}", folder.path().join("homeroom.db").display());
    let url = arguments.get(2).unwrap_or(&own);
    runtime.block_on(measure(apis, operations, url))
}

async fn measure(apis: usize, operations: usize, url: &str) -> Result<(), Failed> {
    let upstream = TcpListener::bind("127.0.0.1:0").await?;
    let to = upstream.local_addr()?;
    tokio::spawn(answer_all(upstream));
    println!("| APIs of {operations} operations | {apis} |");
    println!("|---|---|");
    {
        let store = Store::open(&Options::new(url.parse()?))?;
        let begun = Instant::now();
        Apis::new(store).apply(published(apis, operations, to)?).await?;
        println!("| all published at once, s | {:.2} |", begun.elapsed().as_secs_f64());
    }
    let (mut server, mut said) = start(&["serve", url])?;
    let (address, token) = loop {
        let line = line(&mut said)?;
        match line.split_once(' ') {
            Some((address, token)) if !line.starts_with('|') => {
                break (address.parse::<SocketAddr>()?, token.to_owned());
            }
            _ => println!("{line}"),
        }
    };
    let turn = AtomicUsize::new(0);
    let editor = Editor { address, token, apis, operations, upstream: to, turn };

    let hurry = Instant::now();
    let fast = editor.change(None, &|| hurry.elapsed() >= HURRY).await?;
    println!("| changes a second of one client | {:.0} |", fast.len() as f64 / HURRY.as_secs_f64());
    println!("| p50 and p99 of a change, ms | {:.1}, {:.1} |", at(&fast, 50), at(&fast, 99));

    let (mut alone, mut beside, mut slow) = (vec![], vec![], vec![]);
    let (mut failed, mut calls, mut longest) = (0, 0, [0.0_f64; 2]);
    for _ in 0..ROUNDS {
        for changes in [false, true] {
            let is_over = AtomicBool::new(!changes);
            let may_end = || is_over.load(Ordering::Relaxed);
            let changing = editor.change(Some(CHANGES), &may_end);
            let calling = async {
                let called = call_all(address, apis).await;
                is_over.store(true, Ordering::Relaxed);
                called
            };
            let (called, changed) = tokio::join!(calling, changing);
            let ((times, broken), changed) = (called?, changed?);
            failed += broken;
            calls += times.len();
            let so_far = &mut longest[usize::from(changes)];
            *so_far = so_far.max(at(&times, 100));
            if changes { &mut beside } else { &mut alone }.push(at(&times, 99));
            slow.extend(changed);
        }
    }
    slow.sort_unstable();
    let per_second = slow.len() as f64 / (SLICE.as_secs_f64() * ROUNDS as f64);
    println!("| calls, at {CALLS} a second | {calls} |");
    println!("| failed calls | {failed} |");
    println!("| p99 of a call, ms, median of {ROUNDS} rounds | {} |", spread(&mut alone));
    println!("| the same beside {per_second:.0} changes a second | {} |", spread(&mut beside));
    println!(
        "| longest call without and with changes, ms | {:.1}, {:.1} |",
        longest[0], longest[1]
    );
    println!(
        "| p50 and p99 of a change meanwhile, ms | {:.1}, {:.1} |",
        at(&slow, 50),
        at(&slow, 99)
    );
    println!("| memory of the process at the end, MiB | {} |", resident(server.id()) >> 20);
    drop(server.stdin.take());
    server.wait()?;
    Ok(())
}

/// Somebody who changes APIs.
struct Editor {
    address: SocketAddr,
    token: String,
    apis: usize,
    operations: usize,
    upstream: SocketAddr,
    /// Numbers the changes, so that each is one.
    turn: AtomicUsize,
}

impl Editor {
    /// Changes one API after the other, so many a second or as fast as it can. Returns how long each change took.
    async fn change(
        &self,
        rate: Option<u32>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<u64>, Failed> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut times = vec![];
        let begun = Instant::now();
        for turn in 1.. {
            if let Some(rate) = rate {
                let due = begun + Duration::from_secs(1) * turn / rate;
                tokio::time::sleep_until(due.into()).await;
            }
            if is_over() {
                break;
            }
            let change = self.turn.fetch_add(1, Ordering::Relaxed);
            let number = change * 7_919 % self.apis;
            let mut api = api(number, self.upstream);
            let document = document(&format!("api{number}"), self.operations);
            api["openapi"] = serde_json::from_str(&document)?;
            api["timeout"] = format!("{}ms", 10_000 + change).into();
            let body = api.to_string();
            let head = format!(
                "PUT /adminapi/gateway/v1/apis/api{number} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                self.token,
                body.len()
            );
            let sent = Instant::now();
            let status = ask(&mut stream, &format!("{head}{body}")).await?;
            if status != 200 {
                return Err(format!("a change was answered with {status}").into());
            }
            times.push(u64::try_from(sent.elapsed().as_micros())?);
        }
        times.sort_unstable();
        Ok(times)
    }
}

/// Calls open APIs at a constant rate. Returns how long each call took from the moment at which it was due, and
/// how many have failed.
async fn call_all(address: SocketAddr, apis: usize) -> Result<(Vec<u64>, usize), Failed> {
    let failed = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now() + Duration::from_millis(20);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..CONNECTIONS {
        let failed = Arc::clone(&failed);
        callers.spawn(async move {
            let mut stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let mut times = vec![];
            for turn in 0.. {
                let due = begun + Duration::from_secs(1) * (turn * CONNECTIONS + caller) / CALLS;
                if due >= begun + SLICE {
                    break;
                }
                tokio::time::sleep_until(due.into()).await;
                let number = (turn * CONNECTIONS + caller) as usize * 7_919 % apis / OPEN * OPEN;
                let request =
                    format!("GET /apis/api{number}/v1/things1/7 HTTP/1.1\r\nhost: a\r\n\r\n");
                if ask(&mut stream, &request).await.is_ok_and(|status| status == 200) {
                    times.push(u64::try_from(due.elapsed().as_micros())?);
                } else {
                    failed.fetch_add(1, Ordering::Relaxed);
                    stream = TcpStream::connect(address).await?;
                }
            }
            Ok::<_, Failed>(times)
        });
    }
    let mut all = vec![];
    while let Some(times) = callers.join_next().await {
        all.extend(times??);
    }
    all.sort_unstable();
    Ok((all, failed.load(Ordering::Relaxed)))
}

/// Sends a request and reads its answer. Returns its status.
async fn ask(stream: &mut TcpStream, request: &str) -> Result<u16, Failed> {
    stream.write_all(request.as_bytes()).await?;
    let mut answer = vec![];
    loop {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err("the server has closed a connection".into());
        }
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        if body.len() >= length.unwrap_or("0").trim().parse()? {
            return Ok(head.split(' ').nth(1).unwrap_or("").parse()?);
        }
    }
}

/// Answers everything, as an upstream.
async fn answer_all(listener: TcpListener) -> Result<(), std::io::Error> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let mut asked = vec![];
            while stream.read_buf(&mut asked).await.is_ok_and(|read| read > 0) {
                if asked.ends_with(b"\r\n\r\n") {
                    asked.clear();
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            }
        });
    }
}

/// Serves what a store has, in a process that did nothing else, until the standard input ends.
async fn serve_all(url: &str) -> Result<(), Failed> {
    let store = Store::open(&Options::new(url.parse()?))?;
    let app = TestApp::on("store", USUAL, store.clone()).await;
    let apis = Arc::new(Apis::new(store));
    let metrics = Arc::new(Metrics::new("0.0.0"));
    let own = routes(&apis, &app.access);
    let door = FrontDoor::new(own, Arc::clone(&app.access), metrics, Limits::default())?;
    let door = Arc::new(door);
    let before = resident(std::process::id());
    let begun = Instant::now();
    apis.serve_at(&door, Timestamp::now()).await?;
    println!("| ready after, s | {:.2} |", begun.elapsed().as_secs_f64());
    println!("| memory of the process before, MiB | {} |", before >> 20);
    println!("| memory of the process then, MiB | {} |", resident(std::process::id()) >> 20);
    println!("| APIs that are served | {} |", door.live().len());
    let (key, secret) = app.key_for(None, &["admin"]).await;
    let answer = app.ask_token("/adminapi/connect/token", &key, &secret, "").await.json();
    let listener = Listener::bind("127.0.0.1:0".parse()?)?;
    println!("{} {}", listener.address(), answer["access_token"].as_str().unwrap_or_default());
    std::io::stdout().flush()?;
    let times = Times { header: Duration::from_mins(1), drain: Duration::from_secs(1) };
    let ended = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let told_to_end = async { _ = tokio::task::spawn_blocking(ended).await };
    listener.serve(door, told_to_end, times).await;
    Ok(())
}

fn published(apis: usize, operations: usize, upstream: SocketAddr) -> Result<Published, Failed> {
    let (mut all, mut documents) = (vec![], BTreeMap::new());
    for number in 0..apis {
        all.push(api(number, upstream));
        let name = format!("api{number}");
        documents.insert(format!("{name}.json"), document(&name, operations));
    }
    let definition: Definition = serde_json::from_value(json!({"apis": all}))?;
    Ok(Published { definition, documents })
}

fn api(number: usize, upstream: SocketAddr) -> Value {
    let name = format!("api{number}");
    let (security, upstream) = if number.is_multiple_of(OPEN) {
        ("none", upstream.to_string())
    } else {
        ("oauth2", format!("10.0.0.1:{}", 1 + number % 60_000))
    };
    json!({"name": name, "context": name, "version": "v1", "security": security,
        "upstream": [format!("http://{upstream}")], "openapi": format!("{name}.json"),
        "scopes": [format!("{name}.read")]})
}

fn document(name: &str, operations: usize) -> String {
    let operation = |verb: &str, scope: &str| {
        json!({"summary": format!("{verb} one of the things of {name}"),
            "security": [{"o": [format!("{name}.{scope}")]}],
            "parameters": [{"name": "id", "in": "path", "required": true}],
            "responses": {"200": {"description": "It is there."}, "404": {"description": "It is not."}}})
    };
    let paths: Map<String, Value> = (0..operations.div_ceil(2))
        .map(|number| {
            let both =
                json!({"get": operation("Reads", "read"), "put": operation("Writes", "write")});
            (format!("/things{number}/{{id}}"), both)
        })
        .collect();
    let info = json!({"title": name, "version": "1"});
    json!({"openapi": "3.0.3", "info": info, "paths": paths}).to_string()
}

/// Returns a percentile of sorted times, in milliseconds.
fn at(times: &[u64], percent: usize) -> f64 {
    let last = times.len().saturating_sub(1);
    times.get(last.min(times.len() * percent / 100)).map_or(0.0, |time| *time as f64 / 1e3)
}

/// Returns the median, the least and the greatest.
fn spread(all: &mut [f64]) -> String {
    all.sort_unstable_by(f64::total_cmp);
    format!("{:.2} ({:.2} – {:.2})", all[all.len() / 2], all[0], all[all.len() - 1])
}

/// Returns the resident memory of a process in bytes.
fn resident(process: u32) -> usize {
    let state = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = state.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * 4_096
}
