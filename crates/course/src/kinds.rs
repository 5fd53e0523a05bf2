//! The jobs of this part.

use std::time::Duration;

use homeroom_jobs::{Kind, Running};

use crate::clock;
use crate::courses::Courses;
use crate::import::IMPORT;
use crate::notice::POST;

/// Most attempts to send something; with the pauses between them about 15 hours.
const POST_ATTEMPTS: u32 = 70;
/// The first and the longest pause between them.
const POST_PAUSE: Duration = Duration::from_secs(1);
const POST_PAUSE_MAX: Duration = Duration::from_mins(15);

/// Returns the kinds of jobs that this part does.
pub fn kinds(courses: &Courses) -> Vec<Kind> {
    let own = courses.clone();
    let mut import = Kind::new(IMPORT, move |job: Running| {
        let courses = own.clone();
        async move { courses.import_job_run(&job, clock::now()).await }
    });
    import.running_max = 2;
    let own = courses.clone();
    let mut post = Kind::new(POST, move |job: Running| {
        let courses = own.clone();
        async move { courses.deliver(&job, clock::now()).await }
    });
    post.running_max = 8;
    post.attempts_max = POST_ATTEMPTS;
    post.pause = POST_PAUSE;
    post.pause_max = POST_PAUSE_MAX;
    vec![import, post]
}
