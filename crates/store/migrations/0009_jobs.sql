-- Work that is done later, once, by whichever node takes it. `due` is the moment at which something is
-- to be done next: a queued job may begin then, and the lease of a running one ends then. What has
-- ended has the moment of its end there, and is removed when it `expires`. Times are microseconds.
CREATE TABLE job (
    id         TEXT NOT NULL PRIMARY KEY,
    kind       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    state      TEXT NOT NULL,
    input      TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    node       TEXT,
    unwanted   BIGINT NOT NULL,
    progress   TEXT,
    result     TEXT,
    error      TEXT,
    created    BIGINT NOT NULL,
    changed    BIGINT NOT NULL,
    due        BIGINT NOT NULL,
    expires    BIGINT
);
CREATE INDEX job_owner ON job (state, owner, kind, due, id);
CREATE INDEX job_due ON job (state, kind, due);
CREATE INDEX job_expires ON job (expires);

-- When an owner's last job of a kind was taken: whoever has waited longest has the next turn.
CREATE TABLE job_turn (
    kind  TEXT NOT NULL,
    owner TEXT NOT NULL,
    taken BIGINT NOT NULL,
    PRIMARY KEY (kind, owner)
);
