//! The published test of course engines: modelled learners who list the courses, register, launch,
//! send their results every 20 seconds, and check at the end that they have completed; more and
//! more of them, until the server is too slow for people.

mod beside;
mod content;
mod course;
mod learner;
mod level;
mod person;
mod plan;
mod posts;
mod progress;
mod result;
mod script;
mod source;
mod watch;

pub use beside::{Beside, BesideKind, upload};
pub use content::ContentSource;
pub use course::{FILM, TEXT, course_zip};
pub use learner::{Learner, Next, Taken};
pub use level::Level;
pub use plan::LearnersPlan;
pub use posts::CLOSING_POSTS;
pub use progress::{Posts, Progress, Sessions, Window};
pub use result::{Crossing, Held, Hold, LearnersFile, LearnersResult, WindowRow};
pub use script::{API, LearnerStep, Script};
pub use source::LearnerSource;
pub use watch::{Advice, Controller, results};
