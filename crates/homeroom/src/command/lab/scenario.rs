//! Finds the scenario that a command names, and prepares steps from a target's own description.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use homeroom_lab_edfi::{ApiError, EdfiError, HttpApi};
use homeroom_load::engine::Options;
use homeroom_load::scenario::{self, EdfiFile, Program, ScenarioFile, Setup, Shipped};
use homeroom_load::token::Key;

use super::load::TargetArgs;
use super::session;
use crate::exit::Failure;

/// A scenario that is ready to send.
pub struct Chosen {
    /// The compiled scenario.
    pub program: Arc<Program>,
    /// The path of the token endpoint, if it is known from preparing the steps.
    pub token_path: Option<String>,
}

/// Reads the scenario from a file or from the built-in ones, and checks it. A scenario over an
/// Ed-Fi API is prepared for the target, which creates some documents there.
pub fn read(
    to: &TargetArgs,
    path: Option<String>,
    options: &Options,
    key: Option<&Key>,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Chosen, Failure> {
    let name = &to.scenario;
    let text = text(name)?;
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("scenario {name}: {error}"));
    let settings = to.settings()?;
    let file = ScenarioFile::read(&text).map_err(|error| usage(&error))?;
    if let Some(mut edfi) = file.edfi.clone().filter(|_| file.steps.is_empty()) {
        for (name, value) in &settings {
            homeroom_lab_edfi::set(&mut edfi, name, value)
                .map_err(|error| Failure::Usage(format!("--set: {error}")))?;
        }
        return over_edfi(file, &edfi, options, key, seed, stop);
    }
    let mut set: BTreeMap<String, String> = BTreeMap::new();
    set.extend(path.map(|path| ("path".into(), path)));
    set.extend(settings);
    let program = Program::read(&text, &Setup { set, prefix: options.target.prefix.clone() })
        .map_err(|error| usage(&error))?;
    Ok(Chosen { program: Arc::new(program), token_path: None })
}

/// Returns the scenarios that come with the program.
fn shipped() -> impl Iterator<Item = &'static Shipped> {
    scenario::SHIPPED.iter().chain(homeroom_lab_edfi::SHIPPED)
}

fn text(name: &str) -> Result<String, Failure> {
    if let Some(shipped) = shipped().find(|shipped| shipped.name == name) {
        return Ok(shipped.text.to_owned());
    }
    std::fs::read_to_string(name).map_err(|error| {
        let names: Vec<&str> = shipped().map(|shipped| shipped.name).collect();
        Failure::Usage(format!(
            "--scenario {name}: {error}; it is not a file; the built-in scenarios are: {}",
            names.join(", ")
        ))
    })
}

fn over_edfi(
    file: ScenarioFile,
    edfi: &EdfiFile,
    options: &Options,
    key: Option<&Key>,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Chosen, Failure> {
    let missing = || Failure::Usage(format!("scenario {} needs --key and its secret", file.name));
    let key = key.ok_or_else(missing)?;
    let failed = |error: &EdfiError| match error {
        EdfiError::Api(ApiError::Unanswered { .. }) => Failure::Unreachable(error.to_string()),
        EdfiError::Api(ApiError::Stopped) => Failure::Interrupted(
            "interrupted before the run: the documents of the set-up remain".into(),
        ),
        EdfiError::NoSuchResource { .. } => Failure::Usage(error.to_string()),
        EdfiError::Api(_) | EdfiError::Nothing(_) => Failure::Failed(error.to_string()),
    };
    let mut client = HttpApi::new(session::caller(options), &key.id, &key.secret, stop.clone());
    eprintln!(
        "making steps from the target's description, and creating the documents that they need"
    );
    let prepared =
        homeroom_lab_edfi::prepare(&mut client, edfi, seed).map_err(|error| failed(&error))?;
    eprint!("{}", prepared.coverage);
    let file = ScenarioFile { steps: prepared.steps, pools: prepared.pools, edfi: None, ..file };
    let setup = Setup { prefix: options.target.prefix.clone(), ..Setup::default() };
    let program = Program::compile(&file, &setup)
        .map_err(|error| Failure::Failed(format!("the prepared steps are wrong: {error}")))?;
    Ok(Chosen { program: Arc::new(program), token_path: Some(prepared.token_path) })
}
