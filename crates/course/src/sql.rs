//! The SQL of this crate, in the dialect that both databases understand.

pub(crate) mod lists;

/// The columns of an instance of a registration.
macro_rules! instances {
    ($($rest:expr),*) => {
        concat!(
            "SELECT id, instance, course, version, learner, created, updated, first_access, \
             last_access, completed, progress, settings, tags, incarnation, xapi \
             FROM course_registration ",
            $($rest),*
        )
    };
}

pub(crate) const COURSE: &str =
    "SELECT id, title, newest, created, updated, tags, settings, highest FROM course WHERE id = ?1";

/// The oldest courses.
pub(crate) const COURSES_FIRST: &str = "SELECT id, title, newest, created, updated, tags, settings, \
     highest FROM course ORDER BY created, id LIMIT ?1";

pub(crate) const COURSE_ADD: &str = "INSERT INTO course \
     (id, title, newest, highest, created, updated, tags, settings) \
     VALUES (?1, ?2, ?3, ?3, ?4, ?4, ?5, '{}')";

/// Makes a version the one that new registrations get.
pub(crate) const COURSE_CURRENT: &str =
    "UPDATE course SET title = ?2, newest = ?3, updated = ?4 WHERE id = ?1";

pub(crate) const COURSE_HIGHEST: &str = "UPDATE course SET highest = ?2 WHERE id = ?1";

pub(crate) const COURSE_TITLE: &str = "UPDATE course SET title = ?2, updated = ?3 WHERE id = ?1";

pub(crate) const COURSE_TAGS: &str = "UPDATE course SET tags = ?2, updated = ?3 WHERE id = ?1";

pub(crate) const TAGS_OF_REGISTRATION: &str =
    "SELECT tags FROM course_registration WHERE id = ?1 ORDER BY instance DESC LIMIT 1";

pub(crate) const TAGS_OF_COURSE: &str = "SELECT tags FROM course WHERE id = ?1";

pub(crate) const TAGS_OF_LEARNER: &str = "SELECT tags FROM course_learner WHERE id = ?1";

pub(crate) const COURSE_SETTINGS: &str =
    "UPDATE course SET settings = ?2, updated = ?3 WHERE id = ?1";

pub(crate) const COURSE_DELETE: &str = "DELETE FROM course WHERE id = ?1";

/// A version, with the settings of its course.
pub(crate) const VERSION: &str = "SELECT v.course, v.version, v.standard, v.title, v.tree, v.about, \
     v.findings, v.settings, v.package, v.created, v.updated, c.settings FROM course_version v \
     JOIN course c ON c.id = v.course WHERE v.course = ?1 AND v.version = ?2";

pub(crate) const VERSIONS: &str = "SELECT v.course, v.version, v.standard, v.title, v.tree, \
     v.about, v.findings, v.settings, v.package, v.created, v.updated, c.settings \
     FROM course_version v JOIN course c ON c.id = v.course WHERE v.course = ?1 ORDER BY v.version";

pub(crate) const VERSION_ADD: &str = "INSERT INTO course_version (course, version, standard, title, \
     tree, about, findings, settings, package, created, updated) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '{}', ?8, ?9, ?9)";

pub(crate) const VERSION_SETTINGS: &str = "UPDATE course_version SET settings = ?3, updated = ?4 \
     WHERE course = ?1 AND version = ?2";

pub(crate) const VERSION_TITLE: &str = "UPDATE course_version SET title = ?3, updated = ?4 \
     WHERE course = ?1 AND version = ?2";

pub(crate) const VERSION_PACKAGE: &str =
    "UPDATE course_version SET package = ?3 WHERE course = ?1 AND version = ?2";

pub(crate) const VERSION_ABOUT: &str =
    "UPDATE course_version SET about = ?3 WHERE course = ?1 AND version = ?2";

pub(crate) const VERSION_DELETE: &str =
    "DELETE FROM course_version WHERE course = ?1 AND version = ?2";

pub(crate) const FILE: &str = "SELECT path, blob, start, bytes, tag, updated FROM course_file \
     WHERE course = ?1 AND version = ?2 AND path = ?3";

/// A file by its path in whatever case.
pub(crate) const FILE_OTHER_CASE: &str = "SELECT path, blob, start, bytes, tag, updated \
     FROM course_file WHERE course = ?1 AND version = ?2 AND lower(path) = lower(?3) \
     ORDER BY path LIMIT 1";

