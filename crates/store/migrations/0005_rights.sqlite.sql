-- Ties: `item` is held by `holder`, because the document `via` says so; `label` says in which
-- sense. A holder may be an item itself, of another label or of the same.
CREATE TABLE tie (
    label  INTEGER NOT NULL,
    item   INTEGER NOT NULL,
    holder INTEGER NOT NULL,
    via    INTEGER NOT NULL,
    PRIMARY KEY (label, item, holder, via)
) WITHOUT ROWID;
CREATE INDEX tie_holder ON tie (label, holder, item);

-- Ties of documents that were deleted.
CREATE TABLE past_tie (
    label  INTEGER NOT NULL,
    item   INTEGER NOT NULL,
    holder INTEGER NOT NULL,
    via    INTEGER NOT NULL,
    PRIMARY KEY (label, item, holder, via)
) WITHOUT ROWID;
CREATE INDEX past_tie_holder ON past_tie (label, holder, item);

-- The marks that a deleted document had.
ALTER TABLE tomb ADD COLUMN marks BLOB NOT NULL DEFAULT x'00000000';

-- Whose documents a client may touch where it is authorized by ownership (a JSON array), and whose
-- its own are.
ALTER TABLE api_client ADD COLUMN ownership_tokens TEXT NOT NULL DEFAULT '[]';
ALTER TABLE api_client ADD COLUMN creator_token BIGINT;
