-- Ties: `item` is held by `holder`, because the document `via` says so; `label` says in which
-- sense. A holder may be an item itself, of another label or of the same.
CREATE TABLE tie (
    label  integer NOT NULL,
    item   bigint NOT NULL,
    holder bigint NOT NULL,
    via    bigint NOT NULL,
    PRIMARY KEY (label, item, holder, via)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
CREATE INDEX tie_holder ON tie (label, holder, item);

-- Ties of documents that were deleted.
CREATE TABLE past_tie (
    label  integer NOT NULL,
    item   bigint NOT NULL,
    holder bigint NOT NULL,
    via    bigint NOT NULL,
    PRIMARY KEY (label, item, holder, via)
);
CREATE INDEX past_tie_holder ON past_tie (label, holder, item);

-- The marks that a deleted document had.
ALTER TABLE tomb ADD COLUMN marks bytea NOT NULL DEFAULT '\x00000000';

-- Whose documents a client may touch where it is authorized by ownership (a JSON array), and whose
-- its own are.
ALTER TABLE api_client ADD COLUMN ownership_tokens TEXT NOT NULL DEFAULT '[]';
ALTER TABLE api_client ADD COLUMN creator_token BIGINT;