pub(crate) const FILES: &str = "SELECT path, blob, start, bytes, tag, updated FROM course_file \
     WHERE course = ?1 AND version = ?2 ORDER BY path";

pub(crate) const FILE_PUT: &str = "INSERT INTO course_file \
     (course, version, path, blob, start, bytes, tag, updated) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (course, version, path) DO UPDATE SET \
     blob = excluded.blob, start = excluded.start, bytes = excluded.bytes, tag = excluded.tag, \
     updated = excluded.updated";

pub(crate) const FILE_DELETE: &str =
    "DELETE FROM course_file WHERE course = ?1 AND version = ?2 AND path = ?3";

pub(crate) const FILES_DELETE: &str = "DELETE FROM course_file WHERE course = ?1 AND version = ?2";

/// How many other files of a version are in the blob of one.
pub(crate) const FILES_OF_SAME_BLOB: &str = "SELECT count(*) FROM course_file o \
     JOIN course_file f ON f.course = o.course AND f.version = o.version AND f.blob = o.blob \
     WHERE f.course = ?1 AND f.version = ?2 AND f.path = ?3 AND o.path <> ?3";

/// A file whose path is between two.
pub(crate) const FILE_BETWEEN: &str = "SELECT path FROM course_file \
     WHERE course = ?1 AND version = ?2 AND path > ?3 AND path < ?4 LIMIT 1";

/// The blobs that a version's files are in.
pub(crate) const FILE_BLOBS: &str =
    "SELECT DISTINCT blob FROM course_file WHERE course = ?1 AND version = ?2";

pub(crate) const REGISTRATIONS_OF_COURSE: &str =
    "SELECT count(DISTINCT id) FROM course_registration WHERE course = ?1";

pub(crate) const REGISTRATIONS_OF_VERSION: &str =
    "SELECT count(*) FROM course_registration WHERE course = ?1 AND version = ?2";

pub(crate) const REGISTRATION_IDS_OF_COURSE: &str =
    "SELECT DISTINCT id FROM course_registration WHERE course = ?1 ORDER BY id LIMIT ?2";

pub(crate) const REGISTRATION_IDS_OF_LEARNER: &str =
    "SELECT DISTINCT id FROM course_registration WHERE learner = ?1 ORDER BY id LIMIT ?2";

pub(crate) const LEARNER: &str = "SELECT id, first_name, last_name, email, tags, created, updated \
     FROM course_learner WHERE id = ?1";

pub(crate) const LEARNER_PUT: &str = "INSERT INTO course_learner \
     (id, first_name, last_name, email, tags, created, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) \
     ON CONFLICT (id) DO UPDATE SET first_name = excluded.first_name, \
     last_name = excluded.last_name, email = excluded.email, tags = excluded.tags, \
     updated = excluded.updated";

pub(crate) const LEARNER_TAGS: &str =
    "UPDATE course_learner SET tags = ?2, updated = ?3 WHERE id = ?1";

pub(crate) const LEARNER_DELETE: &str = "DELETE FROM course_learner WHERE id = ?1";

/// The newest instance of a registration.
pub(crate) const REGISTRATION: &str = instances!("WHERE id = ?1 ORDER BY instance DESC LIMIT 1");

pub(crate) const INSTANCE: &str = instances!("WHERE id = ?1 AND instance = ?2");

pub(crate) const REGISTRATION_ADD: &str = "INSERT INTO course_registration (id, instance, course, \
     version, learner, created, updated, progress, settings, tags, postback, incarnation, xapi) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, '{}', ?7, ?8, '', ?9, ?10)";

pub(crate) const REGISTRATION_TAGS: &str =
    "UPDATE course_registration SET tags = ?2, updated = ?3 WHERE id = ?1";

pub(crate) const REGISTRATION_SETTINGS: &str = "UPDATE course_registration SET settings = ?3, \
     updated = ?4 WHERE id = ?1 AND instance = ?2";

/// Forgets what an instance has saved, and begins it again with a version of the course.
pub(crate) const REGISTRATION_RESET: &str = "UPDATE course_registration SET progress = '{}', \
     updated = ?3, version = ?4, incarnation = ?5, first_access = NULL, last_access = NULL, \
     completed = NULL WHERE id = ?1 AND instance = ?2";

pub(crate) const REGISTRATION_PROGRESS: &str =
    "UPDATE course_registration SET progress = ?3, updated = ?4 WHERE id = ?1 AND instance = ?2";

