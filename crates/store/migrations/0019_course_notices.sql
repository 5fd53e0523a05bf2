-- Settings above the courses: '' is the level of all, others are those of a standard.
CREATE TABLE course_level (
    level    TEXT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    updated  BIGINT NOT NULL
);

-- Who wants to be told of changes; the definition is JSON.
CREATE TABLE course_subscription (
    id         TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,
    created    BIGINT NOT NULL
);

-- Changes that somebody is to be told of: of a registration, or of an import. It is written with the
-- change. `changes` are bits; `begun` is 0 until it is being sent; `job` is what sends it; `receiver` is
-- the host to which it goes.
CREATE TABLE course_notice (
    target   TEXT NOT NULL,
    topic    TEXT NOT NULL,
    subject  TEXT NOT NULL,
    instance BIGINT NOT NULL,
    begun    BIGINT NOT NULL,
    id       TEXT NOT NULL,
    changes  BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    receiver TEXT NOT NULL,
    job      TEXT,
    PRIMARY KEY (target, topic, subject, instance, begun)
);
CREATE UNIQUE INDEX course_notice_id ON course_notice (id);
CREATE INDEX course_notice_job ON course_notice (job, receiver, created);
CREATE INDEX course_notice_subject ON course_notice (topic, subject);

-- Sessions that have begun and have not ended: launches with commits.
CREATE TABLE course_session (
    launch       TEXT NOT NULL PRIMARY KEY,
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL
);
CREATE INDEX course_session_registration ON course_session (registration);
