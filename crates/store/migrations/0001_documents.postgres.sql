-- Kinds of documents, numbered once and for ever.
CREATE TABLE kind (
    id   integer NOT NULL PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- Canonical documents. `id` is dense and in order of creation. Texts change in place as long as a
-- page has room, and statistics follow a table that grows by loads.
CREATE TABLE doc (
    id       bigint NOT NULL PRIMARY KEY,
    uuid     uuid NOT NULL,
    kind     integer NOT NULL,
    key      uuid NOT NULL,
    cv       bigint NOT NULL,
    modified bigint NOT NULL,
    refs     bytea NOT NULL,
    body     text NOT NULL
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
CREATE UNIQUE INDEX doc_uuid ON doc (uuid);
CREATE UNIQUE INDEX doc_key ON doc (key);
CREATE INDEX doc_kind_id ON doc (kind, id);
CREATE INDEX doc_kind_cv ON doc (kind, cv);

-- Identities under an abstract base, one a document.
CREATE TABLE alias (
    id  bigint NOT NULL PRIMARY KEY,
    key uuid NOT NULL
);
CREATE UNIQUE INDEX alias_key ON alias (key);

-- Edges: who refers to `target`.
CREATE TABLE ref (
    target bigint NOT NULL,
    kind   integer NOT NULL,
    source bigint NOT NULL,
    PRIMARY KEY (target, kind, source)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- Exact numbers of documents by kind and block of 4,096 ids: counts and deep offsets.
CREATE TABLE tally (
    kind  integer NOT NULL,
    block bigint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (kind, block)
) WITH (fillfactor = 50);

-- What was deleted.
CREATE TABLE tomb (
    cv         bigint NOT NULL PRIMARY KEY,
    kind       integer NOT NULL,
    uuid       uuid NOT NULL,
    key        uuid NOT NULL,
    key_values text NOT NULL,
    modified   bigint NOT NULL
);
CREATE INDEX tomb_kind_cv ON tomb (kind, cv);

-- The last id and the last change version. Who writes, on whichever node, holds this row until the
-- commit; so both are dense and in order of commit.
CREATE TABLE counter (
    name text NOT NULL PRIMARY KEY,
    id   bigint NOT NULL,
    cv   bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO counter (name, id, cv) VALUES ('writer', 0, 0);

-- The last transaction of each node that was committed: what a node looks up that has lost its
-- connection while it committed.
CREATE TABLE node (
    id   uuid NOT NULL PRIMARY KEY,
    txn  bigint NOT NULL,
    seen bigint NOT NULL
) WITH (fillfactor = 10);
