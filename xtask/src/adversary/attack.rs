//! The attacks: clients without a key and a greedy key, each in its own thread until the end.
//!
//! The rates are fixed, because the attacks share the processors of the server's machine. The
//! attacks show what a stranger can occupy, not how fast the machine is.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::frames;
use super::wire::Wire;
use crate::soak::load::PUBLISHED;

/// A large document that anybody may read.
const OPENAPI: &str = "/metadata/data/v3/resources/swagger.json";
const TOKEN: &str = "/oauth/token";
/// What an API without security publishes.
const OPEN_API: &str = "/apis/open/v1/data/v3/dependencies";
const STUDENTS: &str = "/data/v3/ed-fi/students";
/// The most streams that a connection opens.
const STREAMS: u32 = 256;

/// The target of the attacks.
pub struct Target<'a> {
    /// The address of the API.
    pub api: SocketAddr,
    /// Set when the attacks must end.
    pub over: &'a AtomicBool,
    /// The token of the greedy key.
    pub greedy: String,
}

/// An attack on a server.
pub struct Attack {
    /// Its name.
    pub name: &'static str,
    /// A description of what it does.
    pub does: &'static str,
    /// Runs it from an address until it must end. Returns how many times it acted.
    pub run: fn(&Target<'_>, IpAddr) -> u64,
}

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    Attack {
        name: "idle connections",
        does: "1,000 connections on which nothing is said, or nothing after one answer",
        run: |target, from| kept(target, &[from], 1_000, Duration::from_secs(2), idle, |_| true),
    },
    Attack {
        name: "slow headers",
        does: "200 connections that send a header byte by byte",
        run: |target, from| {
            let begin = |_| b"GET /livez HTTP/1.1\r\nhost: a\r\nx-a: ".to_vec();
            let pause = Duration::from_millis(500);
            kept(target, &[from], 200, pause, begin, |wire| wire.send(b"a"))
        },
    },
    Attack {
        name: "dripping bodies",
        does: "400 bodies of 8 MB for /oauth/token, declared and sent 16 KiB at a time",
        run: |target, from| {
            let begin = |_| head("POST", TOKEN, "content-length: 8000000\r\n");
            let piece = vec![b'a'; 16 << 10];
            let pause = Duration::from_millis(500);
            kept(target, &near(from), 400, pause, begin, move |wire| wire.send(&piece))
        },
    },
    Attack {
        name: "endless chunks",
        does: "100 chunked bodies for /oauth/token, and 25 for guarded routes, that never end",
        run: |target, from| {
            let token = format!("authorization: Bearer {}\r\n", target.greedy);
            let begin = move |number: usize| match number % 5 {
                0 => {
                    head("POST", STUDENTS, &format!("{token}{JSON}transfer-encoding: chunked\r\n"))
                }
                _ => head("POST", TOKEN, "transfer-encoding: chunked\r\n"),
            };
            let pause = Duration::from_millis(500);
            kept(target, &near(from), 125, pause, begin, |wire| wire.send(b"1\r\na\r\n"))
        },
    },
    Attack {
        name: "open streams",
        does: "64 HTTP/2 connections with 256 streams each for /oauth/token, without their bodies",
        run: |target, from| {
            let begin = |_| {
                let mut bytes = frames::begin(65_535);
                for stream in streams() {
                    let form = [("content-type", "application/x-www-form-urlencoded")];
                    bytes.extend(frames::request(stream, "POST", TOKEN, &form, false));
                }
                bytes
            };
            kept(target, &near(from), 64, Duration::from_secs(2), begin, |_| true)
        },
    },
    Attack {
        name: "open streams of a key",
        does: "16 HTTP/2 connections of the greedy key with 256 bodies each that do not come",
        run: |target, from| {
            let token = format!("Bearer {}", target.greedy);
            let begin = move |_| {
                let mut bytes = frames::begin(65_535);
                let more = [("authorization", &*token), ("content-type", "application/json")];
                for stream in streams() {
                    bytes.extend(frames::request(stream, "POST", STUDENTS, &more, false));
                }
                bytes
            };
            kept(target, &[from], 16, Duration::from_secs(2), begin, |_| true)
        },
    },
    Attack {
        name: "no window",
        does: "16 HTTP/2 connections that ask 64 times for the OpenAPI document and take none of it",
        run: |target, from| {
            let begin = |_| {
                let mut bytes = frames::begin(0);
                for stream in streams().take(64) {
                    bytes.extend(frames::request(stream, "GET", OPENAPI, &[], true));
                }
                bytes
            };
            kept(target, &near(from), 16, Duration::from_secs(2), begin, |_| true)
        },
    },
    Attack {
        name: "no window of a key",
        does: "8 HTTP/2 connections of the greedy key that ask for 64 pages and take none of them",
        run: |target, from| {
            let token = format!("Bearer {}", target.greedy);
            let page = format!("{STUDENTS}?limit=500");
            let begin = move |_| {
                let mut bytes = frames::begin(0);
                for stream in streams().take(64) {
                    let more = [("authorization", &*token)];
                    bytes.extend(frames::request(stream, "GET", &page, &more, true));
                }
                bytes
            };
            kept(target, &[from], 8, Duration::from_secs(2), begin, |_| true)
        },
    },
    Attack {
        name: "not reading",
        does: "32 HTTP/1.1 connections that ask 20 times for the OpenAPI document and read nothing",
        run: |target, from| {
            let begin = |_| head("GET", OPENAPI, "").repeat(20);
            kept(target, &near(from), 32, Duration::from_secs(2), begin, |_| true)
        },
    },
    Attack {
        name: "wrong secrets",
        does: "200 requests a second for a token with a wrong secret",
        run: |target, from| {
            let body = "grant_type=client_credentials&client_id=nobody&client_secret=wrong";
            let form = "content-type: application/x-www-form-urlencoded\r\n";
            let length = format!("{form}content-length: {}\r\n", body.len());
            let request = [head("POST", TOKEN, &length), body.as_bytes().to_vec()].concat();
            paced(target, from, 200.0, &request)
        },
    },
    Attack {
        name: "rapid resets",
        does: "2,000 streams a second that are reset as soon as they are opened",
        run: resets,
    },
    Attack {
        name: "large bodies",
        does: "2 documents of 5 MB a second by the greedy key, which are refused at their end",
        run: |target, from| {
            let body = format!("{{\"firstName\":\"{}\"}}", "a".repeat(5_000_000));
            let more = format!(
                "authorization: Bearer {}\r\n{JSON}content-length: {}\r\n",
                target.greedy,
                body.len()
            );
            let request = [head("POST", STUDENTS, &more), body.into_bytes()].concat();
            paced(target, from, 2.0, &request)
        },
    },
    Attack {
        name: "flood of a key",
        does: "1,000 pages of 25 a second by the greedy key",
        run: |target, from| {
            let more = format!("authorization: Bearer {}\r\n", target.greedy);
            paced(target, from, 1_000.0, &head("GET", &format!("{STUDENTS}?limit=25"), &more))
        },
    },
    Attack {
        name: "hanging up",
        does: "200 lists and 200 writes a second by the greedy key, who hangs up at once",
        run: |target, from| {
            let token = format!("authorization: Bearer {}\r\n", target.greedy);
            let list = head("GET", &format!("{STUDENTS}?firstName=Nobody&totalCount=true"), &token);
            left(target, from, 400.0, |number| {
                if number.is_multiple_of(2) {
                    return list.clone();
                }
                let body = format!("{{\"studentUniqueId\":\"gone-{number}\",{REST}}}");
                let more = format!("{token}{JSON}content-length: {}\r\n", body.len());
                [head("POST", STUDENTS, &more), body.into_bytes()].concat()
            })
        },
    },
    Attack {
        name: "flood of an open API",
        does: "1,000 calls a second of a published API without security, which allows an address 20",
        run: |target, from| paced(target, from, 1_000.0, &head("GET", OPEN_API, "")),
    },
    Attack {
        name: "dripping bodies for an API",
        does: "100 chunked bodies of the greedy key for a published API, that never end",
        run: |target, from| {
            let token = format!("authorization: Bearer {}\r\n", target.greedy);
            let students = STUDENTS.replace("/data/v3", PUBLISHED);
            let begin = move |_| {
                let more = format!("{token}{JSON}transfer-encoding: chunked\r\n");
                head("POST", &students, &more)
            };
            let pause = Duration::from_millis(500);
            kept(target, &near(from), 100, pause, begin, |wire| wire.send(b"1\r\na\r\n"))
        },
    },
    Attack {
        name: "made-up tokens for an API",
        does: "200 calls a second of a published API with tokens that nobody has issued",
        run: |target, from| {
            let token = "authorization: Bearer eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJ4In0.AAAA\r\n";
            let path = format!("{PUBLISHED}/ed-fi/schools");
            paced(target, from, 200.0, &head("GET", &path, token))
        },
    },
    Attack {
        name: "new hosts",
        does: "200 connections that ask other hosts for the OpenAPI document and read nothing",
        run: |target, from| {
            let hosts = AtomicU64::new(0);
            let begin = |_| {
                let host = hosts.fetch_add(1, Ordering::Relaxed);
                let request = format!("GET {OPENAPI} HTTP/1.1\r\nhost: h{host}.example\r\n\r\n");
                request.repeat(4).into_bytes()
            };
            kept(target, &near(from), 200, Duration::from_secs(2), begin, |_| true)
        },
    },
];

