-- The highest number that a version of a course ever had: none is given twice. `newest` is the version
-- that new registrations get.
ALTER TABLE course ADD COLUMN highest BIGINT NOT NULL DEFAULT 0;
UPDATE course SET highest = newest;

-- The id under which xAPI would know a registration; empty for those that were made before.
ALTER TABLE course_registration ADD COLUMN xapi TEXT NOT NULL DEFAULT '';
