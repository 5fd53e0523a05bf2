//! TLS to a server of the test's own, with an authority of the test's own.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use homeroom_store::{Options, Sql, Store, StoreError};
use homeroom_testkit::Folder;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// The folder in which Debian has the programs of each major version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user id of Debian's `nobody`, for a test as root: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;

/// Who may come in: by TLS alone; with a password; with a certificate; and unsecured.
const ADMISSION: &str = "local all all trust
hostssl all homeroom 127.0.0.1/32 trust
hostssl all secured 127.0.0.1/32 scram-sha-256
hostssl all certified 127.0.0.1/32 cert
hostnossl all plain 127.0.0.1/32 trust
";

/// A server with `ssl = on`, and the files that its clients need.
struct Server {
    child: Child,
    folder: Folder,
    port: u16,
}

impl Server {
    /// Starts Debian's server; [`None`], and the reason is printed, where there is none.
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            println!("skipped: there is no PostgreSQL in {DEBIAN} to start with ssl = on");
            return None;
        };
        let folder = Folder::new();
        certificates(folder.path());
        let is_root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
        if is_root {
            give_to_nobody(folder.path());
        }
        let command = |name: &str| {
            let mut command = if is_root {
                let user = NOBODY.to_string();
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
                command.arg(programs.join(name));
                command
            } else {
                Command::new(programs.join(name))
            };
            command.current_dir(folder.path()).env("LC_ALL", "C.UTF-8").env("HOME", folder.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let data = folder.path().join("data");
        let mut initdb = command("initdb");
        initdb.args(["--auth", "trust", "--username", "homeroom", "--no-sync", "--pgdata"]);
        assert!(initdb.arg(&data).status().unwrap().success());
        std::fs::write(data.join("pg_hba.conf"), ADMISSION).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut postgres = command("postgres");
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        let path = |name: &str| folder.path().join(name).display().to_string();
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", folder.path().display()),
            "fsync=off".to_owned(),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", path("server.pem")),
            format!("ssl_key_file={}", path("server.key")),
            format!("ssl_ca_file={}", path("authority.pem")),
        ] {
            postgres.args(["-c", &setting]);
        }
        let child = postgres.spawn().unwrap();
        let server = Self { child, folder, port };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        let begun = Instant::now();
        let url = format!(
            "postgres://homeroom@{}:{}/postgres",
            self.folder.path().display().to_string().replace('/', "%2F"),
            self.port
        );
        loop {
            match Store::open(&Options::new(url.parse().unwrap())) {
                Ok(store) => {
                    for user in ["secured PASSWORD 'open sesame'", "certified", "plain"] {
                        tell(&store, user);
                    }
                    return;
                }
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens a store, in a schema of its own. Returns whether its reads are secured.
    fn open(&self, user: &str, host: &str, parameters: &str) -> Result<bool, StoreError> {
        let port = self.port;
        let (here, there) = (self.folder.path().display(), "DIR");
        let parameters = parameters.replace(there, &here.to_string());
        let url = format!("postgres://{user}@{host}:{port}/postgres?{parameters}");
        let store = Store::temporary_on(&Options::new(url.parse()?), &[])?;
        let text = "SELECT CAST(ssl AS integer) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let rows = store.query_blocking(Sql::new(text, vec![]))?;
        Ok(rows[0][0].as_integer() == Some(1))
    }
}

/// Makes a user who may create schemas.
fn tell(store: &Store, user: &str) {
    use homeroom_store::{Answer, Decision, Plan, Write};
    let texts: [&'static str; 2] = match user.split(' ').next() {
        Some("secured") => [
            "CREATE ROLE secured LOGIN PASSWORD 'open sesame'",
            "GRANT CREATE ON DATABASE postgres TO secured",
        ],
        Some("certified") => {
            ["CREATE ROLE certified LOGIN", "GRANT CREATE ON DATABASE postgres TO certified"]
        }
        _ => ["CREATE ROLE plain LOGIN", "GRANT CREATE ON DATABASE postgres TO plain"],
    };
    let writes = texts.map(|text| Write::Sql(Sql::new(text, vec![]))).to_vec();
    let decide = move |_: Vec<Answer>| Decision::<(), ()>::Write(writes.clone(), ());
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
}

impl Drop for Server {
    fn drop(&mut self) {
        // PostgreSQL takes an interrupt as its fast shutdown.
        let pid = self.child.id().to_string();
        _ = Command::new("sh").args(["-c", "kill -INT \"$0\"", &pid]).status();
        _ = self.child.wait();
    }
}

/// Returns the folder of the programs of Debian's newest server.
fn programs() -> Option<PathBuf> {
    let folders = std::fs::read_dir(DEBIAN).ok()?;
    let versions = folders.filter_map(|folder| folder.ok()?.file_name().to_str()?.parse().ok());
    let newest: u32 = versions.max()?;
    Some(Path::new(DEBIAN).join(newest.to_string()).join("bin"))
}

/// Makes an authority, a server's certificate for `localhost`, a client's for the user `certified`,
/// and another authority that has signed neither.
fn certificates(folder: &Path) {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let own = authority("authority");
    write("authority.pem", own.pem());
    write("stranger.pem", authority("stranger").pem());
    let signed = |name: &str, purpose: ExtendedKeyUsagePurpose| {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &own).unwrap().pem(), key.serialize_pem())
    };
    let (certificate, key) = signed("localhost", ExtendedKeyUsagePurpose::ServerAuth);
    write("server.pem", certificate);
    write("server.key", key);
    let (certificate, key) = signed("certified", ExtendedKeyUsagePurpose::ClientAuth);
    write("client.pem", certificate);
    write("client.key", key);
}

