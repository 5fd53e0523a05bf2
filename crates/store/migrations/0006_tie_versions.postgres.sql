-- When ties were last changed: a version for each label that ever had a change, and in one row each
-- that of any change (-1) and of a change nobody has looked into (-2). Nodes remember where ties
-- lead, and by these they know whether that still holds.
CREATE TABLE tie_version (
    label   integer NOT NULL PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO tie_version (label, version) VALUES (-1, 0), (-2, 0);
