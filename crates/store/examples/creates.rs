//! Durable creates a second by 64 tasks, three edges each:
//! `cargo run --release -p homeroom-store --example creates -- URL [SECONDS]`.
#![expect(clippy::disallowed_methods, reason = "an example measures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use homeroom_store::{
    Answer, Ask, Decision, KindId, NaturalKey, NewDocument, Options, Plan, References, Store, Uuid,
    Write,
};

const TASKS: u64 = 64;
const TARGETS: u64 = 1_000;

fn key(name: u64) -> NaturalKey {
    NaturalKey::of("k", [&name.to_le_bytes()[..]])
}

fn document(name: u64) -> NewDocument {
    NewDocument {
        uuid: Uuid::new(),
        kind: KindId(1),
        key: key(name),
        alias: None,
        body: format!("{{\"name\":{name},\"text\":\"{}\"}}", "x".repeat(1_200)),
        references: References::default(),
        ties: vec![],
        modified: 1,
    }
}

/// Looks the document and its targets up, then creates it.
async fn create(store: &Store, name: u64, targets: Vec<u64>) {
    let mut round = 0;
    let plan = Plan {
        ask: vec![Ask::Document(key(name))],
        decide: move |found: Vec<Answer>| -> Decision<(), String> {
            round += 1;
            if round == 1 && !targets.is_empty() {
                return Decision::Ask(targets.iter().map(|name| Ask::Target(key(*name))).collect());
            }
            let mut new = document(name);
            for answer in found {
                if let Answer::Target(Some((id, ..))) = answer {
                    new.references.others.push(id);
                }
            }
            Decision::Write(vec![Write::Create(new)], ())
        },
    };
    store.run(plan).await.unwrap_or_else(|refused| panic!("{refused:?}"));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the address of a store");
    let seconds = arguments.next().map_or(5, |n| n.parse().expect("a number of seconds"));
    let options = Options::new(url.parse().expect("sqlite:PATH or postgres://…"));
    let store = Store::temporary_on(&options, &["a".into()]).expect("the store opens");
    for name in 0..TARGETS {
        create(&store, name, vec![]).await;
    }
    let (next, begun) = (Arc::new(AtomicU64::new(TARGETS)), Instant::now());
    let end = begun + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (store, next) = (store.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = vec![];
                while Instant::now() < end {
                    let name = next.fetch_add(1, Ordering::Relaxed);
                    let asked = Instant::now();
                    let target = |step: u64| (name * 7_919 + step * 104_729) % TARGETS;
                    create(&store, name, (0..3).map(target).collect()).await;
                    times.push(asked.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = vec![];
    for task in tasks {
        times.extend(task.await.expect("a task ends"));
    }
    times.sort_unstable();
    println!(
        "{:.0} creates/s, p50 {:?}, p99 {:?}",
        times.len() as f64 / begun.elapsed().as_secs_f64(),
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}
