//! What COPY would bring: 200,000 documents with their edges, written in transactions of 1,000 by array
//! statements, as the store does, and by binary COPY, in turns:
//! `cargo run --release -p homeroom-store --example copy_or_arrays -- URL [ROUNDS]`.
//!
//! For each way the documents a second are told, and the processor time of the server's process for each.
#![expect(clippy::disallowed_methods, reason = "an example measures")]

use std::pin::pin;
use std::time::Instant;

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

const DOCUMENTS: i64 = 200_000;
/// Documents of a transaction, and rows of a statement.
const GROUP: usize = 1_000;
/// Documents that others refer to.
const TARGETS: i64 = 20_000;
const TABLES: &str = include_str!("../migrations/0001_documents.postgres.sql");

/// How documents and edges are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Arrays,
    ArraysWithSortedEdges,
    Copy,
    CopyWithSortedEdges,
}

const WAYS: [Way; 4] =
    [Way::Arrays, Way::Copy, Way::ArraysWithSortedEdges, Way::CopyWithSortedEdges];

struct Document {
    id: i64,
    uuid: Uuid,
    key: Uuid,
    refs: Vec<u8>,
    body: String,
}

/// An edge: target, kind and source.
type Edge = (i64, i32, i64);

/// Mixes the bits of a number.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn below(number: u64, end: i64) -> i64 {
    i64::try_from(mixed(number) >> 1).unwrap_or_default() % end
}

/// Returns the documents from one number on, and their edges.
fn group(first: i64) -> (Vec<Document>, Vec<Edge>) {
    let (mut documents, mut edges) = (vec![], vec![]);
    for id in first..first + i64::try_from(GROUP).unwrap_or_default() {
        let seed = id.unsigned_abs() * 16;
        for at in 0..3 + (seed / 16) % 2 {
            edges.push((below(seed + at, TARGETS), 7, id));
        }
        let key = (u128::from(mixed(seed + 8)) << 64) | u128::from(mixed(seed + 9));
        documents.push(Document {
            id,
            // Their first bytes are a time.
            uuid: Uuid::from_u128((u128::from(id.unsigned_abs()) << 70) | (key >> 60)),
            key: Uuid::from_u128(key),
            refs: vec![7; 40],
            body: format!("{{\"name\":{id},\"text\":\"{}\"}}", "abcdefg ".repeat(80)),
        });
    }
    edges.sort_unstable();
    edges.dedup();
    edges.sort_unstable_by_key(|(_, _, source)| *source);
    (documents, edges)
}

const CREATE: &str = "INSERT INTO doc (id, uuid, kind, key, cv, modified, refs, body) \
     SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::integer[], $4::uuid[], $5::bigint[], \
     $6::bigint[], $7::bytea[], $8::text[])";
const EDGES: &str = "INSERT INTO ref (target, kind, source) \
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[])";
const COPY: &str =
    "COPY doc (id, uuid, kind, key, cv, modified, refs, body) FROM STDIN (FORMAT binary)";
const COPY_EDGES: &str = "COPY ref (target, kind, source) FROM STDIN (FORMAT binary)";

type Done = Result<(), tokio_postgres::Error>;

