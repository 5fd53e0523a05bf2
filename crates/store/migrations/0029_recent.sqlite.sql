-- The documents by identity, in a table of their own: what has been moved to it from memory, in order.
CREATE TABLE identity (
    key BLOB NOT NULL PRIMARY KEY,
    id  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO identity (key, id) SELECT key, id FROM doc ORDER BY key;
DROP INDEX IF EXISTS doc_key;

-- One row: the number of the last commit that changed identities or edges, and how far these have been
-- moved to their tables. All of documents up to `done` are there, and of those up to `upto` the ones
-- before the place of the sweep; without a place, all of them. What is missing is in the documents.
CREATE TABLE recent (
    one         INTEGER PRIMARY KEY,
    number      INTEGER NOT NULL,
    key_done    INTEGER NOT NULL,
    key_upto    INTEGER NOT NULL,
    key_hand    BLOB,
    edge_done   INTEGER NOT NULL,
    edge_upto   INTEGER NOT NULL,
    edge_target INTEGER,
    edge_kind   INTEGER,
    edge_source INTEGER
);
INSERT INTO recent (one, number, key_done, key_upto, edge_done, edge_upto)
SELECT 1, 0, n, n, n, n FROM (
    SELECT max(coalesce((SELECT max(id) FROM doc), 0),
               coalesce((SELECT id FROM high_water WHERE name = 'doc'), 0)) AS n
);

-- A direct load that was interrupted has left out an index that is no more.
UPDATE place SET value = '' WHERE name = 'left_out';
