//! Which scenario a command means.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_lab::scenario::{Program, SHIPPED, Setup, Shipped};

use super::load::TargetArgs;
use crate::exit::Failure;

/// Reads the scenario, from a file or from those that are built in, and checks it.
pub fn read(to: &TargetArgs, path: Option<String>) -> Result<Arc<Program>, Failure> {
    let name = &to.scenario;
    let text = match Shipped::find(name) {
        Some(shipped) => shipped.text.to_owned(),
        None => std::fs::read_to_string(name).map_err(|error| {
            let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
            Failure::Usage(format!(
                "--scenario {name}: {error}; it is no file, and built in are: {}",
                names.join(", ")
            ))
        })?,
    };
    let mut set: BTreeMap<String, String> = BTreeMap::new();
    set.extend(path.map(|path| ("path".into(), path)));
    set.extend(to.settings()?);
    let program = Program::read(&text, &Setup { set });
    program.map(Arc::new).map_err(|error| Failure::Usage(format!("scenario {name}: {error}")))
}