/// The members of a student except its number.
const REST: &str = "\"firstName\":\"Ada\",\"lastSurname\":\"Quill\",\"birthDate\":\"2012-05-17\"";
const JSON: &str = "content-type: application/json\r\n";

fn head(method: &str, path: &str, more: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: adversary\r\n{more}\r\n").into_bytes()
}

fn streams() -> impl Iterator<Item = u32> {
    (0..STREAMS).map(|number| 2 * number + 1)
}

/// Returns the first bytes of an idle connection; most connections never send any.
fn idle(number: usize) -> Vec<u8> {
    if number.is_multiple_of(3) { head("GET", "/livez", "") } else { vec![] }
}

/// Returns eight addresses of strangers.
fn near(from: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V4(four) = from else { return vec![from] };
    let [a, b, _, d] = four.octets();
    (0..8).map(|c| IpAddr::V4(Ipv4Addr::new(a, b, 2 + c, d))).collect()
}

/// Keeps `count` connections open. Each begins with some bytes, does a step after every pause, and
/// is replaced when the server has closed it. Returns how many connections were opened.
fn kept(
    target: &Target<'_>,
    from: &[IpAddr],
    count: usize,
    pause: Duration,
    begin: impl Fn(usize) -> Vec<u8>,
    step: impl Fn(&mut Wire) -> bool,
) -> u64 {
    let mut wires: Vec<Option<Wire>> = (0..count).map(|_| None).collect();
    let mut opened = 0;
    while !target.over.load(Ordering::Acquire) {
        let round = Instant::now();
        for (number, place) in wires.iter_mut().enumerate() {
            if target.over.load(Ordering::Acquire) {
                break;
            }
            // A client that reads nothing learns only by writing that its connection was closed.
            let is_there = place.as_mut().is_some_and(|wire| step(wire) && wire.is_open());
            if !is_there {
                *place = Wire::open(from[number % from.len()], target.api);
                opened += u64::from(place.is_some());
                if let Some(wire) = place {
                    wire.send(&begin(number));
                }
            }
        }
        std::thread::sleep(pause.saturating_sub(round.elapsed()));
    }
    opened
}

