//! What must hold between the tables, whichever database keeps them.

/// What is wrong, and a statement that gives an example of it.
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
        "the kept counts differ from the documents",
        "SELECT 'kind ' || kind FROM (SELECT kind, sum(n) AS n FROM tally GROUP BY kind) t WHERE n <> (SELECT count(*) FROM doc WHERE doc.kind = t.kind) LIMIT 1",
    ),
    (
        "documents of a kind are not counted",
        "SELECT 'kind ' || kind FROM doc WHERE kind NOT IN (SELECT kind FROM tally) LIMIT 1",
    ),
];
