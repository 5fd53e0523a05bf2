//! The store's schema, step by step. A step that has landed stays as it is.

/// One step: its number, its name, its text for each database.
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
];

/// Version that this Homeroom writes.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}
