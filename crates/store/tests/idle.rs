//! An unused store does nothing. This test is alone in its process, so that all threads are the
//! store's.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::time::Duration;

use homeroom_store::{Decision, Plan, Sql, Store, Value, Write};

/// Returns how often each of the store's threads has gone to sleep, by thread.
fn sleeps() -> BTreeMap<String, u64> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    threads
        .filter_map(|thread| {
            let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
            let field = |name: &str| {
                let line = status.lines().find(|line| line.starts_with(name))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            };
            let name = field("Name").filter(|name| name.starts_with("store-"))?;
            let number = field("Pid")?;
            Some((format!("{name} {number}"), field("voluntary_ctxt_switches")?.parse().ok()?))
        })
        .collect()
}

#[test]
fn the_threads_of_an_idle_store_do_not_wake_up() {
    let store = Store::temporary(&[]).unwrap();
    let plan = Plan {
        ask: vec![],
        decide: |_| -> Decision<(), ()> {
            let text = "INSERT INTO server_key (name, bytes, created) VALUES ('x', ?1, 0)";
            let arguments = vec![Value::Text("x".repeat(8 << 20))];
            Decision::Write(vec![Write::Sql(Sql::new(text, arguments))], ())
        },
    };
    store.run_blocking(plan).unwrap();

    // The large log is emptied after a while; then there is nothing left to do.
    let is_quiet = (0..60).any(|_| {
        let before = sleeps();
        std::thread::sleep(Duration::from_secs(1));
        store.load().log_bytes == 0 && before == sleeps()
    });

    assert!(is_quiet, "{:?}", sleeps());
    assert!(sleeps().len() >= 3, "{:?}", sleeps());
}
