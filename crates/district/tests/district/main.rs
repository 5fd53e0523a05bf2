//! Laws for whole districts.

mod checker;
mod consistency;
mod failing;
mod files;
mod profile;
mod reader;

use homeroom_model::{Model, format, link, shipped};

fn model() -> Model {
    link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
}
