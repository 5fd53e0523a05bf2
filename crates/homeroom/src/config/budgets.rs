//! How much requests share, and how much of it may wait.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::duration::HumanDuration;

/// How much requests share and how much may wait.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsConfig {
    /// Maximum number of requests in flight that read many documents. Default: 512.
    pub lists: u32,
    /// Maximum number of lists and counts that wait for a thread or a connection of the store.
    /// Default: 512.
    pub store_lists: u32,
    /// The same for filters without an index. Default: 512.
    pub store_scans: u32,
    /// Number of connections to PostgreSQL on which lists and counts run, one at a time on each. Default: 4.
    pub store_list_connections: u32,
    /// The same for filters without an index. Default: 2.
    pub store_scan_connections: u32,
    /// Maximum number of reads of single documents that PostgreSQL has not answered; further ones wait.
    /// Default: 512.
    pub store_probes: u32,
    /// Maximum number of callers that wait until their key, which this node does not know yet, is read from
    /// PostgreSQL. Default: 1024.
    pub key_lookups: u32,
    /// Maximum number of batches that are read at the same time. Default: 16.
    pub batches: u32,
    /// How many of them one key may have. Default: 4.
    pub batches_of_key: u32,
    /// Maximum number of chunks of batches that are checked at the same time. Default: 2.
    pub batch_checks: u32,
    /// Maximum number of bodies of more than 64 KiB that are parsed at the same time. Default: 2.
    pub large_bodies: u32,
    /// Maximum number of long lists that are compressed at the same time. Default: 2.
    pub compressed_lists: u32,
    /// Maximum number of calls to the upstreams of a published API at a time; where answers become
    /// slow, there are fewer. Default: 4096.
    pub upstream_calls: u32,
    /// Maximum number of calls of an API that wait for their turn. Default: 4096.
    pub upstream_waiting: u32,
    /// Longest wait of such a call. Default: `500ms`.
    pub upstream_wait: HumanDuration,
    /// Maximum number of request bodies on their way to the upstreams of an API, and of connections that
    /// have changed their protocol. Default: 4096.
    pub upstream_streams: u32,
    /// Maximum number of requests that wait until the keys of their tokens' issuers are read; those of one
    /// issuer have at most half of what is free. Default: 1024.
    pub issuer_keys: u32,
    /// Maximum number of tokens of an issuer that are remembered as checked; beyond it some are checked again
    /// when they are used. Default: 10000.
    pub issuer_tokens: u32,
    /// Maximum number of bodies of more than 64 KiB that published APIs change at a time. Default: none,
    /// half as many as there are cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transforms: Option<u32>,
    /// Maximum size of these bodies and of what they are changed to, in MiB; 64 of them are for one body alone
    /// that finds no more room. Default: 192.
    pub transform_bytes_mib: u32,
    /// Maximum size of open HTTP/2 requests, without their bodies, in MiB. Default: 64.
    pub streams_mib: u32,
    /// Maximum size of request bodies on public routes, in MiB. Default: 32.
    pub stranger_bodies_mib: u32,
    /// Maximum size of all other request bodies that do not arrive at once, in MiB. Default: 256.
    pub bodies_mib: u32,
    /// Maximum size of large answers that their callers have not read, in MiB. Default: 512.
    pub answers_mib: u32,
    /// The same for answers on public routes. Default: 128.
    pub public_answers_mib: u32,
    /// Maximum size of answers that wait for room among these, in MiB. Default: 64.
    pub waiting_answers_mib: u32,
    /// The same for answers on public routes. Default: 16.
    pub waiting_public_answers_mib: u32,
    /// Maximum number of connections that wait for a place because their address has used up its
    /// share. Default: 16.
    pub waiting_connections: u32,
    /// Maximum number of requests that wait until a large metadata document is written. Default: 32.
    pub metadata_documents: u32,
    /// Maximum number of connections whose next request is read and worked on in a round, where requests of one
    /// client are in the way of others; further ones wait, and clients take turns. Default: none, 8 for each core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrance: Option<u32>,
    /// Maximum number of requests that wait for a place; further ones are refused at once. Default: 4096.
    pub waiting_requests: u32,
    /// Maximum number of refusals that are held for a moment where there are many; further ones are sent at
    /// once. Default: 4096.
    pub held_refusals: u32,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self {
            lists: 512,
            store_lists: 512,
            store_scans: 512,
            store_list_connections: 4,
            store_scan_connections: 2,
            store_probes: 512,
            key_lookups: 1_024,
            batches: 16,
            batches_of_key: 4,
            batch_checks: 2,
            large_bodies: 2,
            compressed_lists: 2,
            upstream_calls: 4_096,
            upstream_waiting: 4_096,
            upstream_wait: HumanDuration(Duration::from_millis(500)),
            upstream_streams: 4_096,
            issuer_keys: 1_024,
            issuer_tokens: 10_000,
            transforms: None,
            transform_bytes_mib: 192,
            streams_mib: 64,
            stranger_bodies_mib: 32,
            bodies_mib: 256,
            answers_mib: 512,
            public_answers_mib: 128,
            waiting_answers_mib: 64,
            waiting_public_answers_mib: 16,
            waiting_connections: 16,
            metadata_documents: 32,
            entrance: None,
            waiting_requests: 4_096,
            held_refusals: 4_096,
        }
    }
}

/// Returns the name of the first budget that has no room for anything.
pub(super) fn zero_budget(budgets: &BudgetsConfig) -> Option<&'static str> {
    [
        ("budgets.lists", budgets.lists),
        ("budgets.store_lists", budgets.store_lists),
        ("budgets.store_scans", budgets.store_scans),
        ("budgets.store_list_connections", budgets.store_list_connections),
        ("budgets.store_scan_connections", budgets.store_scan_connections),
        ("budgets.key_lookups", budgets.key_lookups),
        ("budgets.batches", budgets.batches),
        ("budgets.batches_of_key", budgets.batches_of_key),
        ("budgets.batch_checks", budgets.batch_checks),
        ("budgets.large_bodies", budgets.large_bodies),
        ("budgets.compressed_lists", budgets.compressed_lists),
        ("budgets.upstream_calls", budgets.upstream_calls),
        ("budgets.upstream_waiting", budgets.upstream_waiting),
        ("budgets.upstream_streams", budgets.upstream_streams),
        ("budgets.issuer_keys", budgets.issuer_keys),
        ("budgets.issuer_tokens", budgets.issuer_tokens),
        ("budgets.transforms", budgets.transforms.unwrap_or(1)),
        ("budgets.streams_mib", budgets.streams_mib),
        ("budgets.stranger_bodies_mib", budgets.stranger_bodies_mib),
        ("budgets.bodies_mib", budgets.bodies_mib),
        ("budgets.answers_mib", budgets.answers_mib),
        ("budgets.public_answers_mib", budgets.public_answers_mib),
        ("budgets.waiting_answers_mib", budgets.waiting_answers_mib),
        ("budgets.waiting_public_answers_mib", budgets.waiting_public_answers_mib),
        ("budgets.waiting_connections", budgets.waiting_connections),
        ("budgets.metadata_documents", budgets.metadata_documents),
        ("budgets.entrance", budgets.entrance.unwrap_or(1)),
        ("budgets.waiting_requests", budgets.waiting_requests),
        ("budgets.held_refusals", budgets.held_refusals),
    ]
    .into_iter()
    .find_map(|(name, size)| (size == 0).then_some(name))
}
