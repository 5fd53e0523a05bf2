-- What is published, one row for each plan, API and OpenAPI document, with the version of its last change; a place
-- orders plans, and APIs, as files state them. `published_state` counts the changes, of subscriptions too, and has
-- the version of the last one that removed rows. A server moves what `published` has here when it starts.
CREATE TABLE published_item (
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    place      BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX published_item_version ON published_item (kind, version, name);
CREATE TABLE published_state (
    id      BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    removed BIGINT NOT NULL
);
INSERT INTO published_state (id, version, removed) VALUES (1, 0, 0);

ALTER TABLE subscription ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
CREATE INDEX subscription_version ON subscription (version, api_key);
