//! Measures the memory of connections that are kept and idle: a server in a process of its own, and
//! connections to it from several processes and loopback addresses, each of which has asked once.
//!
//! `cargo run --release -p homeroom-gateway --example idle_connections -- [CONNECTIONS] [--tls]`
//!
//! A process may need more open files than it has by default: `ulimit -n 20000`.
#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::error::Error;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_gateway::{FrontDoor, Identity, Limits, Listener, Metrics, Times, Tls};
use homeroom_http::{Guard, Route, handler, json_response};
use homeroom_testkit::once_more::{line, start};
use homeroom_testkit::{Folder, TestApp};
use http::{Method, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Connections of one client process.
const OF_ONE: usize = 5_000;
/// How long idle connections are left alone before they are measured.
const IDLE: Duration = Duration::from_secs(6);
/// Requests over one more connection, while the others are idle.
const ASKED: usize = 20_000;

type Failed = Box<dyn Error>;

/// A connection to the server.
trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    match arguments[..] {
        ["serve", certificate] => runtime.block_on(serve(certificate)),
        ["hold", address, from, count, certificate] => {
            runtime.block_on(hold(address.parse()?, from.parse()?, count.parse()?, certificate))
        }
        _ => {
            let count = arguments.iter().find_map(|argument| argument.parse().ok());
            let is_secure = arguments.contains(&"--tls");
            runtime.block_on(measure(count.unwrap_or(15_000), is_secure))
        }
    }
}

async fn measure(count: usize, is_secure: bool) -> Result<(), Failed> {
    let folder = Folder::new();
    let certificate = if is_secure {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        folder.write("key.pem", made.signing_key.serialize_pem());
        folder.write("own.pem", made.cert.pem()).display().to_string()
    } else {
        String::new()
    };
    let (mut server, mut said) = start(&["serve", &certificate])?;
    let address: SocketAddr = line(&mut said)?.parse()?;
    let before = resident(server.id());
    let alone = p99(address, &certificate).await?;
    let mut clients = vec![];
    for (number, begin) in (0..count).step_by(OF_ONE).enumerate() {
        let from = Ipv4Addr::new(127, 0, 1, u8::try_from(number + 1)?).to_string();
        let here = OF_ONE.min(count - begin).to_string();
        let arguments = ["hold", &address.to_string(), &from, &here, &certificate];
        let (client, mut said) = start(&arguments)?;
        line(&mut said)?;
        clients.push((client, said));
    }
    tokio::time::sleep(IDLE).await;
    let each = resident(server.id()).saturating_sub(before) as f64 / count as f64 / 1_024.0;
    let beside = p99(address, &certificate).await?;
    println!("| idle connections{} | {count} |", if is_secure { " within TLS" } else { "" });
    println!("|---|---|");
    println!("| memory of each, KiB | {each:.1} |");
    println!("| p99 of a GET without them, us | {alone} |");
    println!("| p99 of a GET beside them, us | {beside} |");
    for (mut client, said) in clients {
        drop((client.stdin.take(), said));
        client.wait()?;
    }
    drop(server.stdin.take());
    server.wait()?;
    Ok(())
}

/// Serves until the standard input ends.
async fn serve(certificate: &str) -> Result<(), Failed> {
    let app = TestApp::empty_on_each_store().await.swap_remove(0);
    let answer = handler(&(), |(), _| async { Ok(json_response(StatusCode::OK, "\"well\"")) });
    let routes = vec![Route::new(Method::GET, "/hello", Guard::Public, answer)];
    let limits = Limits { connections: 1 << 20, ..Limits::default() };
    let metrics = Arc::new(Metrics::new("0.0.0"));
    let door = Arc::new(FrontDoor::new(routes, Arc::clone(&app.access), metrics, limits)?);
    let mut listener = Listener::bind("127.0.0.1:0".parse()?)?;
    println!("{}", listener.address());
    if !certificate.is_empty() {
        let key = certificate.replace("own.pem", "key.pem").into();
        let identity = Identity { names: vec![], certificate: certificate.into(), key };
        listener = listener.with_tls(Tls::new(vec![identity], None)?);
    }
    let times = Times { header: Duration::from_mins(1), drain: Duration::from_secs(1) };
    listener.serve(door, told_to_end(), times).await;
    Ok(())
}

/// Keeps connections from one address, each of which has asked once, until the standard input ends.
async fn hold(
    address: SocketAddr,
    from: Ipv4Addr,
    count: usize,
    certificate: &str,
) -> Result<(), Failed> {
    let mut kept = vec![];
    for _ in 0..count {
        let mut stream = connect(address, from, certificate).await?;
        ask(&mut *stream).await?;
        kept.push(stream);
    }
    println!("{}", kept.len());
    told_to_end().await;
    Ok(())
}

async fn connect(
    address: SocketAddr,
    from: Ipv4Addr,
    certificate: &str,
) -> Result<Box<dyn Stream>, Failed> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    if certificate.is_empty() {
        return Ok(Box::new(stream));
    }
    let trust = homeroom_client::Trust::Bundle(std::fs::read(certificate)?);
    let config = trust.read(homeroom_client::Versions::Http1)?.ok_or("it trusts nobody")?;
    let connector = TlsConnector::from(config);
    Ok(Box::new(connector.connect("localhost".try_into()?, stream).await?))
}

async fn ask(stream: &mut dyn Stream) -> Result<(), Failed> {
    stream.write_all(b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n").await?;
    let mut answer = Vec::with_capacity(1_024);
    while !answer.ends_with(b"\"well\"") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err("the server has closed a connection".into());
        }
    }
    Ok(())
}

/// Returns the p99 of requests over one connection, in microseconds.
async fn p99(address: SocketAddr, certificate: &str) -> Result<u128, Failed> {
    let mut stream = connect(address, Ipv4Addr::LOCALHOST, certificate).await?;
    let mut times = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let begun = Instant::now();
        ask(&mut *stream).await?;
        times.push(begun.elapsed().as_micros());
    }
    times.sort_unstable();
    Ok(times[times.len() * 99 / 100])
}

/// Completes when the standard input ends.
async fn told_to_end() {
    _ = std::io::stdout().flush();
    let ended = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    _ = tokio::task::spawn_blocking(ended).await;
}

/// Returns the resident memory of a process in bytes.
fn resident(process: u32) -> usize {
    let state = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = state.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * 4_096
}