/// Sends a request at a fixed rate over kept connections, whether or not answers come. Returns how
/// many were sent.
fn paced(target: &Target<'_>, from: IpAddr, rate: f64, request: &[u8]) -> u64 {
    const WIRES: usize = 16;
    let mut wires: Vec<Option<Wire>> = (0..WIRES).map(|_| None).collect();
    let (begun, mut sent) = (Instant::now(), 0_usize);
    while !target.over.load(Ordering::Acquire) {
        let due = Duration::from_secs_f64(sent as f64 / rate);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        let place = &mut wires[sent % WIRES];
        let is_sent = place.as_mut().is_some_and(|wire| wire.drain() && wire.send(request));
        if !is_sent {
            *place = Wire::open(from, target.api);
        }
        sent += 1;
    }
    sent as u64
}

/// Sends requests at a fixed rate, each on a connection that is closed at once. Returns how many
/// were sent.
fn left(target: &Target<'_>, from: IpAddr, rate: f64, request: impl Fn(usize) -> Vec<u8>) -> u64 {
    let (begun, mut sent) = (Instant::now(), 0_usize);
    while !target.over.load(Ordering::Acquire) {
        let due = Duration::from_secs_f64(sent as f64 / rate);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        if let Some(mut wire) = Wire::open(from, target.api) {
            wire.send(&request(sent));
        }
        sent += 1;
    }
    sent as u64
}

/// Opens streams and resets them at once.
fn resets(target: &Target<'_>, from: IpAddr) -> u64 {
    const AT_ONCE: u32 = 100;
    const PAUSE: Duration = Duration::from_millis(50);
    let (mut wire, mut stream, mut sent) = (None::<Wire>, 1_u32, 0);
    while !target.over.load(Ordering::Acquire) {
        let round = Instant::now();
        let mut bytes = vec![];
        if wire.is_none() {
            wire = Wire::open(from, target.api);
            bytes = frames::begin(65_535);
            stream = 1;
        }
        for _ in 0..AT_ONCE {
            bytes.extend(frames::request(stream, "POST", TOKEN, &[], false));
            bytes.extend(frames::data(stream, b"a"));
            bytes.extend(frames::reset(stream));
            stream += 2;
        }
        let is_there = wire.as_mut().is_some_and(|wire| wire.drain() && wire.send(&bytes));
        if !is_there {
            wire = None;
        }
        sent += u64::from(AT_ONCE);
        std::thread::sleep(PAUSE.saturating_sub(round.elapsed()));
    }
    sent
}
