//! The store's schema, step by step. A merged step is never changed.

use crate::error::StoreError;

/// One step: its number, its name, and its SQL for each database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// Every step in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "documents",
        sqlite: include_str!("../migrations/0001_documents.sqlite.sql"),
        postgres: include_str!("../migrations/0001_documents.postgres.sql"),
    },
    Migration {
        version: 2,
        name: "access",
        sqlite: include_str!("../migrations/0002_access.sql"),
        postgres: include_str!("../migrations/0002_access.sql"),
    },
    Migration {
        version: 3,
        name: "managed",
        sqlite: include_str!("../migrations/0003_managed.sql"),
        postgres: include_str!("../migrations/0003_managed.sql"),
    },
    Migration {
        version: 4,
        name: "standard",
        sqlite: include_str!("../migrations/0004_standard.sql"),
        postgres: include_str!("../migrations/0004_standard.sql"),
    },
    Migration {
        version: 5,
        name: "rights",
        sqlite: include_str!("../migrations/0005_rights.sqlite.sql"),
        postgres: include_str!("../migrations/0005_rights.postgres.sql"),
    },
    Migration {
        version: 6,
        name: "tie versions",
        sqlite: include_str!("../migrations/0006_tie_versions.sqlite.sql"),
        postgres: include_str!("../migrations/0006_tie_versions.postgres.sql"),
    },
    Migration {
        version: 7,
        name: "copies",
        sqlite: include_str!("../migrations/0007_copies.sqlite.sql"),
        postgres: include_str!("../migrations/0007_copies.postgres.sql"),
    },
    Migration {
        version: 8,
        name: "gaps",
        sqlite: include_str!("../migrations/0008_gaps.sql"),
        postgres: include_str!("../migrations/0008_gaps.sql"),
    },
    Migration {
        version: 9,
        name: "jobs",
        sqlite: include_str!("../migrations/0009_jobs.sql"),
        postgres: include_str!("../migrations/0009_jobs.sql"),
    },
    Migration {
        version: 10,
        name: "blobs",
        sqlite: include_str!("../migrations/0010_blobs.sql"),
        postgres: include_str!("../migrations/0010_blobs.sql"),
    },
    Migration {
        version: 14,
        name: "bulk operations",
        sqlite: include_str!("../migrations/0014_bulk_operations.sql"),
        postgres: include_str!("../migrations/0014_bulk_operations.sql"),
    },
    Migration {
        version: 16,
        name: "published",
        sqlite: include_str!("../migrations/0016_published.sql"),
        postgres: include_str!("../migrations/0016_published.sql"),
    },
    Migration {
        version: 18,
        name: "learning",
        sqlite: include_str!("../migrations/0018_courses.sql"),
        postgres: include_str!("../migrations/0018_courses.sql"),
    },
    Migration {
        version: 19,
        name: "notices",
        sqlite: include_str!("../migrations/0019_course_notices.sql"),
        postgres: include_str!("../migrations/0019_course_notices.sql"),
    },
    Migration {
        version: 20,
        name: "lanes",
        sqlite: include_str!("../migrations/0020_lanes.sqlite.sql"),
        postgres: include_str!("../migrations/0020_lanes.postgres.sql"),
    },
    Migration {
        version: 21,
        name: "suspended",
        sqlite: include_str!("../migrations/0021_suspended.sql"),
        postgres: include_str!("../migrations/0021_suspended.sql"),
    },
    Migration {
        version: 22,
        name: "attempts",
        sqlite: include_str!("../migrations/0022_course_attempts.sql"),
        postgres: include_str!("../migrations/0022_course_attempts.sql"),
    },
    Migration {
        version: 23,
        name: "course_versions",
        sqlite: include_str!("../migrations/0023_course_versions.sql"),
        postgres: include_str!("../migrations/0023_course_versions.sql"),
    },
    Migration {
        version: 24,
        name: "revoked_tokens",
        sqlite: include_str!("../migrations/0024_revoked_tokens.sql"),
        postgres: include_str!("../migrations/0024_revoked_tokens.sql"),
    },
    Migration {
        version: 25,
        name: "course_tags",
        sqlite: include_str!("../migrations/0025_course_tags.sql"),
        postgres: include_str!("../migrations/0025_course_tags.sql"),
    },
    Migration {
        version: 27,
        name: "published_items",
        sqlite: include_str!("../migrations/0027_published_items.sql"),
        postgres: include_str!("../migrations/0027_published_items.sql"),
    },
    Migration {
        version: 28,
        name: "course_items",
        sqlite: include_str!("../migrations/0028_course_items.sqlite.sql"),
        postgres: include_str!("../migrations/0028_course_items.postgres.sql"),
    },
    Migration {
        version: 29,
        name: "recent",
        sqlite: include_str!("../migrations/0029_recent.sqlite.sql"),
        postgres: include_str!("../migrations/0029_recent.postgres.sql"),
    },
    Migration {
        version: 30,
        name: "revocation_lane",
        sqlite: include_str!("../migrations/0030_revocation_lane.sqlite.sql"),
        postgres: include_str!("../migrations/0030_revocation_lane.postgres.sql"),
    },
    Migration {
        version: 31,
        name: "quota_use",
        sqlite: include_str!("../migrations/0031_quota_use.sql"),
        postgres: include_str!("../migrations/0031_quota_use.sql"),
    },
];

/// The first version whose documents can be read; before it, references were packed without marks.
/// No release has written such a store.
const FIRST_READABLE: i64 = 5;

/// Tests whether a store has documents, in the SQL of both databases.
pub(crate) const HAS_DOCUMENTS: &str = "SELECT count(*) FROM (SELECT 1 FROM doc LIMIT 1) d";

/// Returns whether this version's documents, if there are any, cannot be read.
pub(crate) fn is_too_old(version: i64) -> bool {
    (1..FIRST_READABLE).contains(&version)
}

/// Returns the error for a store that is too old.
pub(crate) fn too_old(shown: impl std::fmt::Display) -> StoreError {
    StoreError::Unusable(format!(
        "{shown} contains documents of a Homeroom from before the first release, which this \
         version cannot read; export them with that one and load them into a new store"
    ))
}

/// Returns the version that this Homeroom writes.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}