pub(crate) const REGISTRATION_DELETE: &str = "DELETE FROM course_registration WHERE id = ?1";

/// The instances of a registration.
pub(crate) const INSTANCE_NUMBERS: &str =
    "SELECT instance FROM course_registration WHERE id = ?1 ORDER BY instance";

pub(crate) const INSTANCE_DELETE: &str =
    "DELETE FROM course_registration WHERE id = ?1 AND instance = ?2";

pub(crate) const ACTIVITIES: &str = "SELECT activity, state FROM course_activity \
     WHERE registration = ?1 AND instance = ?2 ORDER BY activity";

pub(crate) const ACTIVITIES_DELETE: &str = "DELETE FROM course_activity WHERE registration = ?1";

pub(crate) const ACTIVITIES_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_activity WHERE registration = ?1 AND instance = ?2";

pub(crate) const ATTEMPT_ADD: &str = "INSERT INTO course_attempt \
     (registration, instance, activity, attempt, ended, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
     ON CONFLICT (registration, instance, activity, attempt) DO UPDATE SET \
     ended = excluded.ended, state = excluded.state";

/// Removes the attempts at an activity up to one.
pub(crate) const ATTEMPTS_OLD_DELETE: &str = "DELETE FROM course_attempt \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3 AND attempt <= ?4";

pub(crate) const ATTEMPTS: &str = "SELECT activity, attempt, ended, state FROM course_attempt \
     WHERE registration = ?1 AND instance = ?2 ORDER BY activity, attempt";

pub(crate) const ATTEMPTS_DELETE: &str = "DELETE FROM course_attempt WHERE registration = ?1";

pub(crate) const ATTEMPTS_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_attempt WHERE registration = ?1 AND instance = ?2";

pub(crate) const INTERACTION_PUT: &str = "INSERT INTO course_interaction \
     (registration, instance, activity, attempt, session, number, identifier, type, response, result, \
     weighting, latency, said, objectives, patterns, description) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
     ON CONFLICT (registration, instance, activity, attempt, session, number) DO UPDATE SET \
     identifier = excluded.identifier, type = excluded.type, response = excluded.response, \
     result = excluded.result, weighting = excluded.weighting, latency = excluded.latency, \
     said = excluded.said, objectives = excluded.objectives, patterns = excluded.patterns, \
     description = excluded.description";

pub(crate) const OBJECTIVE_PUT: &str = "INSERT INTO course_objective \
     (registration, instance, activity, attempt, session, number, identifier, success, completion, \
     scaled, raw, least, most, progress, description) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
     ON CONFLICT (registration, instance, activity, attempt, session, number) DO UPDATE SET \
     identifier = excluded.identifier, success = excluded.success, \
     completion = excluded.completion, scaled = excluded.scaled, raw = excluded.raw, \
     least = excluded.least, most = excluded.most, progress = excluded.progress, \
     description = excluded.description";

pub(crate) const INTERACTION_DELETE: &str = "DELETE FROM course_interaction WHERE registration = ?1 \
     AND instance = ?2 AND activity = ?3 AND attempt = ?4 AND session = ?5 AND number = ?6";

pub(crate) const OBJECTIVE_DELETE: &str = "DELETE FROM course_objective WHERE registration = ?1 \
     AND instance = ?2 AND activity = ?3 AND attempt = ?4 AND session = ?5 AND number = ?6";

/// Removes the interactions of an activity's attempts between two.
pub(crate) const INTERACTIONS_OF_ATTEMPTS_DELETE: &str = "DELETE FROM course_interaction \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3 AND attempt BETWEEN ?4 AND ?5";

pub(crate) const OBJECTIVES_OF_ATTEMPTS_DELETE: &str = "DELETE FROM course_objective \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3 AND attempt BETWEEN ?4 AND ?5";

pub(crate) const INTERACTIONS_DELETE: &str =
    "DELETE FROM course_interaction WHERE registration = ?1";

pub(crate) const OBJECTIVES_DELETE: &str = "DELETE FROM course_objective WHERE registration = ?1";

pub(crate) const INTERACTIONS_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_interaction WHERE registration = ?1 AND instance = ?2";

pub(crate) const OBJECTIVES_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_objective WHERE registration = ?1 AND instance = ?2";

