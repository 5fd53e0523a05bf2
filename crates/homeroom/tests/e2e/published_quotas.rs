//! Quotas of published APIs over restarts of the server.

use std::time::Duration;

use crate::published::subscriber;
use crate::support::{Client, Database, Place, Server, Upstream, eventually};
use crate::upstreams::publish;

/// Longer than a server waits until it writes what was used.
const WRITTEN_WITHIN: Duration = Duration::from_secs(8);

/// APIs for keys with ten calls a month altogether, and for everybody with eight.
fn apis(upstream: &Upstream) -> String {
    let api = |name: &str, more: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nupstream = ['{}']\n\
             {more}\n",
            upstream.url()
        )
    };
    let plan = "[[plans]]\nname = 'p'\nquota = '10/month'\n".to_owned();
    let open = "security = 'none'\nlimits = {quota = '8/month'}";
    [plan, api("keyed", "plan = 'p'"), api("open", open)].concat()
}

/// Makes so many calls, and returns how many were admitted.
fn admitted(client: &mut Client, api: &str, calls: usize) -> usize {
    let path = format!("/apis/{api}/v1/x");
    let statuses = (0..calls).map(|_| client.get(&path).status);
    statuses
        .inspect(|status| assert!([200, 429].contains(status), "{status}"))
        .filter(|status| *status == 200)
        .count()
}

#[test]
fn a_month_s_quota_is_had_once_however_often_the_server_is_restarted() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let mut server = Server::start(&place);
    publish(&place, &apis(&upstream));
    let keys = [0, 1].map(|_| subscriber(&place, &["--apis", "*"]));
    let mut all = vec![];

    for _ in 0..3 {
        let mut one = server.client_of(&keys[0]);
        all.push((admitted(&mut one, "keyed", 4), admitted(&mut server.client(), "open", 3)));
        assert_eq!(server.stop().code, Some(0));
        server = Server::start(&place);
    }

    assert_eq!(all, [(4, 3), (4, 3), (2, 2)]);
    assert_eq!(admitted(&mut server.client_of(&keys[1]), "keyed", 12), 10, "another key");
    place.done(&["keys", "revoke", &keys[1].0]);
    assert_eq!(server.stop().code, Some(0));
    server = Server::start(&place);
    assert_eq!(admitted(&mut server.client_of(&keys[0]), "keyed", 1), 0);
}

#[test]
fn a_server_that_is_killed_forgets_no_call_that_it_had_time_to_write() {
    let mut places: Vec<(Option<Database>, Place)> = vec![(None, Place::new())];
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        places.push((Some(database), place));
    }
    for (_database, place) in &places {
        let upstream = Upstream::echo();
        let server = Server::start(place);
        publish(place, &apis(&upstream));
        let key = subscriber(place, &["--apis", "*"]);
        // Commands write into a shared database beside its servers.
        eventually("it is served", || server.client().get("/apis/keyed/v1/x").status == 401);
        assert_eq!(admitted(&mut server.client_of(&key), "keyed", 6), 6);
        std::thread::sleep(WRITTEN_WITHIN);
        assert_eq!(admitted(&mut server.client_of(&key), "keyed", 1), 1);

        server.kill();
        let server = Server::start(place);

        let left = admitted(&mut server.client_of(&key), "keyed", 12);
        assert!([3, 4].contains(&left), "{left}: the last call may have been written or not");
    }
}

#[test]
fn servers_of_one_database_learn_of_each_other_s_calls() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let upstream = Upstream::echo();
        let servers = [0, 1].map(|_| Server::start(&place));
        publish(&place, &apis(&upstream));
        let mut clients = servers.each_ref().map(Server::client);
        let mut calls = |count: usize| -> usize {
            clients.iter_mut().map(|client| admitted(client, "open", count)).sum()
        };
        eventually("both serve it", || {
            servers.iter().all(|server| server.client().get("/apis/keyed/v1/x").status == 401)
        });

        assert_eq!(calls(3), 6);
        std::thread::sleep(WRITTEN_WITHIN);
        assert_eq!(calls(1), 2);
        std::thread::sleep(WRITTEN_WITHIN);

        let more = calls(5);
        assert!(
            more <= 1,
            "{more}: the one that wrote first has not heard of the other's last call"
        );
    }
}
