//! Laws that hold for every resource of the model: one test each, which reports all breaches at
//! once.

use homeroom_testkit as app;

#[path = "model_wide/batch.rs"]
mod batch;
#[path = "model_wide/empties.rs"]
mod empties;
#[path = "model_wide/examples.rs"]
mod examples;
#[path = "model_wide/identities.rs"]
mod identities;
#[path = "model_wide/inputs.rs"]
mod inputs;
#[path = "model_wide/lifecycle.rs"]
mod lifecycle;
#[path = "model_wide/queries.rs"]
mod queries;
#[path = "model_wide/references.rs"]
mod references;
#[path = "model_wide/samples.rs"]
mod samples;
#[path = "model_wide/spelling.rs"]
mod spelling;
#[path = "model_wide/violations.rs"]
mod violations;
