//! The wire contract of the Ed-Fi ODS/API 7.3, clause by clause.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

use homeroom_testkit as app;

#[path = "contract/audit.rs"]
mod audit;
#[path = "contract/batch.rs"]
mod batch;
#[path = "contract/bodies.rs"]
mod bodies;
#[path = "contract/changes.rs"]
mod changes;
#[path = "contract/composites.rs"]
mod composites;
#[path = "contract/compressed.rs"]
mod compressed;
#[path = "contract/cursors.rs"]
mod cursors;
#[path = "contract/etags.rs"]
mod etags;
#[path = "contract/extensions.rs"]
mod extensions;
#[path = "contract/guards.rs"]
mod guards;
#[path = "contract/habits.rs"]
mod habits;
#[path = "contract/large.rs"]
mod large;
#[path = "contract/lists.rs"]
mod lists;
#[path = "contract/references.rs"]
mod references;
#[path = "contract/seeds.rs"]
mod seeds;
#[path = "contract/upgraded.rs"]
mod upgraded;
#[path = "contract/upserts.rs"]
mod upserts;
#[path = "contract/values.rs"]
mod values;
