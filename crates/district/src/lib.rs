//! Generates a consistent synthetic school district of any size.
//!
//! [`documents`] streams the documents of a district (Data Standard 5.2.0), each after all
//! documents that it refers to. Everything is a function of a [`DistrictPlan`]: number of students,
//! seed and school year. Equal plans give equal bytes on every machine, because neither a clock nor
//! the system's random numbers are used. All people in it are fictitious.
//!
//! A student's grade, school, class and siblings are computed from the student's number; everything
//! else is drawn from a generator keyed by seed, topic and number. A report card can therefore be
//! written without storing the marks, and memory does not grow with the number of students.
//!
//! ```
//! use homeroom_district::{DistrictPlan, documents};
//!
//! let plan = DistrictPlan::new(100, 1, 2026)?;
//! let students = documents(&plan).filter(|document| document.resource == "Student").count();
//!
//! assert_eq!(students, 100);
//! # Ok::<(), homeroom_district::PlanError>(())
//! ```

mod batch;
mod courses;
mod documents;
mod failing;
mod json;
mod layout;
mod marks;
mod names;
mod people;
mod plan;
mod profile;
mod programs;
mod random;
mod refer;
mod school;
mod stage;
mod vocabulary;
mod write;
mod year;

pub use batch::Document;
pub use documents::{Documents, documents};
pub use failing::failing_sample;
pub use plan::{
    DistrictPlan, PlanError, SCHOOL_YEAR_DEFAULT, SCHOOL_YEAR_MAX, SCHOOL_YEAR_MIN, STUDENTS_MAX,
};

pub use profile::{Profile, Profiled, Ratios, profiled};
pub use write::{Format, WriteError, Written, write, write_documents};
