//! PostgreSQL databases of a test's own.

use tokio_postgres::NoTls;

/// Names the databases beside which tests make their own, divided by blanks.
const VARIABLE: &str = "HOMEROOM_TEST_POSTGRES";

/// A database that goes with its value.
pub struct Database {
    beside: String,
    name: String,
}

impl Database {
    /// One on each server that the environment names.
    pub fn on_each_server() -> Vec<Self> {
        let named = std::env::var(VARIABLE).unwrap_or_default();
        if named.trim().is_empty() {
            println!("skipped: {VARIABLE} names no PostgreSQL");
        }
        named.split_whitespace().map(Self::beside).collect()
    }

    fn beside(url: &str) -> Self {
        let name =
            format!("hr_e2e_{}_{}", std::process::id(), super::Random::seeded().below(1 << 30));
        let database = Self { beside: url.to_owned(), name };
        database.tell(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let (server, _) = self.beside.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    fn tell(&self, statement: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.beside, NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            client.batch_execute(statement).await.unwrap();
            drop(client);
            _ = driver.await;
        });
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.tell(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
