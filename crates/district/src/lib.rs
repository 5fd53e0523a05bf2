//! A consistent synthetic school district of any size.
//!
//! [`documents`] streams the documents of a district (Data Standard 5.2.0) in an order in which
//! each comes after all that it refers to. Everything is a function of a [`DistrictPlan`]: number
//! of students, seed, school year. Equal plans give equal bytes, on every machine; no clock and no
//! chance of the system's is used. Nobody in it exists.
//!
//! A student's grade, school, class and siblings follow from the student's number by arithmetic,
//! all else from draws keyed by seed, topic and number. So a report card can be written without
//! remembering the marks, and a district of any size takes the memory of a small one.

mod courses;
mod documents;
mod failing;
mod json;
mod layout;
mod marks;
mod names;
mod people;
mod plan;
mod programs;
mod random;
mod refer;
mod school;
mod stage;
mod vocabulary;
mod write;
mod year;

pub use documents::{Document, Documents, documents};
pub use failing::failing_sample;
pub use plan::{
    DistrictPlan, PlanError, SCHOOL_YEAR_DEFAULT, SCHOOL_YEAR_MAX, SCHOOL_YEAR_MIN, STUDENTS_MAX,
};
pub use write::{Format, WriteError, Written, write};
