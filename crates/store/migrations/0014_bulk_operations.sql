-- Bulk operations: files that a client uploads in chunks, each a blob, and that one job loads. An
-- operation waits for its upload until it `expires`, and is kept until then once it has ended. The
-- exceptions of a file are a blob with a line each; `marks` is where some of its lines begin. What is
-- wrong with an upload itself is its `fault`. Times are microseconds.
CREATE TABLE bulk_operation (
    id            TEXT NOT NULL PRIMARY KEY,
    owner         TEXT NOT NULL,
    school_year   BIGINT NOT NULL,
    status        TEXT NOT NULL,
    organizations TEXT NOT NULL,
    fingerprint   TEXT,
    job           TEXT,
    summary       TEXT,
    created       BIGINT NOT NULL,
    changed       BIGINT NOT NULL,
    expires       BIGINT NOT NULL
);
CREATE INDEX bulk_operation_owner ON bulk_operation (owner, status);
CREATE INDEX bulk_operation_expires ON bulk_operation (expires);

CREATE TABLE bulk_file (
    id          TEXT NOT NULL PRIMARY KEY,
    operation   TEXT NOT NULL,
    place       BIGINT NOT NULL,
    format      TEXT NOT NULL,
    interchange TEXT NOT NULL,
    bytes       BIGINT NOT NULL,
    status      TEXT NOT NULL,
    fault       TEXT,
    exceptions  TEXT,
    marks       TEXT
);
CREATE INDEX bulk_file_operation ON bulk_file (operation, place);

CREATE TABLE bulk_chunk (
    file       TEXT NOT NULL,
    first_byte BIGINT NOT NULL,
    bytes      BIGINT NOT NULL,
    blob       TEXT NOT NULL,
    PRIMARY KEY (file, first_byte)
);
