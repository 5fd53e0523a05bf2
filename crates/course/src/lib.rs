//! Courses: packages, registrations, launches, and the run-time that keeps what learners do.
//!
//! [`Courses`] is opened on a store with its jobs and blobs. [`routes`] are the API below
//! `/learning/api/v2`, shaped as clients of the Cloud and Engine API v2 know it, and what the player
//! and its content call below `/play/{launch}`. [`kinds`] are the jobs that this part does.
//!
//! A commit is a small plan: it asks for the rows of one registration, applies what content has set,
//! and writes them back. It is acknowledged when it is durable; a repeat changes nothing.

mod answers;
mod api;
mod assets;
mod carry;
mod check;
mod clock;
mod command;
mod commit;
mod content;
mod content_cache;
mod course;
mod courses;
mod delivery;
mod error;
mod import;
mod items;
mod kinds;
mod launch;
mod launch_cache;
mod launch_record;
mod learner;
mod level;
mod message;
mod multipart;
mod notice;
mod options;
mod outbound;
mod package;
mod pages;
mod play;
mod registration;
mod removal;
mod repacked;
mod report;
mod row;
mod run_time;
mod sample;
mod sequencing;
mod sessions;
mod settings;
mod shown;
mod signature;
mod sql;
mod subscription;
mod sweep;
mod tags;
mod version;
mod watch;

pub use api::{Origins, routes};
pub use check::{Checked, check};
pub use command::CoursesRequest;
pub use courses::Courses;
pub use error::Error;
pub use kinds::kinds;
pub use options::Options;
pub use package::{
    Activity, ActivityType, Finding, Level, Package, PackageLimits, Standard, Taking, Unpacking,
    read as read_package,
};
pub use sample::{SAMPLE_ID, packed, sample_package};
pub use sweep::Swept;
