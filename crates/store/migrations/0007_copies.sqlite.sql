-- By what a copy of the store is told from the store itself: `file` is device and inode of the file;
-- `copied` is the moment at which this copy was taken, in microseconds since 1970, until somebody
-- writes to it.
CREATE TABLE place (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Change versions that the store has passed over, first and last: another one, of which it is a
-- copy, has given them out or may have. None of them is a document's.
CREATE TABLE passed_over (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
);

-- How many rows there are of what was deleted: `part` is 0 for tombstones by kind, 1 for past ties
-- by label.
CREATE TABLE gone (
    part INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (part, kind)
) WITHOUT ROWID;
INSERT INTO gone (part, kind, n) SELECT 0, kind, count(*) FROM tomb GROUP BY kind;
INSERT INTO gone (part, kind, n) SELECT 1, label, count(*) FROM past_tie GROUP BY label;

-- The number that the deleted document had; 0 for what was deleted before this was kept.
ALTER TABLE tomb ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
