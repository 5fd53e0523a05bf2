//! Resolves the names in a scenario.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario::error::Error;
use crate::scenario::file::ScenarioFile;
use crate::scenario::pool::Entry;
use crate::scenario::program::setup::Setup;
use crate::scenario::program::{PoolFacts, Step};
use crate::scenario::template::{Context, Meaning, Template};

/// The most variables that answers and pools may set.
const VARIABLES_MAX: usize = 50_000;

/// Names with a built-in meaning.
const RESERVED: &[&str] = &["serial", "client", "uuid", "now", "random"];

/// What the names in a scenario stand for.
pub(super) struct Names<'a> {
    pub(super) fixed: BTreeMap<&'a str, &'a str>,
    /// Variables that answers or pools set; those with an initial value come first.
    pub(super) slots: BTreeMap<&'a str, u16>,
    /// Pools that some step takes from, and the variables of their entries.
    pub(super) pools: BTreeMap<&'a str, (usize, Vec<&'a str>)>,
}

impl<'a> Names<'a> {
    pub(super) fn of(file: &'a ScenarioFile, setup: &'a Setup) -> Result<Self, Error> {
        let mut fixed: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, value) in file.variables.iter().chain(&setup.set) {
            check_name(name).map_err(|why| Error::of_file("variables", why))?;
            fixed.insert(name, value);
        }
        let pools = pools(file)?;
        let mut given: BTreeSet<&str> = BTreeSet::new();
        for (at, step) in file.steps.iter().enumerate() {
            let taken = step.take.keys().map(|name| ("take", name));
            for (part, name) in taken.chain(step.each.keys().map(|name| ("each", name))) {
                check_name(name).map_err(|why| Error::of_step(at, &step.name, part, why))?;
                given.insert(name);
            }
        }
        given.extend(pools.values().flat_map(|(_, variables)| variables));
        if given.len() > VARIABLES_MAX {
            let why = format!("answers give {} values, more than {VARIABLES_MAX}", given.len());
            return Err(Error::of_file("steps", why));
        }
        let (with, without): (Vec<&str>, Vec<&str>) =
            given.into_iter().partition(|name| fixed.contains_key(name));
        let slots = with.into_iter().chain(without).zip(0..).collect();
        Ok(Self { fixed, slots, pools })
    }

    pub(super) fn meaning(&self, name: &str) -> Option<Meaning<'a>> {
        let slot = self.slots.get(name).map(|slot| Meaning::Variable(*slot));
        slot.or_else(|| self.fixed.get(name).map(|text| Meaning::Fixed(text)))
    }

    /// Returns the initial values of the first slots.
    pub(super) fn initial(&self) -> Vec<String> {
        let mut with: Vec<(u16, &str)> = vec![];
        for (name, slot) in &self.slots {
            with.extend(self.fixed.get(name).map(|value| (*slot, *value)));
        }
        with.sort_unstable();
        with.into_iter().map(|(_, value)| value.to_owned()).collect()
    }

    pub(super) fn slots(&self, names: &[&str]) -> Vec<u16> {
        names.iter().map(|name| self.slots[name]).collect()
    }

    pub(super) fn pools(&self, file: &ScenarioFile, steps: &[Step]) -> Vec<PoolFacts> {
        let mut pools: Vec<PoolFacts> = vec![];
        let mut in_order: Vec<_> = self.pools.iter().collect();
        in_order.sort_by_key(|(_, (number, _))| *number);
        for (name, (_, variables)) in in_order {
            let rows = file.pools.get(*name).into_iter().flatten();
            pools.push(PoolFacts {
                variables: self.slots(variables),
                steps: vec![],
                is_used_up: false,
                entries: rows.map(entry).collect(),
            });
        }
        for (at, step) in steps.iter().enumerate() {
            if let Some(from) = &step.from {
                pools[from.pool].steps.push(at);
                pools[from.pool].is_used_up |= from.remove;
            }
        }
        pools
    }

    pub(super) fn text(&self, text: &str, place: Context) -> Result<Template, String> {
        Template::parse(text, place, |name| self.meaning(name)).map_err(|why| {
            if why.starts_with("unknown variable") {
                format!("{why}; {}", self.known())
            } else {
                why
            }
        })
    }

    fn known(&self) -> String {
        const SHOWN: usize = 12;
        let known: BTreeSet<&str> = self.slots.keys().chain(self.fixed.keys()).copied().collect();
        let names: Vec<&str> = known.iter().copied().take(SHOWN).collect();
        let more = if known.len() > SHOWN { ", …" } else { "" };
        format!(
            "the known ones are {}{}{more}; a variable comes from [variables], --set, take, or a \
                pool",
            if names.is_empty() { "none" } else { "" },
            names.join(", ")
        )
    }
}

fn entry(row: &BTreeMap<String, String>) -> Entry {
    let mut text = String::new();
    let mut ends = vec![];
    for value in row.values() {
        text.push_str(value);
        ends.push(u32::try_from(text.len()).expect("a scenario's text is shorter than 4 GB"));
    }
    Entry::new(&text, &ends)
}

/// Returns the pools that some step takes from, and the variables of their entries.
fn pools(file: &ScenarioFile) -> Result<BTreeMap<&str, (usize, Vec<&str>)>, Error> {
    let mut kept: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, rows) in &file.pools {
        for row in rows {
            let given = Error::of_file("pools", "");
            fill_pool(&mut kept, name, row).map_err(|why| Error { why, ..given })?;
        }
    }
    for (at, step) in file.steps.iter().enumerate() {
        let Some(keep) = &step.keep else { continue };
        let wrong = |why: String| Error::of_step(at, &step.name, "keep", why);
        fill_pool(&mut kept, &keep.pool, &keep.values).map_err(wrong)?;
    }
    let mut taken: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for (at, step) in file.steps.iter().enumerate() {
        let Some(pick) = &step.from else { continue };
        let Some(variables) = kept.get(&*pick.pool) else {
            let why = format!("pool `{}` is never filled; let a step keep values in it", pick.pool);
            return Err(Error::of_step(at, &step.name, "from", why));
        };
        let number = taken.len();
        taken.entry(&pick.pool).or_insert_with(|| (number, variables.clone()));
    }
    Ok(taken)
}

/// Records the variables of a pool's entries, which must be the same for all of them.
fn fill_pool<'a>(
    kept: &mut BTreeMap<&'a str, Vec<&'a str>>,
    pool: &'a str,
    values: &'a BTreeMap<String, String>,
) -> Result<(), String> {
    let variables: Vec<&str> = values.keys().map(String::as_str).collect();
    if variables.is_empty() {
        return Err(format!("pool `{pool}` receives no values"));
    }
    match kept.get(pool) {
        Some(others) if *others == variables => Ok(()),
        Some(others) => Err(format!(
            "pool `{pool}` receives {} here and {} elsewhere; use the same variables",
            variables.join(", "),
            others.join(", "),
        )),
        None => {
            variables.iter().try_for_each(|name| check_name(name))?;
            kept.insert(pool, variables);
            Ok(())
        }
    }
}

/// Rejects an invalid name, or one with a built-in meaning.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || !name.chars().all(is_allowed) {
        return Err(format!("`{name}` is not a valid name: use letters, digits, _ - and ."));
    }
    if RESERVED.contains(&name) {
        return Err(format!("`{name}` is reserved; choose another name"));
    }
    Ok(())
}
