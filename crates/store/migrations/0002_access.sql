-- What the server keeps to itself, as hex text: the key that secrets are hashed with, the keys that
-- tokens are signed with.
CREATE TABLE server_key (
    name    TEXT NOT NULL PRIMARY KEY,
    bytes   TEXT NOT NULL,
    created BIGINT NOT NULL
);

-- Who may call. Scopes are divided by blanks; the two lists are JSON arrays; times are microseconds.
CREATE TABLE api_client (
    api_key                 TEXT NOT NULL PRIMARY KEY,
    application             TEXT NOT NULL,
    claim_set               TEXT,
    scopes                  TEXT NOT NULL,
    education_organizations TEXT NOT NULL,
    namespace_prefixes      TEXT NOT NULL,
    created                 BIGINT NOT NULL,
    revoked                 BIGINT
);

-- Live secrets of a client, as keyed hashes in hex; one that is revoked is gone. An id is never
-- used twice, because tokens name it.
CREATE TABLE api_client_secret (
    id          TEXT NOT NULL PRIMARY KEY,
    api_key     TEXT NOT NULL,
    hash        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    valid_until BIGINT
);
CREATE INDEX api_client_secret_key ON api_client_secret (api_key);

-- Claim sets beside the shipped ones; `folded` is the name without blanks, hyphens and case.
CREATE TABLE claim_set (
    folded     TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    definition TEXT NOT NULL,
    changed    BIGINT NOT NULL
);

-- One row, counted up by every change to the tables above, so that other processes notice.
CREATE TABLE access_version (
    id      BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL
);
INSERT INTO access_version (id, version) VALUES (1, 0);
