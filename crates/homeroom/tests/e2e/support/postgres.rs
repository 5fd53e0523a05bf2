//! PostgreSQL databases for single tests.

use tokio_postgres::NoTls;

/// The environment variable with the URLs of the databases beside which tests create their own,
/// separated by blanks.
const VARIABLE: &str = "HOMEROOM_TEST_POSTGRES";

/// A database that is dropped with the value.
pub struct Database {
    beside: String,
    name: String,
}

impl Database {
    /// Creates one on each server that the environment names.
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

    /// Returns its URL.
    pub fn url(&self) -> String {
        let (server, _) = self.beside.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    /// Copies all tables with their rows into another schema.
    pub fn copy_to(&self, schema: &str) {
        self.within(&format!(
            "CREATE SCHEMA {schema}; DO $$ DECLARE t text; BEGIN \
             FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP \
             EXECUTE format('CREATE TABLE {schema}.%I (LIKE public.%I INCLUDING ALL)', t, t); \
             EXECUTE format('INSERT INTO {schema}.%I SELECT * FROM public.%I', t, t); \
             END LOOP; END $$"
        ));
    }

    /// Replaces the tables with those of another schema.
    pub fn replace_by(&self, schema: &str) {
        self.within(&format!("DROP SCHEMA public CASCADE; ALTER SCHEMA {schema} RENAME TO public"));
    }

    /// Replaces the rows of the tables with those of another schema.
    pub fn fill_from(&self, schema: &str) {
        self.within(&format!(
            "DO $$ DECLARE t text; BEGIN \
             FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' LOOP \
             EXECUTE format('DELETE FROM public.%I', t); \
             EXECUTE format('INSERT INTO public.%I SELECT * FROM {schema}.%I', t, t); \
             END LOOP; END $$"
        ));
    }

    /// Runs SQL statements in the database, as its owner.
    pub fn within(&self, statements: &str) {
        tell(&self.url(), statements);
    }

    /// Returns the folder of the files with the database's tables, if it is on this machine and may be read.
    pub fn folder(&self) -> Option<std::path::PathBuf> {
        let ask = "SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database \
                   WHERE datname = current_database()";
        let folder = std::path::PathBuf::from(first(&self.url(), ask)?);
        std::fs::read_dir(&folder).is_ok().then_some(folder)
    }

    fn tell(&self, statement: &str) {
        tell(&self.beside, statement);
    }
}

fn tell(url: &str, statements: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        client.batch_execute(statements).await.unwrap();
        drop(client);
        _ = driver.await;
    });
}

/// Returns the text that a statement finds first.
fn first(url: &str, statement: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let found = client.query_one(statement, &[]).await;
        drop(client);
        _ = driver.await;
        found.ok()?.try_get(0).ok()
    })
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.tell(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
