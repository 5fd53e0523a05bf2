//! Compiles a scenario's file into a program: parses every text and resolves every name.

mod names;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use self::names::Names;
use super::setup::Setup;
use super::{Each, From, Keeping, Program, Step, Tally};
use crate::duration;
use crate::engine::StepFacts;
use crate::scenario::error::Error;
use crate::scenario::file::{ScenarioFile, StepFile};
use crate::scenario::statuses::Statuses;
use crate::scenario::take::{Check, Take};
use crate::scenario::template::{Context, Template};
use crate::scenario::token::is_token;

/// The most steps that a scenario may have.
const STEPS_MAX: usize = 100_000;

/// Headers that the engine sets.
const NOT_FOR_SCENARIOS: &[&str] =
    &["connection", "content-length", "host", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// Headers that each request has unless its step sets them.
const USUAL_HEADERS: &[(&str, &str)] =
    &[("user-agent", concat!("homeroom-lab/", env!("CARGO_PKG_VERSION"))), ("accept", "*/*")];

impl Program {
    /// Checks a scenario and compiles it.
    ///
    /// # Errors
    ///
    /// Names the step and its member, and says what is wrong and how to correct it.
    pub fn compile(file: &ScenarioFile, setup: &Setup) -> Result<Self, Error> {
        refuse_odd_files(file)?;
        let names = Names::of(file, setup)?;
        let weights = weights(file)?;
        let mut steps = vec![];
        for (at, step) in file.steps.iter().enumerate() {
            steps.push(names.step(at, step)?);
        }
        refuse_unused_settings(file, setup)?;
        let initial = names.initial();
        let pools = names.pools(file, &steps);
        let is_always = |(at, step): &(usize, &Step)| {
            step.from.as_ref().is_none_or(|from| pools[from.pool].is_never_empty())
                && step.each.is_none()
                && step.needs.iter().all(|slot| usize::from(*slot) < initial.len())
                && weights.as_ref().is_none_or(|weights| weights[*at] > 0.0)
        };
        let always = steps.iter().enumerate().find(is_always).map(|(at, _)| at).ok_or_else(|| {
            Error::of_file(
                "steps",
                "no step is always possible: each needs a pool entry, an unused combination, or a \
                    value from an earlier answer",
            )
        })?;
        let facts = file.steps.iter().zip(&steps).map(|(file, step)| facts(file, step)).collect();
        Ok(Self {
            name: file.name.clone(),
            facts,
            initial,
            pools,
            prefix: setup.prefix.clone(),
            weights,
            always,
            tallies: steps.iter().map(|_| Tally::default()).collect(),
            steps,
        })
    }
}

fn refuse_odd_files(file: &ScenarioFile) -> Result<(), Error> {
    if file.name.trim().is_empty() {
        return Err(Error::of_file("name", "it is empty; reports need one"));
    }
    match (file.steps.len(), &file.edfi) {
        (0, Some(_)) => Err(Error::of_file(
            "edfi",
            "its steps come from the target's API description, which has not been read yet",
        )),
        (0, None) => Err(Error::of_file("steps", "there are none; begin one with `[[steps]]`")),
        (_, Some(_)) => Err(Error::of_file("edfi", "it replaces `steps`; remove one of the two")),
        (many, None) if many > STEPS_MAX => Err(Error::of_file(
            "steps",
            format!("there are {many}; at most {STEPS_MAX} are allowed"),
        )),
        (_, None) => Ok(()),
    }
}

fn refuse_unused_settings(file: &ScenarioFile, setup: &Setup) -> Result<(), Error> {
    let uses = |name: &str| {
        let written = format!("${{{name}}}");
        file.steps.iter().any(|step| texts(step).any(|text| text.contains(&written)))
    };
    let is_known = |name: &String| file.variables.contains_key(name) || uses(name);
    match setup.set.keys().find(|name| !is_known(name)) {
        Some(name) => {
            let has: Vec<&str> = file.variables.keys().map(String::as_str).collect();
            let has = if has.is_empty() { "none".into() } else { has.join(", ") };
            let why = format!("the scenario has no `{name}` to set; it has: {has}");
            Err(Error::of_file("variables", why))
        }
        None => Ok(()),
    }
}

fn facts(file: &StepFile, step: &Step) -> StepFacts {
    StepFacts {
        name: file.name.clone(),
        group: file.group.clone(),
        method: file.method.to_ascii_uppercase(),
        keeps_body: step.takes.iter().any(|(_, take)| take.needs_body())
            || step.checks.iter().any(Check::needs_body),
    }
}

fn weights(file: &ScenarioFile) -> Result<Option<Vec<f64>>, Error> {
    if file.steps.iter().all(|step| step.weight.is_none()) {
        return Ok(None);
    }
    let mut weights = vec![];
    for (at, step) in file.steps.iter().enumerate() {
        let wrong = |why: String| Error::of_step(at, &step.name, "weight", why);
        match step.weight {
            None => {
                return Err(wrong(
                    "this step has none, but others do; give every step a weight".into(),
                ));
            }
            Some(weight) if !(0.0..=1e12).contains(&weight) => {
                return Err(wrong(format!("{weight} is not a weight from 0 to 1e12")));
            }
            Some(weight) => weights.push(weight),
        }
    }
    if weights.iter().sum::<f64>() > 0.0 {
        Ok(Some(weights))
    } else {
        Err(Error::of_file("steps", "all weights are 0; raise one of them"))
    }
}

impl Names<'_> {
    fn step(&self, at: usize, file: &StepFile) -> Result<Step, Error> {
        let wrong =
            |part: &'static str| move |why: String| Error::of_step(at, &file.name, part, why);
        if file.name.trim().is_empty() {
            return Err(wrong("name")("it is empty; reports need one".into()));
        }
        if !is_token(&file.method) {
            return Err(wrong("method")(format!("`{}` is not a method", file.method)));
        }
        let path = self.path(&file.path).map_err(wrong("path"))?;
        let headers = self.headers(file).map_err(wrong("headers"))?;
        let place = if is_json(file) { Context::Json } else { Context::Plain };
        let body = self.text(file.body.as_deref().unwrap_or(""), place).map_err(wrong("body"))?;
        let expect = Statuses::read(file.expect.as_ref()).map_err(wrong("expect"))?;
        let pause = pause(file.pause.as_deref()).map_err(wrong("pause"))?;
        let mut takes = vec![];
        for (name, text) in &file.take {
            takes.push((self.slots[&**name], Take::parse(text).map_err(wrong("take"))?));
        }
        let mut checks = vec![];
        for text in &file.check {
            let unknown = |name: &str| self.meaning(name);
            checks.push(Check::parse(text, unknown).map_err(wrong("check"))?);
        }
        let from = file
            .from
            .as_ref()
            .map(|pick| From { pool: self.pools[&*pick.pool].0, remove: pick.remove });
        let keep = self.keep(file).map_err(wrong("keep"))?;
        let each = self.each(file).map_err(wrong("each"))?;
        let mut own = self.slots(&file.each.keys().map(String::as_str).collect::<Vec<_>>());
        if let Some(pick) = &file.from {
            own.extend(self.slots(&self.pools[&*pick.pool].1));
        }
        let needs: BTreeSet<u16> = path
            .variables()
            .chain(headers.variables())
            .chain(body.variables())
            .filter(|slot| !own.contains(slot))
            .collect();
        let auth = file.auth && !has_header(file, "authorization");
        let needs = needs.into_iter().collect();
        let kept = keep.iter().flat_map(|keep| &keep.values);
        let has_serial = [&path, &headers, &body].into_iter().chain(kept).any(Template::has_serial);
        Ok(Step {
            has_serial,
            has_whole_path: path.is_whole_path(),
            path,
            headers,
            body,
            auth,
            expect,
            pause,
            takes,
            checks,
            from,
            keep,
            each,
            needs,
        })
    }

    fn path(&self, text: &str) -> Result<Template, String> {
        let path = self.text(text, Context::Path)?;
        if !path.is_path() {
            return Err(format!("`{text}` does not begin with `/`"));
        }
        let odd = path.literals().flat_map(str::chars).find(|c| !c.is_ascii_graphic() || *c == '#');
        match odd {
            Some(odd) => Err(format!("{odd:?} is not allowed in a path; percent-encode it")),
            None => Ok(path),
        }
    }

    fn headers(&self, file: &StepFile) -> Result<Template, String> {
        let mut lines = String::new();
        for (name, value) in USUAL_HEADERS.iter().filter(|(name, _)| !has_header(file, name)) {
            _ = write!(lines, "{name}: {value}\r\n");
        }
        if file.body.is_some() && !has_header(file, "content-type") {
            lines.push_str("content-type: application/json\r\n");
        }
        for (name, value) in &file.headers {
            if !is_token(name) {
                return Err(format!("`{name}` is not a header name"));
            }
            if NOT_FOR_SCENARIOS.contains(&&*name.to_ascii_lowercase()) {
                return Err(format!("the engine sets `{name}` itself; leave it out"));
            }
            let template = self.text(value, Context::Header)?;
            if template.literals().any(|text| text.chars().any(char::is_control)) {
                return Err(format!("the value of `{name}` contains control characters"));
            }
            _ = write!(lines, "{name}: {}\r\n", value.trim());
        }
        self.text(&lines, Context::Header)
    }

    fn each(&self, file: &StepFile) -> Result<Option<Each>, String> {
        if file.each.is_empty() {
            return Ok(None);
        }
        if let Some((name, _)) = file.each.iter().find(|(_, values)| values.is_empty()) {
            return Err(format!("`{name}` has no values"));
        }
        let many = file.each.values().map(|values| values.len() as u64);
        let combinations = many.fold(1_u64, u64::saturating_mul);
        let slots = file.each.iter().map(|(name, values)| (self.slots[&**name], values.clone()));
        Ok(Some(Each { values: slots.collect(), combinations }))
    }

    fn keep(&self, file: &StepFile) -> Result<Option<Keeping>, String> {
        let Some(keep) = &file.keep else { return Ok(None) };
        let mut values = vec![];
        for text in keep.values.values() {
            values.push(self.text(text, Context::Json)?);
        }
        // A pool from which no step takes need not be filled.
        Ok(self.pools.get(&*keep.pool).map(|(pool, _)| Keeping { pool: *pool, values }))
    }
}

fn texts(step: &StepFile) -> impl Iterator<Item = &str> {
    let kept = step.keep.iter().flat_map(|keep| keep.values.values());
    let many = step.headers.values().chain(&step.check).chain(kept).chain(&step.body);
    std::iter::once(&step.path).chain(many).map(String::as_str)
}

fn has_header(file: &StepFile, name: &str) -> bool {
    file.headers.keys().any(|given| given.eq_ignore_ascii_case(name))
}

fn is_json(file: &StepFile) -> bool {
    let media = file.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    media.is_none_or(|(_, value)| value.to_ascii_lowercase().contains("json"))
}

fn pause(text: Option<&str>) -> Result<(Duration, Duration), String> {
    let Some(text) = text else { return Ok((Duration::ZERO, Duration::ZERO)) };
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (duration::parse(from.trim())?, duration::parse(to.trim())?);
    if from > to {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok((from, to))
}
