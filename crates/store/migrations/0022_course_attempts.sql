-- What binds a launch to a registration: the incarnation of an instance is another one after it was reset,
-- and that of a registration which was removed and created again.
ALTER TABLE course_registration ADD COLUMN incarnation TEXT NOT NULL DEFAULT '';
ALTER TABLE course_launch ADD COLUMN incarnation TEXT NOT NULL DEFAULT '';

-- How a launch has ended, as JSON, once its registration keeps it no longer.
ALTER TABLE course_launch ADD COLUMN result TEXT;

-- What an earlier attempt at an activity held when a new one began.
CREATE TABLE course_attempt (
    registration TEXT NOT NULL,
    instance     BIGINT NOT NULL,
    activity     TEXT NOT NULL,
    attempt      BIGINT NOT NULL,
    ended        BIGINT NOT NULL,
    state        TEXT NOT NULL,
    PRIMARY KEY (registration, instance, activity, attempt)
);
