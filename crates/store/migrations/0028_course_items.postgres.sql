-- Interactions and objectives as content has told them, a row for each, for questions about all learners of a
-- course; what content resumes with is in the states of activities. `attempt` is that at the activity; 0 if the
-- interaction was told after its attempt had ended. `session` is 0, or that of an interaction whose place another
-- session has taken. Lists are JSON.
CREATE TABLE course_interaction (
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    activity     TEXT NOT NULL,
    attempt      BIGINT NOT NULL,
    session      BIGINT NOT NULL,
    number       BIGINT NOT NULL,
    identifier   TEXT,
    type         TEXT,
    response     TEXT,
    result       TEXT,
    weighting    TEXT,
    latency      TEXT,
    said         TEXT,
    objectives   TEXT,
    patterns     TEXT,
    description  TEXT,
    PRIMARY KEY (registration, instance, activity, attempt, session, number)
);

CREATE TABLE course_objective (
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    activity     TEXT NOT NULL,
    attempt      BIGINT NOT NULL,
    session      BIGINT NOT NULL,
    number       BIGINT NOT NULL,
    identifier   TEXT,
    success      TEXT,
    completion   TEXT,
    scaled       TEXT,
    raw          TEXT,
    least        TEXT,
    most         TEXT,
    progress     TEXT,
    description  TEXT,
    PRIMARY KEY (registration, instance, activity, attempt, session, number)
);

-- Up to which row the states of an older Homeroom have got such rows; none if all have. Attempts come after
-- activities, since some may end meanwhile.
CREATE TABLE course_carry (
    part         TEXT NOT NULL PRIMARY KEY,
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    activity     TEXT NOT NULL,
    attempt      BIGINT NOT NULL
);
INSERT INTO course_carry (part, registration, instance, activity, attempt)
    SELECT 'activity', '', 0, '', 0 WHERE EXISTS (SELECT 1 FROM course_activity);
INSERT INTO course_carry (part, registration, instance, activity, attempt)
    SELECT 'attempt', '', 0, '', 0 WHERE EXISTS (SELECT 1 FROM course_activity);
