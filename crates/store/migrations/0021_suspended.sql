-- Whether a client that belongs to no application is suspended (1); an application's client is suspended
-- where its link is not approved.
ALTER TABLE api_client ADD COLUMN suspended BIGINT NOT NULL DEFAULT 0;
