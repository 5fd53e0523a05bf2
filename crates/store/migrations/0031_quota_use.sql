-- How many calls each caller has had of a quota of a published API or a plan, in a unit of time from `begun` to `ends`
-- (microseconds since 1970). Nodes add what they have admitted every few seconds. `since` is the version with which the
-- API or the plan was published, and stays while it is: rows of what was withdrawn before are not found any more.
-- Rows are removed some time after their unit of time is over, or what they are of is withdrawn.
ALTER TABLE published_item ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
CREATE TABLE quota_use (
    kind    TEXT NOT NULL,
    owner   TEXT NOT NULL,
    since   BIGINT NOT NULL,
    counter TEXT NOT NULL,
    caller  TEXT NOT NULL,
    begun   BIGINT NOT NULL,
    ends    BIGINT NOT NULL,
    calls   BIGINT NOT NULL,
    PRIMARY KEY (kind, owner, since, counter, caller, begun)
);
CREATE INDEX quota_use_ends ON quota_use (ends);
