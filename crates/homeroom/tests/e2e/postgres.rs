//! Tests of the store in PostgreSQL: several nodes share one database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Database, Place, STUDENTS, Server, eventually, student};

#[test]
fn nodes_on_one_database_agree_and_killing_one_loses_nothing() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let key = place.key("FullAccess");
        let (first, second) = (Server::start(&place), Server::start(&place));
        let (mut at_first, mut at_second) = (first.client_of(&key), second.client_of(&key));

        let made = at_first.post(STUDENTS, &student("s-1", "Ada"));
        assert_eq!(made.status, 201, "{made:?}");
        let found = at_second.get(&made.location());
        assert_eq!((found.status, found.header("etag")), (200, made.header("etag")), "{found:?}");

        // The load goes through the server that was started last.
        let lines = (0..300).map(|n| student(&format!("l-{n}"), "Lin").to_string());
        let file = place.write("students.jsonl", lines.collect::<Vec<_>>().join("\n"));
        place.done(&["load", file.to_str().unwrap()]);
        assert_eq!(count(&mut at_second), 301);
        let late = place.key("FullAccess");
        eventually("the other node knows the new key", || {
            let mut client = second.client();
            client.ask_token(&late.0, &late.1).status == 200
        });

        let is_killed = AtomicBool::new(false);
        let acknowledged = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|writer| {
                    let mut client = first.client_of(&key);
                    let is_killed = &is_killed;
                    scope.spawn(move || {
                        let mut done = vec![];
                        for at in 0.. {
                            let id = format!("k-{writer}-{at}");
                            match client.try_json("POST", STUDENTS, &student(&id, "Kim")) {
                                Ok(answer) if answer.status == 201 => done.push(id),
                                _ if is_killed.load(Ordering::Acquire) => break,
                                other => panic!("{other:?}"),
                            }
                        }
                        done
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(500));
            is_killed.store(true, Ordering::Release);
            first.kill();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });

        assert!(!acknowledged.is_empty());
        for id in &acknowledged {
            let found = at_second.get(&format!("{STUDENTS}?studentUniqueId={id}")).json();
            assert_eq!(found.as_array().map(Vec::len), Some(1), "{id}");
        }
        let after = at_second.post(STUDENTS, &student("s-2", "Bo"));
        assert_eq!(after.status, 201, "the other node goes on: {after:?}");
        let found = place.json(&["doctor", "--json"]);
        assert_eq!(found["problems"], serde_json::json!([]));
        assert_eq!(second.stop().code, Some(0));
    }
}

fn count(client: &mut crate::support::Client) -> u64 {
    let answer = client.get(&format!("{STUDENTS}?limit=0&totalCount=true"));
    answer.header("total-count").unwrap().parse().unwrap()
}
