//! What it costs to ask an upstream, on one core: by the client, and by the least code that could do it, which writes a
//! head, reads one by `httparse` and has none of the client's limits, time-outs and defences.
//!
//! ```text
//! cargo run --release -p homeroom-client --example exchange -- [ROUNDS]
//! ```
//!
//! Requests as a gateway passes them on, 50 at a time, over connections that stay open, to a server on a thread of its
//! own. Each round asks for half a second in each way, in turns. Printed is the processor time of the asking thread for
//! each request, with what the system takes for it, as the median, the least and the greatest of the rounds.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::cell::Cell;
use std::error::Error;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use homeroom_client::{Client, Pool, Request, Settings, Url};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Requests at a time.
const AT_A_TIME: usize = 50;
/// The time of one way in one round.
const TIME: Duration = Duration::from_millis(500);
/// Sizes of bodies, of requests and of answers.
const SIZES: [(&str, usize); 2] = [("50 B", 50), ("10 KiB", 10 << 10)];

type Failed = Box<dyn Error + Send + Sync>;

/// How requests are sent.
#[derive(Clone)]
enum Way {
    Client(Client, Url),
    Bare(SocketAddr),
}

fn main() -> Result<(), Failed> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
            tell.send(listener.local_addr().expect("an address")).expect("somebody listens");
            echo(listener).await;
        });
    });
    let address = told.recv()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("| body | by the client, µs | the least code, µs | the first : the second |");
    println!("|---|---:|---:|---:|");
    for (size, bytes) in SIZES {
        let pool = Pool {
            requests_per_origin: usize::MAX,
            requests: usize::MAX,
            idle_per_origin: AT_A_TIME,
            ..Pool::default()
        };
        let client = Client::new(Settings { pool, ..Settings::trusted(Duration::from_mins(1)) })?;
        let url = Url::parse(&format!("http://{address}/echo/1.0.0/things?a=b"))?;
        let ways = [Way::Client(client, url), Way::Bare(address)];
        let mut times = [vec![], vec![]];
        for round in 0..=rounds {
            for (way, times) in ways.iter().zip(&mut times) {
                let time = LocalSet::new().block_on(&runtime, measure(way, bytes))?;
                // In the first one, connections are opened.
                if round > 0 {
                    times.push(time);
                }
            }
        }
        let ratio = median(&mut times[0]) / median(&mut times[1]);
        let [client, bare] = times.map(|times| told_of(&times));
        println!("| {size} | {client} | {bare} | {ratio:.2} |");
    }
    Ok(())
}

/// Returns the microseconds of this thread for one request.
async fn measure(way: &Way, bytes: usize) -> Result<f64, Failed> {
    let body = Bytes::from(vec![b'x'; bytes]);
    let (until, done) = (Instant::now() + TIME, Rc::new(Cell::new(0_u32)));
    let before = spent()?;
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..AT_A_TIME {
        let (way, body, done) = (way.clone(), body.clone(), Rc::clone(&done));
        asking.spawn_local(async move {
            let headers = headers();
            let mut bare = match &way {
                Way::Client(..) => None,
                Way::Bare(address) => Some(Bare::open(*address).await?),
            };
            while Instant::now() < until {
                let answered = match (&way, &mut bare) {
                    (Way::Client(client, url), _) => ask(client, url, &headers, &body).await?,
                    (_, Some(bare)) => bare.ask(&headers, &body).await?,
                    (Way::Bare(_), None) => return Err("there is no connection".into()),
                };
                assert_eq!((answered.0, answered.2.len()), (StatusCode::OK, body.len()));
                done.set(done.get() + 1);
            }
            Ok::<_, Failed>(())
        });
    }
    while let Some(ended) = asking.join_next().await {
        ended??;
    }
    Ok((spent()? - before) / f64::from(done.get()) / 1e3)
}

type Answered = (StatusCode, HeaderMap, Bytes);

