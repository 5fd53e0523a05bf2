-- Tokens that are taken back are written in a lane of their own, beside the documents.
INSERT INTO lane (name) VALUES ('revocation');
