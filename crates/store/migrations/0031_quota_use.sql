-- How many calls each caller has had of a quota of a published API or a plan, in a unit of time from `begun` to `ends`
-- (microseconds since 1970). Nodes add what they have admitted every few seconds. A row is removed when its unit of
-- time is over, and with what it is of.
CREATE TABLE quota_use (
    kind    TEXT NOT NULL,
    owner   TEXT NOT NULL,
    counter TEXT NOT NULL,
    caller  TEXT NOT NULL,
    begun   BIGINT NOT NULL,
    ends    BIGINT NOT NULL,
    calls   BIGINT NOT NULL,
    PRIMARY KEY (kind, owner, counter, caller, begun)
);
CREATE INDEX quota_use_ends ON quota_use (ends);