/// How interactions of a course went, over all learners: of those from a place on.
pub(crate) const INTERACTIONS_OF_COURSE: &str = "SELECT i.activity, i.identifier, min(i.type), \
     count(*), count(DISTINCT r.learner), count(CASE WHEN i.result = 'correct' THEN 1 END), \
     count(CASE WHEN i.result = 'incorrect' THEN 1 END) \
     FROM course_registration r JOIN course_interaction i \
     ON i.registration = r.id AND i.instance = r.instance WHERE r.course = ?1 \
     AND (i.activity, i.identifier) >= (?3, ?4) \
     GROUP BY i.activity, i.identifier ORDER BY i.activity, i.identifier LIMIT ?2 OFFSET ?5";

/// The beginnings of the most frequent responses to each interaction of a course from one to another, and the
/// numbers of their characters.
pub(crate) const RESPONSES_OF_COURSE: &str = "SELECT activity, identifier, substr(response, 1, ?8), \
     length(response), result, times FROM (SELECT i.activity, i.identifier, i.response, i.result, \
     count(*) AS times, row_number() OVER (PARTITION BY i.activity, i.identifier \
     ORDER BY count(*) DESC, i.response, i.result) AS place \
     FROM course_registration r JOIN course_interaction i \
     ON i.registration = r.id AND i.instance = r.instance WHERE r.course = ?1 \
     AND (i.activity, i.identifier) >= (?3, ?4) AND (i.activity, i.identifier) <= (?5, ?6) \
     GROUP BY i.activity, i.identifier, i.response, i.result) found \
     WHERE place <= ?7 ORDER BY activity, identifier, place LIMIT ?2";

/// What has come of objectives of a course, over all learners: of those from a place on.
pub(crate) const OBJECTIVES_OF_COURSE: &str = "SELECT o.activity, o.identifier, count(*), \
     count(DISTINCT r.learner), count(CASE WHEN o.success = 'PASSED' THEN 1 END), \
     count(CASE WHEN o.success = 'FAILED' THEN 1 END), \
     count(CASE WHEN o.completion = 'COMPLETED' THEN 1 END) \
     FROM course_registration r JOIN course_objective o \
     ON o.registration = r.id AND o.instance = r.instance WHERE r.course = ?1 \
     AND (o.activity, o.identifier) >= (?3, ?4) \
     GROUP BY o.activity, o.identifier ORDER BY o.activity, o.identifier LIMIT ?2 OFFSET ?5";

/// Up to where states of an older Homeroom have got rows for their interactions and objectives.
pub(crate) const CARRY: &str =
    "SELECT registration, instance, activity, attempt FROM course_carry WHERE part = ?1";

/// Whether some of them may have none yet.
pub(crate) const CARRYING: &str = "SELECT part FROM course_carry LIMIT 1";

pub(crate) const CARRIED: &str = "UPDATE course_carry SET registration = ?2, instance = ?3, \
     activity = ?4, attempt = ?5 WHERE part = ?1";

pub(crate) const CARRY_ENDED: &str = "DELETE FROM course_carry WHERE part = ?1";

pub(crate) const CARRY_ACTIVITIES: &str = "SELECT registration, instance, activity \
     FROM course_activity WHERE (registration, instance, activity) > (?1, ?2, ?3) \
     ORDER BY registration, instance, activity LIMIT ?4";

pub(crate) const CARRY_ATTEMPTS: &str = "SELECT registration, instance, activity, attempt \
     FROM course_attempt WHERE (registration, instance, activity, attempt) > (?1, ?2, ?3, ?4) \
     ORDER BY registration, instance, activity, attempt LIMIT ?5";

/// The states of activities after one, with their keys.
pub(crate) const STATES: &str = "SELECT registration, instance, activity, state \
     FROM course_activity WHERE (registration, instance, activity) > (?1, ?2, ?3) \
     ORDER BY registration, instance, activity LIMIT ?4";

/// The states of attempts that have ended after one, with their keys.
pub(crate) const STATES_OF_ATTEMPTS: &str = "SELECT registration, instance, activity, attempt, state \
     FROM course_attempt WHERE (registration, instance, activity, attempt) > (?1, ?2, ?3, ?4) \
     ORDER BY registration, instance, activity, attempt LIMIT ?5";

pub(crate) const ATTEMPT: &str = "SELECT state FROM course_attempt \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3 AND attempt = ?4";

