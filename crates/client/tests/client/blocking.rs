//! The client for code that has no runtime.

use std::sync::{Arc, Mutex, mpsc};

use homeroom_client::{BlockingClient, Phase, Request, Resolver, Settings, Url};
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::{Builder, Runtime};

use crate::support::{LONG, SHORT, Server, answer, read_request, settings};

/// Returns the runtime of a test's server.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_client_without_a_runtime_sends_and_keeps_its_connection() {
    let runtime = runtime();
    let server = runtime.block_on(Server::answering(|_, request| answer(200, "", request)));
    let client = BlockingClient::new(settings()).unwrap();

    for body in ["one", "two"] {
        let request = Request::post(server.url("/x?y"), body).header("A", "b").unwrap();
        let answer = client.send(request, 1000).unwrap();
        let text = String::from_utf8(answer.body.to_vec()).unwrap();

        assert!(text.starts_with("POST /x?y HTTP/1.1\r\na: b\r\n"), "{text}");
        assert!(text.contains(&format!("\r\nhost: {}\r\n", server.address)), "{text}");
        assert!(text.ends_with(&format!("\r\n\r\n{body}")), "{text}");
    }
    assert_eq!(server.accepted(), 1);
}

#[test]
fn a_connection_that_the_server_closes_between_two_calls_is_renewed() {
    let runtime = runtime();
    let (tell, closed) = mpsc::channel();
    let server = runtime.block_on(Server::start(move |_, mut stream| {
        let tell = tell.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(answer(200, "", "").as_bytes()).await.unwrap();
            drop(stream);
            tell.send(()).unwrap();
        }
    }));
    let client = BlockingClient::new(settings()).unwrap();

    for number in 1..=3 {
        // POST is not repeated once it was sent: this works because nothing was.
        let sent = client.send(Request::post(server.url("/"), "a"), 9);
        assert_eq!(sent.unwrap().status, 200);
        closed.recv().unwrap();
        std::thread::sleep(SHORT);
        assert_eq!(server.accepted(), number);
    }
}

#[test]
fn dropping_the_client_does_not_wait_for_a_hanging_look_up() {
    let (release, is_released) = mpsc::channel::<()>();
    let is_released = Arc::new(Mutex::new(is_released));
    let resolver = Resolver::given(move |_| {
        let is_released = Arc::clone(&is_released);
        async move {
            let hang = move || is_released.lock().unwrap().recv().is_ok();
            tokio::task::spawn_blocking(hang).await.map_err(std::io::Error::other)?;
            Ok(vec![])
        }
    });
    let mut settings = Settings { resolver, ..settings() };
    settings.times.resolve = SHORT;
    let client = BlockingClient::new(settings).unwrap();
    let url = Url::parse("http://school.test/").unwrap();
    let error = client.send(Request::get(url), 9).unwrap_err();
    assert_eq!(error.phase(), Some(Phase::Resolve), "{error}");

    let (dropped, is_dropped) = mpsc::channel();
    std::thread::spawn(move || {
        drop(client);
        dropped.send(()).unwrap();
    });

    is_dropped.recv_timeout(LONG).unwrap();
    drop(release);
}
