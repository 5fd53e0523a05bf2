-- Every quotation mark of a column of tags is the beginning or the end of one, so that what stands there is found
-- by its text.
UPDATE course SET tags = replace(replace(tags, '\\', '\u005c'), '\"', '\u0022') WHERE tags LIKE '%\%' ESCAPE '!';
UPDATE course_registration SET tags = replace(replace(tags, '\\', '\u005c'), '\"', '\u0022')
    WHERE tags LIKE '%\%' ESCAPE '!';
UPDATE course_learner SET tags = replace(replace(tags, '\\', '\u005c'), '\"', '\u0022')
    WHERE tags LIKE '%\%' ESCAPE '!';
