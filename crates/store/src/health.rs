//! Consistency rules between the tables, the same for both databases.

/// Each kind of damage, with a statement that returns an example of it.
pub(crate) const CHECKS: &[(&str, &str)] = &[
    (
        "an edge begins at a document that does not exist",
        "SELECT 'document ' || source FROM ref r WHERE NOT EXISTS (SELECT 1 FROM doc WHERE id = r.source) LIMIT 1",
    ),
    (
        "an edge ends at a document that does not exist",
        "SELECT 'document ' || target FROM ref r WHERE NOT EXISTS (SELECT 1 FROM doc WHERE id = r.target) LIMIT 1",
    ),
    (
        "an identity under an abstract base has no document",
        "SELECT 'document ' || id FROM alias a WHERE NOT EXISTS (SELECT 1 FROM doc WHERE id = a.id) LIMIT 1",
    ),
    (
        "a document is of a kind that has no name",
        "SELECT 'document ' || id FROM doc d WHERE NOT EXISTS (SELECT 1 FROM kind WHERE id = d.kind) LIMIT 1",
    ),
    (
        "a tombstone is of a kind that has no name",
        "SELECT 'change version ' || cv FROM tomb t WHERE NOT EXISTS (SELECT 1 FROM kind WHERE id = t.kind) LIMIT 1",
    ),
    (
        "the kept counts differ from the documents",
        "SELECT 'kind ' || kind || ', block ' || block FROM (SELECT kind, id >> 12 AS block, count(*) AS n FROM doc GROUP BY kind, id >> 12 EXCEPT SELECT kind, block, n FROM tally) x LIMIT 1",
    ),
    (
        "the counts include documents that do not exist",
        "SELECT 'kind ' || kind || ', block ' || block FROM (SELECT kind, block, n FROM tally WHERE n <> 0 EXCEPT SELECT kind, id >> 12, count(*) FROM doc GROUP BY kind, id >> 12) x LIMIT 1",
    ),
    (
        "the number of tombstones differs from the kept count",
        "SELECT 'kind ' || kind FROM (SELECT kind, n FROM gone WHERE part = 0 AND n <> 0 EXCEPT SELECT kind, count(*) FROM tomb GROUP BY kind) x LIMIT 1",
    ),
    (
        "tombstones are not counted",
        "SELECT 'kind ' || kind FROM tomb t WHERE NOT EXISTS (SELECT 1 FROM gone g WHERE g.part = 0 AND g.kind = t.kind) LIMIT 1",
    ),
    (
        "ties of deleted documents are missing or in excess of their count",
        "SELECT 'label ' || kind FROM (SELECT kind, n FROM gone WHERE part = 1 AND n <> 0 EXCEPT SELECT label, count(*) FROM past_tie GROUP BY label) x LIMIT 1",
    ),
    (
        "ties of deleted documents are not counted",
        "SELECT 'label ' || label FROM past_tie t WHERE NOT EXISTS (SELECT 1 FROM gone g WHERE g.part = 1 AND g.kind = t.label) LIMIT 1",
    ),
    (
        "a tie is made by a document that does not exist",
        "SELECT 'document ' || via FROM tie t WHERE NOT EXISTS (SELECT 1 FROM doc WHERE id = t.via) LIMIT 1",
    ),
    (
        "a tie of a deleted document names one that exists",
        "SELECT 'document ' || via FROM past_tie t WHERE EXISTS (SELECT 1 FROM doc WHERE id = t.via) LIMIT 1",
    ),
    (
        "a deleted document exists",
        "SELECT 'change version ' || cv FROM tomb t WHERE EXISTS (SELECT 1 FROM doc WHERE uuid = t.uuid) OR EXISTS (SELECT 1 FROM doc WHERE id = t.number) LIMIT 1",
    ),
    (
        "a document has a change version that the store has passed over",
        "SELECT 'document ' || d.id FROM passed_over p JOIN doc d ON d.cv BETWEEN p.first AND p.last LIMIT 1",
    ),
    (
        "a deletion has a change version that the store has passed over",
        "SELECT 'change version ' || t.cv FROM passed_over p JOIN tomb t ON t.cv BETWEEN p.first AND p.last LIMIT 1",
    ),
    (
        "a document and a deletion have the same change version",
        "SELECT 'change version ' || t.cv FROM tomb t WHERE EXISTS (SELECT 1 FROM doc d WHERE d.kind = t.kind AND d.cv = t.cv) LIMIT 1",
    ),
    (
        "a count is negative",
        "SELECT 'kind ' || kind FROM (SELECT kind, n FROM tally UNION ALL SELECT kind, n FROM gone) x WHERE n < 0 LIMIT 1",
    ),
];

/// Message for a store whose tables are older than the checks.
pub(crate) const TOO_OLD_TO_CHECK: &str = "the tables: an older Homeroom made them; start this \
                                           version on the store once to bring them up to date";
