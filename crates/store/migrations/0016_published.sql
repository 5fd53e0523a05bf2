-- The plans and APIs that are published, as one JSON text, and what each key may call of them. The
-- version is greater after every change of either.
CREATE TABLE published (
    id         BIGINT NOT NULL PRIMARY KEY,
    version    BIGINT NOT NULL,
    definition TEXT NOT NULL
);
INSERT INTO published (id, version, definition) VALUES (1, 0, '');

CREATE TABLE subscription (
    api_key TEXT NOT NULL PRIMARY KEY,
    plan    TEXT,
    apis    TEXT NOT NULL,
    scopes  TEXT NOT NULL
);
