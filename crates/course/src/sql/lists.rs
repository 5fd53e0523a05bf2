//! The SQL of lists: what is filtered, in every order in which it can be asked for.
//!
//! A page begins after a key: what is ordered by, id and instance. Where a filter is empty, it is none.

/// How a list is ordered, with the texts of its pages.
#[derive(Debug)]
pub(crate) struct Order<const N: usize> {
    /// Its name in the API.
    pub(crate) name: &'static str,
    /// Whether it is by a text and not by a moment.
    pub(crate) is_text: bool,
    pub(crate) is_descending: bool,
    pub(crate) pages: [&'static str; N],
}

/// Whether a row has any of eight tags, each as JSON; the first is empty where none is asked for, and the
/// others where there are fewer.
macro_rules! any_tag {
    ($first:literal $(, $other:literal)*) => {
        concat!(
            "(", $first, " = '' OR replace(tags, ", $first, ", '') <> tags",
            $(" OR replace(tags, ", $other, ", '') <> tags",)* ")"
        )
    };
}

/// The name of a registration's learner.
macro_rules! of_learner {
    ($column:literal) => {
        concat!("(SELECT l.", $column, " FROM course_learner l WHERE l.id = r.learner)")
    };
}

/// The moments and the tags by which lists are filtered.
macro_rules! common_filters {
    () => {
        concat!(
            "updated >= ?1 AND updated <= ?2 AND created >= ?3 AND created <= ?4 AND ",
            any_tag!("?7", "?8", "?9", "?10", "?11", "?12", "?13", "?14")
        )
    };
}

/// The filters of courses: `?5` is a pattern, and `?6` names what it is about.
macro_rules! course_filters {
    () => {
        concat!(
            common_filters!(),
            " AND (?5 = '' OR lower(CASE ?6 WHEN 'title' THEN title \
             WHEN 'tags' THEN substr(tags, 2, length(tags) - 2) ELSE id END) LIKE ?5 ESCAPE '!')"
        )
    };
}

macro_rules! courses {
    ($key:expr, $than:literal, $way:literal) => {
        concat!(
            "SELECT id, title, newest, created, updated, tags, settings, highest, ",
            $key,
            " FROM course WHERE (",
            $key,
            ", id) ",
            $than,
            " (?16, ?17) AND ",
            course_filters!(),
            " ORDER BY ",
            $key,
            $way,
            ", id",
            $way,
            " LIMIT ?15"
        )
    };
}

macro_rules! courses_by {
    ($asc:literal, $desc:literal, $is_text:literal, $key:expr) => {
        [
            Order {
                name: $asc,
                is_text: $is_text,
                is_descending: false,
                pages: [courses!($key, ">", "")],
            },
            Order {
                name: $desc,
                is_text: $is_text,
                is_descending: true,
                pages: [courses!($key, "<", " DESC")],
            },
        ]
    };
}

/// The orders of courses.
pub(crate) const COURSES: [[Order<1>; 2]; 3] = [
    courses_by!("created_asc", "created_desc", false, "created"),
    courses_by!("updated_asc", "updated_desc", false, "updated"),
    courses_by!("title_asc", "title_desc", true, "substr(lower(title), 1, 200)"),
];

pub(crate) const COURSES_COUNT: &str =
    concat!("SELECT count(*) FROM course WHERE ", course_filters!());

/// The filters of registrations, of which only the newest instances are listed.
macro_rules! registration_filters {
    () => {
        concat!(
            common_filters!(),
            " AND (?5 = '' OR lower(CASE ?6 WHEN 'course_title' THEN (SELECT v.title \
             FROM course_version v WHERE v.course = r.course AND v.version = r.version) \
             WHEN 'learner_first_name' THEN ",
            of_learner!("first_name"),
            " WHEN 'learner_last_name' THEN ",
            of_learner!("last_name"),
            " WHEN 'tags' THEN substr(tags, 2, length(tags) - 2) ELSE id END) LIKE ?5 ESCAPE '!') \
             AND NOT EXISTS (SELECT 1 FROM course_registration n \
             WHERE n.id = r.id AND n.instance > r.instance)"
        )
    };
}

macro_rules! registrations {
    ($key:expr, $than:literal, $way:literal, $of:literal) => {
        concat!(
            "SELECT id, instance, course, version, learner, created, updated, first_access, \
             last_access, completed, progress, settings, tags, incarnation, xapi, ",
            $key,
            " FROM course_registration r WHERE (",
            $key,
            ", id, instance) ",
            $than,
            " (?16, ?17, ?18) AND ",
            registration_filters!(),
            $of,
            " ORDER BY ",
            $key,
            $way,
            ", id",
            $way,
            ", instance",
            $way,
            " LIMIT ?15"
        )
    };
}

macro_rules! registrations_by {
    ($name:literal, $is_text:literal, $is_descending:literal, $key:expr, $than:literal, $way:literal) => {
        Order {
            name: $name,
            is_text: $is_text,
            is_descending: $is_descending,
            pages: [
                registrations!($key, $than, $way, ""),
                registrations!($key, $than, $way, " AND learner = ?19"),
                registrations!(
                    $key,
                    $than,
                    $way,
                    " AND course = ?19 AND (?20 = '' OR learner = ?20)"
                ),
            ],
        }
    };
    ($asc:literal, $desc:literal, $is_text:literal, $key:expr) => {
        [
            registrations_by!($asc, $is_text, false, $key, ">", ""),
            registrations_by!($desc, $is_text, true, $key, "<", " DESC"),
        ]
    };
}

/// A name of a registration's learner to order by: its first letters, so that keys have a length.
macro_rules! learner_key {
    ($column:literal) => {
        concat!(
            "coalesce((SELECT substr(lower(l.",
            $column,
            "), 1, 200) FROM course_learner l \
             WHERE l.id = r.learner), '')"
        )
    };
}

/// The orders of registrations: of all, of a learner, of a course and perhaps a learner.
pub(crate) const REGISTRATIONS: [[Order<3>; 2]; 5] = [
    registrations_by!("created_asc", "created_desc", false, "created"),
    registrations_by!("updated_asc", "updated_desc", false, "updated"),
    registrations_by!(
        "course_title_asc",
        "course_title_desc",
        true,
        "coalesce((SELECT substr(lower(v.title), 1, 200) FROM course_version v \
         WHERE v.course = r.course AND v.version = r.version), '')"
    ),
    registrations_by!(
        "learner_first_name_asc",
        "learner_first_name_desc",
        true,
        learner_key!("first_name")
    ),
    registrations_by!(
        "learner_last_name_asc",
        "learner_last_name_desc",
        true,
        learner_key!("last_name")
    ),
];

pub(crate) const REGISTRATIONS_COUNT: &str = concat!(
    "SELECT count(*) FROM course_registration r WHERE ",
    registration_filters!(),
    " AND (?15 = '' OR course = ?15) AND (?16 = '' OR learner = ?16)"
);

/// The instances of a registration after a number.
pub(crate) const INSTANCES: &str = "SELECT id, instance, course, version, learner, created, updated, first_access, last_access, \
     completed, progress, settings, tags, incarnation, xapi FROM course_registration \
     WHERE id = ?1 AND instance > ?2 AND updated >= ?3 AND updated <= ?4 \
     AND created >= ?5 AND created <= ?6 ORDER BY instance LIMIT ?7";