async fn by_arrays(client: &Client, documents: &[Document], edges: &[Edge]) -> Done {
    let create = client.prepare(CREATE).await?;
    let edge = client.prepare(EDGES).await?;
    let ids: Vec<i64> = documents.iter().map(|d| d.id).collect();
    let uuids: Vec<Uuid> = documents.iter().map(|d| d.uuid).collect();
    let kinds = vec![7; documents.len()];
    let keys: Vec<Uuid> = documents.iter().map(|d| d.key).collect();
    let refs: Vec<&[u8]> = documents.iter().map(|d| &*d.refs).collect();
    let bodies: Vec<&str> = documents.iter().map(|d| &*d.body).collect();
    let opening = client.batch_execute("BEGIN");
    let values: [&(dyn ToSql + Sync); 8] =
        [&ids, &uuids, &kinds, &keys, &ids, &ids, &refs, &bodies];
    let created = client.execute(&create, &values);
    let columns: Vec<(Vec<i64>, Vec<i32>, Vec<i64>)> = edges
        .chunks(GROUP)
        .map(|some| {
            let targets = some.iter().map(|(target, ..)| *target).collect();
            let kinds = some.iter().map(|(_, kind, _)| *kind).collect();
            (targets, kinds, some.iter().map(|(.., source)| *source).collect())
        })
        .collect();
    let write = |at: usize| {
        let (edge, columns) = (&edge, &columns);
        async move {
            let Some((targets, kinds, sources)) = columns.get(at) else { return Ok(0) };
            client.execute(edge, &[targets, kinds, sources]).await
        }
    };
    // In one flight, as the store sends them. There are at most four groups of edges.
    let commit = client.batch_execute("COMMIT");
    let flown =
        tokio::join!(biased; opening, created, write(0), write(1), write(2), write(3), commit);
    let (begun, created, first, second, third, fourth, ended) = flown;
    begun?;
    for written in [created, first, second, third, fourth] {
        written?;
    }
    ended
}

async fn by_copy(client: &Client, documents: &[Document], edges: &[Edge]) -> Done {
    client.batch_execute("BEGIN").await?;
    let types = [
        Type::INT8,
        Type::UUID,
        Type::INT4,
        Type::UUID,
        Type::INT8,
        Type::INT8,
        Type::BYTEA,
        Type::TEXT,
    ];
    let mut out = pin!(BinaryCopyInWriter::new(client.copy_in(COPY).await?, &types));
    for Document { id, uuid, key, refs, body } in documents {
        out.as_mut().write(&[id, uuid, &7_i32, key, id, id, refs, body]).await?;
    }
    out.finish().await?;
    let types = [Type::INT8, Type::INT4, Type::INT8];
    let mut out = pin!(BinaryCopyInWriter::new(client.copy_in(COPY_EDGES).await?, &types));
    for (target, kind, source) in edges {
        out.as_mut().write(&[target, kind, source]).await?;
    }
    out.finish().await?;
    client.batch_execute("COMMIT").await
}

/// Returns the processor time of a process in seconds.
fn cpu_of(process: i32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    [11, 12].into_iter().filter_map(ticks).sum::<f64>() / 100.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the address of a database");
    let rounds = arguments.next().map_or(3, |n| n.parse().expect("a number of rounds"));
    for round in 1..=rounds {
        for way in WAYS {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
            let driving = tokio::spawn(connection);
            let fresh = "DROP SCHEMA IF EXISTS copy_or_arrays CASCADE; CREATE SCHEMA copy_or_arrays; \
                         SET search_path = copy_or_arrays;";
            client.batch_execute(fresh).await?;
            client.batch_execute(TABLES).await?;
            client.batch_execute("CHECKPOINT").await?;
            let process: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
            let (before, mut seconds) = (cpu_of(process), 0.0);
            for first in (1..=DOCUMENTS).step_by(GROUP) {
                let (documents, mut edges) = group(first);
                let begun = Instant::now();
                if matches!(way, Way::ArraysWithSortedEdges | Way::CopyWithSortedEdges) {
                    edges.sort_unstable();
                }
                match way {
                    Way::Arrays | Way::ArraysWithSortedEdges => {
                        by_arrays(&client, &documents, &edges).await?;
                    }
                    Way::Copy | Way::CopyWithSortedEdges => {
                        by_copy(&client, &documents, &edges).await?;
                    }
                }
                seconds += begun.elapsed().as_secs_f64();
            }
            let cpu = cpu_of(process) - before;
            let count = f64::from(u32::try_from(DOCUMENTS).unwrap_or_default());
            println!(
                "round {round}, {way:?}: {:.0} documents/s, {:.1} µs of the server's process each",
                count / seconds,
                cpu * 1e6 / count
            );
            client.batch_execute("DROP SCHEMA copy_or_arrays CASCADE").await?;
            drop(client);
            _ = driving.await;
        }
    }
    Ok(())
}