fn give_to_nobody(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
}

#[test]
fn each_mode_of_tls_secures_and_checks_what_it_says() {
    let Some(server) = Server::start() else { return };
    let known = "sslrootcert=DIR/authority.pem";
    let stranger = "sslrootcert=DIR/stranger.pem";
    let password = "secured:open%20sesame";
    let certified = "sslcert=DIR/client.pem&sslkey=DIR/client.key";
    let secured = [
        ("homeroom", "127.0.0.1", String::new()),
        ("homeroom", "127.0.0.1", "sslmode=prefer".to_owned()),
        ("homeroom", "127.0.0.1", "sslmode=require".to_owned()),
        ("homeroom", "127.0.0.1", format!("sslmode=verify-ca&{known}")),
        ("homeroom", "localhost", format!("sslmode=verify-full&{known}")),
        (password, "localhost", format!("sslmode=verify-full&{known}&channel_binding=require")),
        ("certified", "127.0.0.1", format!("sslmode=require&{known}&{certified}")),
    ];
    for (user, host, parameters) in &secured {
        let opened = server.open(user, host, parameters);
        assert!(matches!(opened, Ok(true)), "{user} {host} {parameters}: {opened:?}");
    }
    let plain = server.open("plain", "127.0.0.1", "sslmode=disable");
    assert!(matches!(plain, Ok(false)), "{plain:?}");

    let refused = [
        ("homeroom", "127.0.0.1", "sslmode=disable".to_owned(), "no pg_hba.conf entry"),
        ("homeroom", "127.0.0.1", format!("sslmode=require&{stranger}"), "sslrootcert=FILE"),
        ("homeroom", "127.0.0.1", format!("sslmode=verify-ca&{stranger}"), "sslrootcert=FILE"),
        ("homeroom", "127.0.0.1", format!("sslmode=verify-full&{known}"), "host of the URL"),
        ("certified", "127.0.0.1", "sslmode=require".to_owned(), "valid client certificate"),
        ("homeroom", "127.0.0.1", "sslmode=verify-ca&sslrootcert=DIR/no.pem".to_owned(), "no.pem"),
        ("homeroom", "127.0.0.1", "sslmode=always".to_owned(), "verify-full"),
    ];
    for (user, host, parameters, why) in &refused {
        let opened = server.open(user, host, parameters);
        let Err(StoreError::Unusable(text)) = opened else {
            panic!("{user} {host} {parameters}: {opened:?}");
        };
        assert!(text.contains(why), "{user} {host} {parameters}: {text}");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_required_and_preferred_otherwise() {
    for options in homeroom_testkit::trial::postgres().unwrap() {
        let Some(place) = crate::support::server(&options) else { continue };
        let port = place.rsplit_once(':').unwrap().1.parse().unwrap();
        let with =
            |mode: &str| Store::temporary_on(&crate::support::by_port(&options, port, mode), &[]);
        let text = "SELECT CAST(count(*) AS bigint) FROM pg_settings \
                    WHERE name = 'ssl' AND setting = 'on'";
        let rows = with("sslmode=disable").unwrap().query_blocking(Sql::new(text, vec![]));
        if rows.unwrap()[0][0].as_integer() == Some(1) {
            println!("skipped: the PostgreSQL has ssl = on");
            continue;
        }

        assert!(with("sslmode=prefer").is_ok());
        let Err(StoreError::Unusable(why)) = with("sslmode=require") else {
            panic!("it is not required")
        };
        assert!(why.contains("turn ssl on in the server"), "{why}");
    }
}
