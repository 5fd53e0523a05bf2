//! What an app's store has, beside the APIs.

use std::sync::Arc;

use homeroom_document::audit;
use homeroom_store::{ChangedAt, Decision, Plan, Snapshot, SnapshotOptions, Sql, Store, Write};

use super::TestApp;

impl TestApp {
    /// Writes JSON lines of `resource` and `document` to the store directly.
    pub async fn seed(&self, lines: &str) {
        let (data, lines) = (self.data.clone(), lines.to_owned());
        let seeded = tokio::task::spawn_blocking(move || {
            homeroom_document::seed(&data.catalog, &data.store, &lines, ChangedAt::now())
        });
        seeded.await.unwrap().unwrap();
    }

    /// Returns the faults in data derived from the store's documents, in its tables and beside the
    /// texts.
    pub fn wrongly_derived(&self) -> Vec<String> {
        let (url, model) = (self.data.store.url().clone(), Arc::clone(&self.data.catalog.model));
        // A snapshot blocks on its reads, which a thread of the runtime must not.
        let looking = std::thread::spawn(move || {
            let mut problems = Store::check(&url).unwrap().problems;
            let snapshot = Snapshot::open(&url, &SnapshotOptions::default()).unwrap();
            let found = audit(&model, &snapshot, &mut |_| {}).unwrap();
            assert_eq!(found.left_out, [""; 0]);
            problems.extend(found.problems);
            problems.extend(found.misfits);
            problems
        });
        looking.join().unwrap()
    }

    /// Changes rows in a way that Homeroom itself never does.
    pub async fn damage(&self, text: &'static str, arguments: Vec<homeroom_store::Value>) {
        let mut writes = Some(vec![Write::Sql(Sql::new(text, arguments))]);
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<homeroom_store::Answer>| -> Decision<(), String> {
                Decision::Write(writes.take().unwrap_or_default(), ())
            },
        };
        self.data.store.run(plan).await.map(|_| ()).unwrap();
    }
}
