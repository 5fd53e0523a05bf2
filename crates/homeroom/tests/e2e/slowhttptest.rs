//! slowhttptest, a tool against servers that wait: its slow headers, slow bodies, slow readers and many ranges stop no
//! other client of a published API.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answered, Place, Server, Upstream, eventually, metric};
use crate::upstreams::{api, publish};

/// How long each attack lasts, in seconds, and with how many connections.
const SECONDS: &str = "8";
const CONNECTIONS: &str = "150";

/// Starts an attack, if the tool is there.
fn attack(server: &Server, kind: &[&str], path: &str) -> Option<Child> {
    let url = format!("http://{}{path}", server.api);
    let mut command = Command::new("slowhttptest");
    command.args(kind).args(["-c", CONNECTIONS, "-r", CONNECTIONS, "-l", SECONDS, "-p", "3"]);
    command.args(["-u", &url]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().ok()
}

#[test]
fn callers_who_send_or_read_slowly_stop_no_others() {
    let place = Place::new();
    let server = Server::start(&place);
    let large = Upstream::answering(|_| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 1 << 20);
        Answered::With([head.as_bytes(), &vec![b'x'; 1 << 20]].concat())
    });
    let echo = Upstream::echo();
    publish(&place, &(api("large", &[large.url()], "") + &api("echo", &[echo.url()], "")));
    let mut client = server.client();
    assert_eq!(client.get("/apis/echo/v1/x").status, 200);

    let attacks: Option<Vec<Child>> = [
        (&["-H", "-i", "1", "-x", "24"][..], "/apis/echo/v1/x"),
        (&["-B", "-i", "1", "-s", "8192", "-x", "10"], "/apis/echo/v1/x"),
        (&["-X", "-w", "1", "-y", "2", "-n", "5", "-z", "32", "-k", "3"], "/apis/large/v1/x"),
        (&["-R", "-t", "HEAD"], "/apis/large/v1/x"),
    ]
    .into_iter()
    .map(|(kind, path)| attack(&server, kind, path))
    .collect();
    let Some(mut attacks) = attacks else {
        println!("skipped: slowhttptest is not installed");
        return;
    };
    let mut times = vec![];
    while attacks.iter_mut().any(|attack| attack.try_wait().unwrap().is_none()) {
        let begun = Instant::now();
        assert_eq!(client.get("/apis/echo/v1/x").status, 200, "after {}", times.len());
        times.push(begun.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }

    times.sort();
    let (median, last) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    assert!(times.len() > 50, "{} calls meanwhile", times.len());
    assert!(median < Duration::from_millis(250), "{median:?}");
    assert!(last < Duration::from_secs(4), "{last:?}");
    for attack in attacks {
        let said = attack.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let told = said.rsplit("service available:").next().unwrap().to_owned();
        assert!(told.contains("YES"), "the tool reached it, too: {said}");
    }
    eventually("nothing is in flight", || metric(&server, "http_server_active_requests") == 0);
}
