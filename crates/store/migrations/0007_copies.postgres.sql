-- By what a copy of the store is told from the store itself: identifier and timeline of the server,
-- numbers of the database and of a table, as far as the server tells them.
CREATE TABLE place (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- Change versions that the store has passed over, first and last: another one, of which it is a
-- copy, has given them out or may have. None of them is a document's.
CREATE TABLE passed_over (
    first bigint NOT NULL PRIMARY KEY,
    last  bigint NOT NULL
);

-- How many rows there are of what was deleted: `part` is 0 for tombstones by kind, 1 for past ties
-- by label.
CREATE TABLE gone (
    part bigint NOT NULL,
    kind integer NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (part, kind)
) WITH (fillfactor = 10);
INSERT INTO gone (part, kind, n) SELECT 0, kind, count(*) FROM tomb GROUP BY kind;
INSERT INTO gone (part, kind, n) SELECT 1, label, count(*) FROM past_tie GROUP BY label;

-- The number that the deleted document had; 0 for what was deleted before this was kept.
ALTER TABLE tomb ADD COLUMN number bigint NOT NULL DEFAULT 0;
