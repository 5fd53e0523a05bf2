//! The real program, as those who run it meet it.

mod administration;
mod clock;
mod commands;
mod configuration;
mod disk;
mod durability;
mod help;
mod lab;
mod lab_edfi;
mod lab_target;
mod lifecycle;
mod log_file;
mod logs;
mod one_store;
mod outputs;
mod overload;
mod postgres;
mod refused_start;
mod reports;
mod restore;
mod slow;
mod standards;
mod support;
mod whose_store;
mod wire;
