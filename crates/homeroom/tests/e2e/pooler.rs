//! A database behind `PgBouncer`, which gives each transaction another session of the server.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tokio_postgres::config::Host;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::support::{Database, Place, STUDENTS, Server, eventually, student};

/// The program, as Debian installs it and as the path names it.
const PROGRAMS: [&str; 2] = ["/usr/sbin/pgbouncer", "pgbouncer"];
/// Sessions of the server that all clients share.
const SESSIONS: usize = 3;

/// A running `PgBouncer` in transaction mode.
struct Pooler {
    child: Child,
    port: u16,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Returns the program's name, where there is one.
fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|name| {
        let ran = Command::new(name).arg("--version").stdout(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    })
}

impl Pooler {
    /// Starts one before a server.
    fn before(server: &Database, program: &str, place: &Place) -> Self {
        let config: tokio_postgres::Config = server.url().parse().unwrap();
        let host = match &config.get_hosts()[0] {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.display().to_string(),
        };
        let server_port = config.get_ports().first().copied().unwrap_or(5432);
        let user = config.get_user().unwrap_or("postgres");
        let password = config.get_password().map_or(String::new(), |password| {
            format!(" password='{}'", String::from_utf8_lossy(password).replace('\'', "''"))
        });
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "[databases]\n* = host='{host}' port={server_port} user='{user}'{password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = {SESSIONS}\n\
             max_client_conn = 200\n"
        );
        let file = place.write("pgbouncer.ini", settings);
        let mut command = Command::new(program);
        command.arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            // It does not run as root.
            command.args(["--user", "nobody"]);
        }
        let child = command.spawn().unwrap();
        let pooler = Self { child, port };
        eventually("the pooler listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        pooler
    }

    fn url(&self, database: &Database, parameters: &str) -> String {
        let url = database.url();
        let (_, name) = url.rsplit_once('/').unwrap();
        let name = name.split('?').next().unwrap();
        format!("postgres://anybody@127.0.0.1:{}/{name}{parameters}", self.port)
    }

    /// Returns a value of each session of the pool, which other clients will use.
    fn of_each_session(&self, database: &Database, select: &str) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut held = vec![];
            let mut found = vec![];
            // An open transaction keeps its session from the others.
            for _ in 0..SESSIONS {
                let (client, driver) =
                    tokio_postgres::connect(&self.url(database, ""), NoTls).await.unwrap();
                tokio::spawn(driver);
                for message in client.simple_query(&format!("BEGIN; {select}")).await.unwrap() {
                    if let SimpleQueryMessage::Row(row) = message {
                        found.push(row.get(0).unwrap().to_owned());
                    }
                }
                held.push(client);
            }
            found
        })
    }
}

/// Everything that a session of the server would keep of its last client: prepared statements, and
/// settings other than those that the pooler sets for each.
const KEPT: &str = "SELECT CAST((SELECT count(*) FROM pg_prepared_statements) AS text) || \
    coalesce((SELECT string_agg(name || '=' || setting, ',') FROM pg_settings \
    WHERE source = 'session' AND name NOT LIKE 'transaction%' AND name NOT IN \
    ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', \
    'standard_conforming_strings')), '')";

#[test]
fn nodes_and_commands_share_the_sessions_of_a_pooler_and_leave_nothing_in_them() {
    let Some(program) = program() else {
        println!("skipped: there is no pgbouncer");
        return;
    };
    let pairs = Database::on_each_server().into_iter().zip(Database::on_each_server());
    for (database, other) in pairs {
        let outside = Place::new();
        let pooler = Pooler::before(&database, program, &outside);
        let place = Place::with_store(&pooler.url(&database, "?pooling=transaction"));
        let key = place.key("FullAccess");
        let (first, second) = (Server::start(&place), Server::start(&place));

        std::thread::scope(|scope| {
            for (at, node) in [&first, &second, &first, &second].into_iter().enumerate() {
                let mut client = node.client_of(&key);
                scope.spawn(move || {
                    for n in 0..40 {
                        let made = client.post(STUDENTS, &student(&format!("s-{at}-{n}"), "Ada"));
                        assert_eq!(made.status, 201, "{made:?}");
                        assert_eq!(client.get(&made.location()).status, 200);
                        let page = client.get(&format!("{STUDENTS}?limit=3&totalCount=true"));
                        assert_eq!(page.status, 200, "{page:?}");
                    }
                });
            }
        });

        let lines = (0..300).map(|n| student(&format!("l-{n}"), "Lin").to_string());
        let lines = place.write("students.jsonl", lines.collect::<Vec<_>>().join("\n"));
        place.done(&["load", lines.to_str().unwrap()]);
        assert_eq!(place.json(&["counts", "students", "--json"])["documents"], 460);
        place.done(&["views", "apply"]);
        let found = place.json(&["doctor", "--json"]);
        assert_eq!((&found["problems"], &found["leftOut"]), (&json!([]), &json!([])));
        let backup = place.path("backup.db");
        place.done(&["backup", backup.to_str().unwrap()]);
        assert_eq!(first.stop().code, Some(0));
        assert_eq!(second.stop().code, Some(0));

        let restored = Place::with_store(&pooler.url(&other, "?pooling=transaction"));
        restored.done(&["restore", backup.to_str().unwrap(), "--yes"]);
        assert_eq!(restored.json(&["counts", "students", "--json"])["documents"], 460);
        assert_eq!(restored.json(&["doctor", "--json"])["problems"], json!([]));

        for used in [&database, &other] {
            let kept = pooler.of_each_session(used, KEPT);
            assert_eq!(kept, ["0"; SESSIONS]);
        }

        // Who connects as without a pooler leaves statements in its sessions, and is told.
        let unaware = Place::with_store(&pooler.url(&other, ""));
        let mut ran = (0..10).map(|_| unaware.run(&["keys", "list"]));
        let told = ran.find(|ran| ran.code != Some(0)).unwrap();
        assert!(told.stderr.contains("pooling=transaction"), "{told:?}");
        assert_eq!(restored.json(&["counts", "students", "--json"])["documents"], 460);
    }
}

#[test]
fn a_kind_of_pooling_that_cannot_work_is_refused() {
    let place = Place::with_store("postgres://u:secret@127.0.0.1:1/d?pooling=statement");

    let refused = place.run(&["keys", "list"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("pooling is transaction"), "{refused:?}");
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
}