/// What a commit asks for.
pub(crate) const COMMIT_REGISTRATION: &str = "SELECT progress, first_access, completed, settings, \
     incarnation, (SELECT l.result FROM course_launch l WHERE l.registration = ?1 \
     AND l.instance = ?2 AND l.created = ?3 AND l.id = ?4) FROM course_registration WHERE id = ?1 AND instance = ?2";

/// What the end of a silent session asks for.
pub(crate) const SILENT_REGISTRATION: &str = "SELECT progress, first_access, completed, settings \
     FROM course_registration WHERE id = ?1 AND instance = ?2";

pub(crate) const COMMIT_ACTIVITY: &str = "SELECT state FROM course_activity \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3";

/// What a commit writes.
pub(crate) const COMMIT_SAVE: &str = "UPDATE course_registration SET progress = ?3, updated = ?4, \
     last_access = ?4, first_access = ?5, completed = ?6 WHERE id = ?1 AND instance = ?2";

pub(crate) const COMMIT_STATE: &str = "INSERT INTO course_activity \
     (registration, instance, activity, state) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (registration, instance, activity) DO UPDATE SET state = excluded.state";

/// What the end of a silent session writes.
pub(crate) const SESSION_TIMED_OUT: &str = "UPDATE course_registration SET progress = ?3, \
     updated = ?4, completed = ?5 WHERE id = ?1 AND instance = ?2";

pub(crate) const TRACE_ADD: &str = "INSERT INTO course_trace \
     (launch, number, registration, at, calls) VALUES (?1, ?2, ?3, ?4, ?5) \
     ON CONFLICT (launch, number) DO NOTHING";

/// The calls of a launch after a number.
pub(crate) const TRACE: &str = "SELECT number, at, calls FROM course_trace \
     WHERE launch = ?1 AND number > ?2 ORDER BY number LIMIT ?3";

pub(crate) const TRACE_DELETE: &str = "DELETE FROM course_trace WHERE registration = ?1";

pub(crate) const LAUNCH: &str = "SELECT id, registration, instance, course, version, options, \
     created, expires, incarnation, result FROM course_launch WHERE secret = ?1";

/// A launch of a registration by its id.
pub(crate) const LAUNCH_OF: &str = "SELECT id, registration, instance, course, version, options, \
     created, expires, incarnation, result FROM course_launch WHERE registration = ?1 AND id = ?2";

/// The launches of a registration before one, the newest first: of an instance, or of all if that is negative.
pub(crate) const LAUNCHES: &str = "SELECT id, registration, instance, course, version, options, \
     created, expires, incarnation, result FROM course_launch WHERE registration = ?1 \
     AND (?2 < 0 OR instance = ?2) AND (created, id) < (?3, ?4) \
     ORDER BY created DESC, id DESC LIMIT ?5";

pub(crate) const LAUNCH_ADD: &str = "INSERT INTO course_launch \
     (secret, id, registration, instance, course, version, options, created, expires, incarnation) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Notes what a launch has come to that its registration no longer keeps.
pub(crate) const LAUNCH_RESULT: &str =
    "UPDATE course_launch SET result = ?3 WHERE registration = ?1 AND id = ?2";

pub(crate) const LAUNCHES_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_launch WHERE registration = ?1 AND instance = ?2";

pub(crate) const TRACES_OF_INSTANCE_DELETE: &str = "DELETE FROM course_trace \
     WHERE registration = ?1 AND launch IN \
     (SELECT id FROM course_launch WHERE registration = ?1 AND instance = ?2)";

pub(crate) const LAUNCHES_DELETE: &str = "DELETE FROM course_launch WHERE registration = ?1";

/// The settings of all levels above the courses.
pub(crate) const LEVELS: &str = "SELECT level, settings FROM course_level ORDER BY level";

pub(crate) const LEVEL: &str = "SELECT settings FROM course_level WHERE level = ?1";

pub(crate) const LEVEL_PUT: &str = "INSERT INTO course_level (level, settings, updated) \
     VALUES (?1, ?2, ?3) ON CONFLICT (level) DO UPDATE SET settings = excluded.settings, \
     updated = excluded.updated";

/// Adds a notice of a change, or adds the change to the notice whose sending has not begun.
pub(crate) const NOTICE_ADD: &str = "INSERT INTO course_notice \
     (target, topic, subject, instance, begun, id, changes, created, receiver) \
     VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8) \
     ON CONFLICT (target, topic, subject, instance, begun) \
     DO UPDATE SET changes = course_notice.changes | excluded.changes";

