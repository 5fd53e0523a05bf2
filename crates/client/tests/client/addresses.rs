//! The address policy holds for the connection itself.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_client::{
    AddressPolicy, Client, Error, Exceptions, Range, Redirects, Request, Resolver, Settings, Url,
};

use tokio::net::TcpListener;

use crate::support::{Server, answer, client, send, settings};

/// Stands for a public address: the only one that the policy of these tests allows.
const PUBLIC: &str = "127.0.0.2";
/// Stands for an internal address.
const INTERNAL: &str = "127.0.0.1";

fn guarded(change: impl FnOnce(&mut Settings)) -> Client {
    let networks = vec![PUBLIC.parse().unwrap()];
    let exceptions = Exceptions { networks, ..Exceptions::default() };
    client(|settings| {
        settings.addresses = AddressPolicy::Public(exceptions);
        settings.pool.idle_per_origin = 0;
        change(settings);
    })
}

/// Starts a server that answers with its address, on both addresses and the same port.
async fn both() -> u16 {
    let serve = |listener| {
        Server::start_on(listener, |_, mut stream| async move {
            let local = stream.local_addr().unwrap().ip().to_string();
            while crate::support::read_request(&mut stream).await.is_some() {
                let text = answer(200, "", &local);
                tokio::io::AsyncWriteExt::write_all(&mut stream, text.as_bytes()).await.unwrap();
            }
        })
    };
    // Another test may have the port that is free on the first address.
    loop {
        let public = TcpListener::bind(format!("{PUBLIC}:0")).await.unwrap();
        let port = public.local_addr().unwrap().port();
        let Ok(internal) = TcpListener::bind(format!("{INTERNAL}:{port}")).await else { continue };
        serve(public);
        serve(internal);
        return port;
    }
}

fn resolver(answers: &'static [&'static [&'static str]]) -> (Resolver, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let resolver = Resolver::given(move |_| {
        let at = count.fetch_add(1, Ordering::SeqCst);
        let found: Vec<IpAddr> = answers[at].iter().map(|text| text.parse().unwrap()).collect();
        async move { Ok(found) }
    });
    (resolver, asked)
}

fn url(port: u16) -> Url {
    Url::parse(&format!("http://school.test:{port}/")).unwrap()
}

#[tokio::test]
async fn an_address_of_this_machine_is_refused_in_every_spelling() {
    let server = Server::answering(|_, _| answer(200, "", "reached")).await;
    let port = server.address.port();
    let guarded =
        Client::new(Settings { addresses: AddressPolicy::default(), ..settings() }).unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
    ] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();

        let error = send(&guarded, Request::get(url)).await.unwrap_err();

        assert!(
            matches!(error, Error::Refused { range: Range::Loopback, .. }),
            "{host}: {}",
            error.with_causes()
        );
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let port = both().await;
    let (resolver, asked) = resolver(&[&[PUBLIC], &[INTERNAL]]);
    let guarded = guarded(|settings| settings.resolver = resolver);

    let first = send(&guarded, Request::get(url(port))).await.unwrap();
    assert_eq!((first.1.as_str(), asked.load(Ordering::SeqCst)), (PUBLIC, 1));

    let second = send(&guarded, Request::get(url(port))).await.unwrap_err();
    assert!(matches!(second, Error::Refused { .. }), "{second}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn only_the_allowed_addresses_of_a_host_are_tried() {
    let port = both().await;
    let (resolver, _) = resolver(&[&[INTERNAL, PUBLIC], &["169.254.169.254", INTERNAL]]);
    let guarded = guarded(|settings| settings.resolver = resolver);

    assert_eq!(send(&guarded, Request::get(url(port))).await.unwrap().1, PUBLIC);
    let refused = send(&guarded, Request::get(url(port))).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { range: Range::Metadata, .. }), "{refused}");
}

#[tokio::test]
async fn the_next_address_is_tried_if_one_does_not_answer() {
    let server = Server::answering(|_, _| answer(200, "", "reached")).await;
    let (resolver, _) = resolver(&[&["127.0.0.3", INTERNAL]]);
    let client = client(|settings| settings.resolver = resolver);

    let found = send(&client, Request::get(url(server.address.port()))).await.unwrap();

    assert_eq!(found.1, "reached");
}

#[tokio::test]
async fn a_redirect_to_a_refused_address_is_not_followed() {
    let internal = Server::answering(|_, _| answer(200, "", "reached")).await;
    let location = format!("Location: http://{}/\r\n", internal.address);
    let public = Server::start_at(&format!("{PUBLIC}:0"), move |_, mut stream| {
        let text = answer(302, &location, "");
        async move {
            crate::support::read_request(&mut stream).await;
            tokio::io::AsyncWriteExt::write_all(&mut stream, text.as_bytes()).await.unwrap();
        }
    })
    .await;
    let guarded = guarded(|settings| settings.redirects = Redirects::Followed(3));

    let error = send(&guarded, public.get()).await.unwrap_err();

    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert_eq!(internal.accepted(), 0);
}

#[tokio::test]
async fn an_allowed_host_that_resolves_to_this_machine_is_refused() {
    let server = Server::answering(|_, _| answer(200, "", "reached")).await;
    let resolver = Resolver::given(|_| async { Ok(vec![INTERNAL.parse().unwrap()]) });
    let hosts = vec!["school.test".into()];
    let exceptions = Exceptions { hosts, ..Exceptions::default() };
    let client = client(|settings| {
        settings.resolver = resolver;
        settings.addresses = AddressPolicy::Public(exceptions);
        settings.times.total = Some(Duration::from_secs(30));
    });

    let error = send(&client, Request::get(url(server.address.port()))).await.unwrap_err();

    assert!(matches!(error, Error::Refused { range: Range::Loopback, .. }), "{error}");
    assert_eq!(server.accepted(), 0);
}
