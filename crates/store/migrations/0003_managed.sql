-- What is managed beside keys and claim sets (vendors, applications, profiles, the instance). A
-- definition is a JSON object in the words of the Ed-Fi Admin API.
CREATE TABLE managed (
    kind       TEXT NOT NULL,
    id         BIGINT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);

-- The greatest id that anything of a kind has had, so that none is used twice.
CREATE TABLE managed_last (
    kind TEXT NOT NULL PRIMARY KEY,
    id   BIGINT NOT NULL
);

-- The application that a key belongs to, with the key's number and name there; `approved` is 0 for a
-- key that may not call for now.
CREATE TABLE application_client (
    api_key     TEXT NOT NULL PRIMARY KEY,
    id          BIGINT NOT NULL,
    application BIGINT NOT NULL,
    name        TEXT NOT NULL,
    approved    BIGINT NOT NULL
);
CREATE INDEX application_client_application ON application_client (application);
