//! A command's request to the process that owns the store.

use std::path::PathBuf;

use homeroom_access::Manage;
use homeroom_apis::{ApisRequest, Subscription};
use homeroom_bulk::LoadOptions;
use homeroom_course::CoursesRequest;
use homeroom_jobs::JobsRequest;
use serde::{Deserialize, Serialize};

impl Request {
    /// Returns whether the request may make a store where there is none: whether it adds something.
    /// All others read, change or remove what is there.
    pub fn may_make_store(&self) -> bool {
        match self {
            Self::Load(options) => !options.dry_run,
            Self::Manage(manage) => matches!(
                manage,
                Manage::CreateKey { .. } | Manage::PutClaimSet { .. } | Manage::PutStrategy { .. }
            ),
            Self::CreateSubscriber { .. } | Self::Apis(ApisRequest::Apply { .. }) => true,
            Self::Courses(asked) => matches!(asked, CoursesRequest::Add { .. }),
            Self::Apis(_) | Self::Jobs(_) | Self::Backup { .. } | Self::Views { .. } => false,
        }
    }

    /// Returns whether the request, where it would make a store, is tried on another first. A load is not:
    /// it reads much, and what it rejects is in its report.
    pub fn is_tried_first(&self) -> bool {
        !matches!(self, Self::Load(_))
    }
}

/// A command's request to the process that owns the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Manages keys and claim sets.
    Manage(Manage),
    /// Creates a key for published APIs.
    CreateSubscriber {
        /// The request for the key.
        create: Manage,
        /// What it may call.
        subscription: Subscription,
    },
    /// Shows and changes published APIs.
    Apis(ApisRequest),
    /// Shows and changes jobs.
    Jobs(JobsRequest),
    /// Adds and shows courses.
    Courses(CoursesRequest),
    /// Copies the store.
    Backup {
        /// The path of the new file.
        to: PathBuf,
        /// The longest time for checking the copy, in milliseconds.
        time_max_ms: u64,
    },
    /// Loads files without access checks; their paths are absolute.
    Load(LoadOptions),
    /// Replaces the reporting views.
    Views {
        /// The resources to create views for: all if the list is empty; `None` removes the views.
        of: Option<Vec<String>>,
    },
}
