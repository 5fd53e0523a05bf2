-- Which data standard the documents are of. One row, from the first opening on; a store that is
-- older than this table takes the standard that it is opened with next.
CREATE TABLE standard (
    id          BIGINT NOT NULL PRIMARY KEY,
    schema_name TEXT NOT NULL,
    version     TEXT NOT NULL
);
