//! Roll-up of SCORM 2004 on the server: what a course has come to, by the standard's processes, whatever
//! the browser says.
//!
//! Each numbered process is a function of its name. They are pure: from a [`Course`] with what its
//! activities have recorded, to what follows for those above.
//!
//! Source: SCORM 2004 4th edition, Sequencing and Navigation, appendix C.

mod check;
mod course;
mod definition;
mod end;
mod global;
mod rollup;
mod rules;

pub(crate) use check::up_5_check_activity;
pub(crate) use course::{Course, Status, Tracking};
pub(crate) use end::up_3_terminate_descendent_attempts;
pub(crate) use global::{Globals, declared, settle};