async fn ask(
    client: &Client,
    url: &Url,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answered, Failed> {
    let mut request = Request::post(url.clone(), body.clone());
    // A gateway keeps them for another attempt.
    request.headers = headers.clone();
    let answer = client.send(request).await?;
    let status = answer.status();
    let (headers, answer) = answer.into_parts();
    let whole = answer.at_hand(16 << 10).await;
    Ok((status, headers, whole.map_err(|_| "it did not come at once")?))
}

/// A connection with as little around it as can be.
struct Bare {
    stream: TcpStream,
    head: Vec<u8>,
    read: BytesMut,
}

impl Bare {
    async fn open(address: SocketAddr) -> Result<Self, Failed> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, head: vec![], read: BytesMut::new() })
    }

    async fn ask(&mut self, headers: &HeaderMap, body: &Bytes) -> Result<Answered, Failed> {
        self.head.clear();
        for part in [Method::POST.as_str(), " /echo/1.0.0/things?a=b HTTP/1.1\r\nhost: a\r\n"] {
            self.head.extend_from_slice(part.as_bytes());
        }
        for (name, value) in headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                self.head.extend_from_slice(part);
            }
        }
        let length = format!("content-length: {}\r\n\r\n", body.len());
        self.head.extend_from_slice(length.as_bytes());
        let parts = [IoSlice::new(&self.head), IoSlice::new(body)];
        let sent = self.stream.write_vectored(&parts).await?;
        if let Some(rest) = body.len().checked_sub(sent.saturating_sub(self.head.len())) {
            self.stream.write_all(&body[body.len() - rest..]).await?;
        }
        loop {
            self.read.reserve(16 << 10);
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err("the server has closed a connection".into());
            }
            let Some((status, ends, length)) = self.ends()? else { continue };
            if self.read.len() < ends + length {
                continue;
            }
            let head = self.read.split_to(ends).freeze();
            return Ok((status, fields(&head)?, self.read.split_to(length).freeze()));
        }
    }

    /// Returns the status, where the head ends, and how long the body is.
    fn ends(&self) -> Result<Option<(StatusCode, usize, usize)>, Failed> {
        let mut room = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut room);
        let httparse::Status::Complete(ends) = head.parse(&self.read)? else { return Ok(None) };
        let is_length =
            |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case("content-length");
        let length = head.headers.iter().find(is_length).ok_or("no length")?;
        let length = std::str::from_utf8(length.value)?.parse()?;
        Ok(Some((StatusCode::from_u16(head.code.unwrap_or(0))?, ends, length)))
    }
}

/// Returns the headers of a head, whose values are parts of it.
fn fields(head: &Bytes) -> Result<HeaderMap, Failed> {
    let mut room = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut room);
    parsed.parse(head)?;
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for field in parsed.headers.iter() {
        let value = HeaderValue::from_maybe_shared(head.slice_ref(field.value))?;
        headers.append(HeaderName::from_bytes(field.name.as_bytes())?, value);
    }
    Ok(headers)
}

/// The headers of a request that is passed on.
fn headers() -> HeaderMap {
    let fields = [
        ("accept", "application/json"),
        ("accept-encoding", "gzip, deflate, br"),
        ("content-type", "application/json"),
        ("user-agent", "somebody/1.0"),
        ("forwarded", "for=127.0.0.1;host=\"127.0.0.1:8080\";proto=http"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "127.0.0.1:8080"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-prefix", "/apis/echo/1.0.0"),
        ("traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00"),
        ("via", "1.1 homeroom"),
    ];
    let field = |(name, value): (&'static str, &str)| {
        let value = HeaderValue::from_str(value).expect("a header");
        (HeaderName::from_static(name), value)
    };
    fields.into_iter().map(field).collect()
}

/// Answers every request with its body.
async fn echo(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            _ = stream.set_nodelay(true);
            let mut read = BytesMut::new();
            loop {
                read.reserve(16 << 10);
                if stream.read_buf(&mut read).await.is_ok_and(|bytes| bytes == 0) {
                    return;
                }
                let Some(ends) = read.windows(4).position(|end| end == b"\r\n\r\n") else {
                    continue;
                };
                let head = String::from_utf8_lossy(&read[..ends]).into_owned();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
                if read.len() < ends + 4 + length {
                    continue;
                }
                let body = read.split().freeze().slice(ends + 4..);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nserver: echo\r\n\
                     date: Thu, 26 Nov 2026 18:00:00 GMT\r\ncontent-length: {length}\r\n\r\n"
                );
                if stream.write_all(&[head.as_bytes(), &body].concat()).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Returns the nanoseconds that this thread has spent on a processor.
fn spent() -> Result<f64, Failed> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// Returns the median of values, which are sorted by that.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns sorted values as median, least and greatest.
fn told_of(sorted: &[f64]) -> String {
    let (least, greatest) = (sorted[0], sorted[sorted.len() - 1]);
    format!("{:.2} ({least:.2} – {greatest:.2})", sorted[sorted.len() / 2])
}
