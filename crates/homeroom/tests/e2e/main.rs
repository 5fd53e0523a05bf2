//! End-to-end tests of the real program, as its operators and clients use it.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod administration;
mod blobs;
mod clock;
mod commands;
mod configuration;
mod damage;
mod demo;
mod disk;
mod durability;
mod help;
mod jobs;
mod lab;
mod lab_edfi;
mod lab_target;
mod lifecycle;
mod listening;
mod loads;
mod log_file;
mod logs;
mod one_store;
mod outputs;
mod overload;
mod postgres;
mod refused_start;
mod reports;
mod restore;
mod revive;
mod shares;
mod slow;
mod standards;
mod support;
mod upload;
mod versions;
mod whose_store;
mod wire;
