-- Tokens that their clients have taken back, by their BLAKE3 hash in hex, until they end (seconds since 1970).
CREATE TABLE revoked_token (
    hash    TEXT NOT NULL PRIMARY KEY,
    api_key TEXT NOT NULL,
    ends    BIGINT NOT NULL
);
CREATE INDEX revoked_token_ends ON revoked_token (ends);

-- One row, counted up with each of them, so that other processes notice.
CREATE TABLE revocation (
    id     BIGINT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO revocation (id, number) VALUES (1, 0);
