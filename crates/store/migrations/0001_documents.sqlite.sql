-- Kinds of documents, numbered once and for ever.
CREATE TABLE kind (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Canonical documents. `id` is dense and in order of creation.
CREATE TABLE doc (
    id       INTEGER PRIMARY KEY,
    uuid     BLOB NOT NULL,
    kind     INTEGER NOT NULL,
    key      BLOB NOT NULL,
    cv       INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    refs     BLOB NOT NULL,
    body     TEXT NOT NULL
);
CREATE UNIQUE INDEX doc_uuid ON doc (uuid);
CREATE UNIQUE INDEX doc_key ON doc (key);
CREATE INDEX doc_kind_id ON doc (kind, id);
CREATE INDEX doc_kind_cv ON doc (kind, cv);

-- Identities under an abstract base, one a document.
CREATE TABLE alias (
    id  INTEGER PRIMARY KEY,
    key BLOB NOT NULL
);
CREATE UNIQUE INDEX alias_key ON alias (key);

-- The greatest id that a deleted document had, where no later one was made before: ids are never
-- used twice, because page tokens name them.
CREATE TABLE high_water (
    name TEXT NOT NULL PRIMARY KEY,
    id   INTEGER NOT NULL
) WITHOUT ROWID;

-- Edges: who refers to `target`.
CREATE TABLE ref (
    target INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (target, kind, source)
) WITHOUT ROWID;

-- Exact numbers of documents by kind and block of 4,096 ids: counts and deep offsets.
CREATE TABLE tally (
    kind  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (kind, block)
) WITHOUT ROWID;

-- What was deleted.
CREATE TABLE tomb (
    cv         INTEGER PRIMARY KEY,
    kind       INTEGER NOT NULL,
    uuid       BLOB NOT NULL,
    key        BLOB NOT NULL,
    key_values TEXT NOT NULL,
    modified   INTEGER NOT NULL
);
CREATE INDEX tomb_kind_cv ON tomb (kind, cv);
