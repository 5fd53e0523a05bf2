-- A lane: a part's tables, written in order with each other and beside everything else. A transaction
-- of a lane holds its row until the commit; one that may write documents holds the rows of the lanes
-- that it reads or writes. The migration that brings a part's tables inserts its lane.
CREATE TABLE lane (
    name TEXT NOT NULL PRIMARY KEY
) WITH (fillfactor = 10);
INSERT INTO lane (name) VALUES ('blob'), ('bulk'), ('course'), ('job'), ('limit'), ('published');
