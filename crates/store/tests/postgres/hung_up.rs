//! Abandoned look-ups of one document.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_store::{NaturalKey, Options, Store, Uuid};
use homeroom_testkit::trial;
use tokio::time::timeout;

use crate::support::{by_port, kinds, lock_documents, schema_of, server};

/// Forwards data to a server and back, and counts the bytes that go to the server.
fn counting(server: String) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, sent) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&sent);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), Ok(mut server)) = (client, TcpStream::connect(&server)) else {
                return;
            };
            let (mut back_from, mut back_to) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                _ = std::io::copy(&mut back_from, &mut back_to);
                _ = back_to.shutdown(Shutdown::Both);
            });
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(length @ 1..) = client.read(&mut buffer) {
                    counted.fetch_add(length, Ordering::SeqCst);
                    if server.write_all(&buffer[..length]).is_err() {
                        break;
                    }
                }
                _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    (port, sent)
}

#[test]
fn cancelled_look_ups_do_not_pile_up_at_the_server() {
    const GIVEN_UP: usize = 10_000;
    /// Fewest bytes that one read sends.
    const READ_BYTES: usize = 40;
    for options in trial::postgres().unwrap() {
        let Some(server) = server(&options) else { continue };
        let options = Options { strict: None, list_deadline: Duration::from_mins(4), ..options };
        let place = Store::temporary_on(&options, &kinds()).unwrap();
        let (port, sent) = counting(server);
        let store = Store::open(&by_port(&options, port, &schema_of(&place))).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = || async { store.document_by_key(NaturalKey(Uuid::new().0)).await };
        // One read on each connection, which prepares the statement.
        for _ in 0..2 {
            assert!(runtime.block_on(read()).unwrap().is_none());
        }
        let locked = lock_documents(&place);
        let before = sent.load(Ordering::SeqCst);

        runtime.block_on(async {
            for _ in 0..GIVEN_UP {
                assert!(timeout(Duration::ZERO, read()).await.is_err(), "it waits for the lock");
            }
        });
        let mut seen = 0;
        while seen < sent.load(Ordering::SeqCst) {
            seen = sent.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(200));
        }

        locked.end();
        assert!(seen - before < GIVEN_UP * READ_BYTES / 4, "{} bytes", seen - before);
        // The places of the abandoned reads come back.
        for _ in 0..2_000 {
            assert!(runtime.block_on(read()).unwrap().is_none());
        }
    }
}
