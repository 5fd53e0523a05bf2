//! What a change of a JSON body costs, on one core: beside a tree of `serde_json`, which is read, changed and
//! written again.
//!
//! ```text
//! cargo run --release -p homeroom-apis --example transforms -- [ROUNDS]
//! ```
//!
//! Both ways begin with bytes, check that they are JSON in UTF-8, and end with bytes, with the allocator of the program.
//! Each round changes each body for a quarter of a second in each way; every second round begins with the other way.
//! Printed are the bodies a second, as the median, the least and the greatest of the rounds, and the ratio of the two
//! ways: the median of the rounds' ratios, the least and the greatest.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use homeroom_apis::{Operation, Transform};
use serde_json::{Map, Value, json};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The time of one way in one round.
const TIME: Duration = Duration::from_millis(250);
/// Sizes of bodies.
const SIZES: [(&str, usize); 2] = [("10 KiB", 10 << 10), ("100 KiB", 100 << 10)];

/// A change in both ways.
struct Case {
    name: &'static str,
    operations: Value,
    in_a_tree: fn(&mut Value),
}

/// Returns the changes that are measured.
fn cases() -> [Case; 2] {
    [
        Case {
            name: "each element of an array: one member renamed, one added",
            operations: json!([
                { "op": "rename", "path": "/records/*/name", "to": "title" },
                { "op": "add", "path": "/records/*/via", "value": "homeroom" },
            ]),
            in_a_tree: |body| {
                for record in body["records"].as_array_mut().into_iter().flatten() {
                    if let Some(record) = record.as_object_mut() {
                        renamed(record, "name", "title");
                        record.insert("via".to_owned(), "homeroom".into());
                    }
                }
            },
        },
        Case {
            name: "two members of the body",
            operations: json!([
                { "op": "rename", "path": "/size", "to": "length" },
                { "op": "rename", "path": "/records", "to": "content" },
            ]),
            in_a_tree: |body| {
                if let Some(body) = body.as_object_mut() {
                    renamed(body, "size", "length");
                    renamed(body, "records", "content");
                }
            },
        },
    ]
}

fn renamed(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.to_owned(), value);
    }
}

/// Returns a body of about this size.
fn body(bytes: usize) -> String {
    let record = |number: usize| {
        json!({
            "id": number, "name": format!("record {number}"), "amount": 12.5, "isActive": true,
            "note": "a text with an é and a quotation mark \" in it", "tags": ["a", "b"],
        })
    };
    let one = record(1_000).to_string().len() + 1;
    let records: Vec<Value> = (0..bytes / one).map(record).collect();
    json!({ "size": records.len(), "records": records }).to_string()
}

fn main() {
    let rounds =
        std::env::args().nth(1).map_or(5, |text| text.parse().expect("a number of rounds"));
    println!("| change, body | serde_json, bodies/s | here, bodies/s | here : serde_json |");
    println!("|---|---:|---:|---:|");
    for Case { name, operations, in_a_tree } in cases() {
        let operations: Vec<Operation> = serde_json::from_value(operations).expect("operations");
        let transform = Transform::new(&operations).expect("a transform");
        for (size, bytes) in SIZES {
            let body = body(bytes);
            let by_tree = || {
                let mut tree: Value = serde_json::from_slice(body.as_bytes()).expect("JSON");
                in_a_tree(&mut tree);
                serde_json::to_vec(&tree).expect("JSON")
            };
            let here = || transform.apply(body.as_bytes()).expect("JSON").into_owned();
            let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
            assert_eq!(read(&by_tree()), read(&here()), "both ways do the same");
            let (mut trees, mut ours, mut ratios) = (vec![], vec![], vec![]);
            for round in 0..rounds {
                let (tree, own) = if round % 2 == 0 {
                    let tree = rate(by_tree);
                    (tree, rate(here))
                } else {
                    let own = rate(here);
                    (rate(by_tree), own)
                };
                trees.push(tree);
                ours.push(own);
                ratios.push(own / tree);
            }
            let (trees, ours) = (told(&mut trees, 0), told(&mut ours, 0));
            let ratio = told(&mut ratios, 2);
            println!("| {name}, {size} | {trees} | {ours} | {ratio} |");
        }
    }
}

/// Returns how often something can be done in a second.
fn rate(work: impl Fn() -> Vec<u8>) -> f64 {
    let (begun, mut done) = (Instant::now(), 0_u32);
    while begun.elapsed() < TIME {
        black_box(work());
        done += 1;
    }
    f64::from(done) / begun.elapsed().as_secs_f64()
}

/// Returns values as median, least and greatest, with so many decimal places.
fn told(values: &mut [f64], places: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (least, greatest) = (values[0], values[values.len() - 1]);
    let median = values[values.len() / 2];
    format!("{median:.places$} ({least:.places$} – {greatest:.places$})")
}
