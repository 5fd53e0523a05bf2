-- Large bytes that are kept beside the store, under their ids: a file in a folder, or an object in a
-- bucket. One that was removed keeps its row until its bytes are gone. Times are microseconds, and the
-- hash is hex text.
CREATE TABLE blob (
    id         TEXT NOT NULL PRIMARY KEY,
    bytes      BIGINT NOT NULL,
    sha256     TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    created    BIGINT NOT NULL,
    removed    BIGINT
);
CREATE INDEX blob_removed ON blob (removed);

-- The mark of this store, which the folder of its blobs has, too: what another store's folder has is
-- not swept. One row, from the first blob on.
CREATE TABLE blob_store (
    name TEXT NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL
);