pub(crate) const NOTICE: &str = "SELECT target, topic, subject, instance, changes, created, job \
     FROM course_notice WHERE id = ?1";

/// The hosts that are to be told of something for which there is no job yet.
pub(crate) const RECEIVERS_WAITING: &str = "SELECT DISTINCT receiver FROM course_notice \
     WHERE job IS NULL ORDER BY receiver LIMIT ?1";

/// The notices of a receiver for which there is no job yet, the oldest first.
pub(crate) const NOTICES_WAITING: &str = "SELECT id FROM course_notice \
     WHERE job IS NULL AND receiver = ?1 ORDER BY created, id LIMIT ?2";

pub(crate) const NOTICE_QUEUED: &str = "UPDATE course_notice SET job = ?2 WHERE id = ?1";

pub(crate) const NOTICE_BEGUN: &str = "UPDATE course_notice SET begun = ?2 WHERE id = ?1";

pub(crate) const NOTICE_DELETE: &str = "DELETE FROM course_notice WHERE id = ?1";

pub(crate) const NOTICES_DELETE: &str =
    "DELETE FROM course_notice WHERE topic = ?1 AND subject = ?2";

pub(crate) const NOTICES_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_notice WHERE topic = ?1 AND subject = ?2 AND instance = ?3";

pub(crate) const NOTICE_OLD: &str = "SELECT id FROM course_notice WHERE created < ?1 LIMIT 1";

pub(crate) const NOTICES_EXPIRE: &str = "DELETE FROM course_notice WHERE created < ?1";

pub(crate) const SUBSCRIPTIONS: &str =
    "SELECT id, definition FROM course_subscription ORDER BY created, id LIMIT ?1";

pub(crate) const SUBSCRIPTION: &str =
    "SELECT id, definition FROM course_subscription WHERE id = ?1";

pub(crate) const SUBSCRIPTION_PUT: &str = "INSERT INTO course_subscription \
     (id, definition, created) VALUES (?1, ?2, ?3) \
     ON CONFLICT (id) DO UPDATE SET definition = excluded.definition";

pub(crate) const SUBSCRIPTION_DELETE: &str = "DELETE FROM course_subscription WHERE id = ?1";

/// Notes that a session has begun.
pub(crate) const SESSION_BEGUN: &str = "INSERT INTO course_session \
     (launch, registration, instance) VALUES (?1, ?2, ?3) ON CONFLICT (launch) DO NOTHING";

pub(crate) const SESSION_ENDED: &str = "DELETE FROM course_session WHERE launch = ?1";

pub(crate) const SESSIONS_OF_INSTANCE_DELETE: &str =
    "DELETE FROM course_session WHERE registration = ?1 AND instance = ?2";

pub(crate) const SESSIONS_DELETE: &str = "DELETE FROM course_session WHERE registration = ?1";

/// The sessions of registrations in which nothing was saved since a moment.
pub(crate) const SESSIONS_SILENT: &str = "SELECT s.launch, s.registration, s.instance \
     FROM course_session s LEFT JOIN course_registration r \
     ON r.id = s.registration AND r.instance = s.instance \
     WHERE s.launch > ?1 AND (r.last_access IS NULL OR r.last_access < ?2) \
     ORDER BY s.launch LIMIT ?3";

/// Removes calls of launches before one; ids of launches begin with their time.
pub(crate) const TRACES_EXPIRE: &str = "DELETE FROM course_trace WHERE (launch, number) IN \
     (SELECT launch, number FROM course_trace WHERE launch < ?1 ORDER BY launch, number LIMIT ?2)";

pub(crate) const TRACES_OLD: &str =
    "SELECT number FROM course_trace WHERE launch < ?1 ORDER BY launch, number LIMIT 1";

/// Launches of previews that have ended.
pub(crate) const PREVIEWS_OLD: &str = "SELECT secret, id FROM course_launch \
     WHERE registration IS NULL AND expires < ?1 ORDER BY secret LIMIT ?2";

/// Launches that ended long ago.
pub(crate) const LAUNCHES_OLD: &str =
    "SELECT secret, id FROM course_launch WHERE expires < ?1 ORDER BY expires LIMIT ?2";

pub(crate) const LAUNCH_DELETE: &str = "DELETE FROM course_launch WHERE secret = ?1";

pub(crate) const TRACE_OF_LAUNCH_DELETE: &str = "DELETE FROM course_trace WHERE launch = ?1";
