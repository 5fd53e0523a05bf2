//! The real program, as those who run it meet it.

mod commands;
mod configuration;
mod durability;
mod help;
mod lifecycle;
mod logs;
mod overload;
mod refused_start;
mod support;
mod wire;
