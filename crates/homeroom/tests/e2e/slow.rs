//! Clients that are slow or disconnect: their places become free again, and other clients notice
//! nothing.

use std::time::Duration;

use crate::support::{Client, Place, STUDENTS, Server, Wire, eventually, metric, student};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn served(environment: &[(&str, &str)]) -> (Place, Server, Client) {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, environment);
    let client = server.client_of(&key);
    (place, server, client)
}

fn nothing_is_in_flight(server: &Server) {
    eventually("no request is in flight", || metric(server, "http_server_active_requests") == 0);
}

#[test]
fn a_request_sent_byte_by_byte_is_answered_and_delays_no_other() {
    let (_place, server, mut client) = served(&[]);
    let body = student("slow", "Ada").to_string();
    let request = client.head("POST", STUDENTS, &JSON, Some(body.len())) + &body;

    let answer = std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let mut wire = server.wire();
            for byte in request.bytes() {
                wire.send([byte]);
                std::thread::sleep(Duration::from_millis(2));
            }
            wire.answer()
        });
        let mut number = 0;
        while !slow.is_finished() {
            let here = student(&number.to_string(), "Ada");
            assert_eq!(client.post(STUDENTS, &here).status, 201);
            number += 1;
        }
        assert!(number > 1, "others were served meanwhile");
        slow.join().unwrap()
    });

    assert_eq!(answer.status, 201, "{answer:?}");
    nothing_is_in_flight(&server);
}

#[test]
fn callers_who_do_not_read_their_answers_do_not_block_others() {
    let (_place, server, mut client) = served(&[("HOMEROOM_SERVER__IN_FLIGHT_MAX", "8")]);
    for number in 0..200 {
        assert_eq!(client.post(STUDENTS, &student(&number.to_string(), "Ada")).status, 201);
    }
    // More answers than the buffers on the way can hold.
    let page = client.head("GET", &format!("{STUDENTS}?limit=200"), &[], None).repeat(300);

    let deaf: Vec<Wire> = (0..12)
        .map(|_| {
            let mut wire = server.wire();
            wire.send(&page);
            wire
        })
        .collect();

    for number in 0..20 {
        let here = student(&format!("n{number}"), "Here");
        eventually("a write is taken", || client.post(STUDENTS, &here).status == 201);
    }
    nothing_is_in_flight(&server);
    drop(deaf);
    nothing_is_in_flight(&server);
    assert_eq!(client.get(STUDENTS).status, 200);
}

#[test]
fn callers_who_disconnect_during_an_answer_leave_nothing_behind() {
    let (_place, server, mut client) = served(&[]);
    for number in 0..200 {
        assert_eq!(client.post(STUDENTS, &student(&number.to_string(), "Ada")).status, 201);
    }
    let page = client.head("GET", &format!("{STUDENTS}?limit=200"), &[], None);
    let files = || std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let before = files();

    for round in 0..200 {
        let mut wire = server.wire();
        wire.send(&page);
        let mut some = vec![0; 1 + round * 100];
        wire.read_exactly(&mut some);
        drop(wire);
    }

    nothing_is_in_flight(&server);
    eventually("the connections are closed", || files() <= before + 2);
    assert_eq!(client.get(STUDENTS).status, 200);
}
