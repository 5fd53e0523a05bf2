-- Courses: packages that were imported, who is registered for them, and what the run-time has saved.
-- Times are microseconds; tags, settings, trees, findings and states are JSON.
CREATE TABLE course (
    id       TEXT NOT NULL PRIMARY KEY,
    title    TEXT NOT NULL,
    newest   BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    updated  BIGINT NOT NULL,
    tags     TEXT NOT NULL,
    settings TEXT NOT NULL
);
CREATE INDEX course_created ON course (created, id);

-- A version of a course: `package` is the blob of the file as it was handed in.
CREATE TABLE course_version (
    course   TEXT NOT NULL,
    version  BIGINT NOT NULL,
    standard TEXT NOT NULL,
    title    TEXT NOT NULL,
    tree     TEXT NOT NULL,
    about    TEXT NOT NULL,
    findings TEXT NOT NULL,
    settings TEXT NOT NULL,
    package  TEXT,
    created  BIGINT NOT NULL,
    updated  BIGINT NOT NULL,
    PRIMARY KEY (course, version)
);

-- The files of a version: each is a range of a blob.
CREATE TABLE course_file (
    course  TEXT NOT NULL,
    version BIGINT NOT NULL,
    path    TEXT NOT NULL,
    blob    TEXT NOT NULL,
    start   BIGINT NOT NULL,
    bytes   BIGINT NOT NULL,
    tag     TEXT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (course, version, path)
);

CREATE TABLE course_learner (
    id         TEXT NOT NULL PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name  TEXT NOT NULL,
    email      TEXT NOT NULL,
    tags       TEXT NOT NULL,
    created    BIGINT NOT NULL,
    updated    BIGINT NOT NULL
);
CREATE INDEX course_learner_email ON course_learner (email);

-- A registration of a learner for a version of a course. Each attempt at the whole course is an
-- instance of it, from 0. `progress` is what its launches and activities share.
CREATE TABLE course_registration (
    id           TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    course       TEXT NOT NULL,
    version      BIGINT NOT NULL,
    learner      TEXT NOT NULL,
    created      BIGINT NOT NULL,
    updated      BIGINT NOT NULL,
    first_access BIGINT,
    last_access  BIGINT,
    completed    BIGINT,
    progress     TEXT NOT NULL,
    settings     TEXT NOT NULL,
    tags         TEXT NOT NULL,
    postback     TEXT NOT NULL,
    PRIMARY KEY (id, instance)
);
CREATE INDEX course_registration_created ON course_registration (created, id, instance);
CREATE INDEX course_registration_course ON course_registration (course, created, id, instance);
CREATE INDEX course_registration_learner ON course_registration (learner, created, id, instance);

-- What the run-time has saved of an activity in an instance.
CREATE TABLE course_activity (
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    activity     TEXT NOT NULL,
    state        TEXT NOT NULL,
    PRIMARY KEY (registration, instance, activity)
);

-- A launch link. Only the hash of the secret in its path is kept.
CREATE TABLE course_launch (
    secret       TEXT NOT NULL PRIMARY KEY,
    id           TEXT NOT NULL,
    registration TEXT,
    instance     BIGINT NOT NULL,
    course       TEXT NOT NULL,
    version      BIGINT NOT NULL,
    options      TEXT NOT NULL,
    created      BIGINT NOT NULL,
    expires      BIGINT NOT NULL
);
CREATE INDEX course_launch_registration ON course_launch (registration, instance, created);
CREATE INDEX course_launch_expires ON course_launch (expires);

-- Calls of content to the run-time, as the commits of a launch have told them.
CREATE TABLE course_trace (
    launch       TEXT NOT NULL,
    number       BIGINT NOT NULL,
    registration TEXT NOT NULL,
    at           BIGINT NOT NULL,
    calls        TEXT NOT NULL,
    PRIMARY KEY (launch, number)
);
CREATE INDEX course_trace_registration ON course_trace (registration);
