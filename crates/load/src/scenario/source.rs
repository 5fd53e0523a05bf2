//! Produces the engine's requests; each thread has a source of its own.

use std::sync::Arc;

use super::choice::Choice;
use super::pool::{Entry, Pool};
use super::program::{PoolFacts, Program, Step};
use super::template::{Slot, Values};
use crate::engine::{Answer, Reaction, Request, Source, StepFacts};
use crate::outcome::Outcome;

/// How often a step is drawn again if the client lacks values for it, before any other step is
/// done.
const DRAWS_MAX: u32 = 8;

/// The part of a run's requests that a source produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadShare {
    /// The thread's number, from 0.
    pub thread: u32,
    /// How many threads there are.
    pub threads: u32,
    /// The seed of random choices; each thread derives its own.
    pub seed: u64,
    /// The first serial number of the run.
    pub first_serial: u64,
}

/// The state of one modelled client.
#[derive(Debug, Default)]
pub struct Client {
    number: u32,
    at: usize,
    serial: u64,
    slots: Vec<Slot>,
}

/// Produces the requests of the modelled clients of one thread.
#[derive(Debug)]
pub struct ScenarioSource {
    program: Arc<Program>,
    choice: Option<Choice>,
    pools: Vec<Pool>,
    /// The next combination of each step.
    combinations: Vec<u64>,
    random: fastrand::Rng,
    serial: u64,
    /// The distance between two numbers of one thread, since the threads take turns.
    threads: u64,
    room: Vec<u8>,
    ends: Vec<u32>,
}

impl ScenarioSource {
    /// Returns the source of one thread.
    pub fn new(program: &Arc<Program>, share: ThreadShare) -> Self {
        // Consecutive seeds would give threads random streams that resemble each other.
        let mut seeds = fastrand::Rng::with_seed(share.seed);
        let seed = (0..=share.thread).map(|_| seeds.u64(..)).last().unwrap_or(share.seed);
        let threads = u64::from(share.threads.max(1));
        let mut source = Self {
            choice: program.weights.as_deref().map(Choice::new),
            pools: program.pools.iter().map(|facts| own_pool(facts, program, share)).collect(),
            combinations: vec![u64::from(share.thread); program.steps.len()],
            random: fastrand::Rng::with_seed(seed),
            serial: share.first_serial + u64::from(share.thread),
            threads,
            room: vec![],
            ends: vec![],
            program: Arc::clone(program),
        };
        (0..program.steps.len()).for_each(|at| source.update_choice(at));
        source
    }

    /// Returns whether the step's pool has an entry and a combination is left.
    fn has_supplies(&self, at: usize) -> bool {
        let step = &self.program.steps[at];
        let next = self.combinations[at];
        step.from.as_ref().is_none_or(|from| !self.pools[from.pool].is_empty())
            && step.each.as_ref().is_none_or(|each| next < each.combinations)
    }

    fn update_choice(&mut self, at: usize) {
        let on = self.has_supplies(at);
        if let Some(choice) = &mut self.choice {
            choice.set(at, on);
        }
    }

    fn update_choices_of(&mut self, pool: usize) {
        for at in 0..self.program.pools[pool].steps.len() {
            self.update_choice(self.program.pools[pool].steps[at]);
        }
    }

    /// Chooses the client's next step, and takes what it needs from a pool.
    fn choose(&mut self, client: &mut Client) -> usize {
        if self.program.steps.len() == 1 {
            return self.program.always;
        }
        match &self.choice {
            None => self.following(client),
            Some(choice) => {
                for _ in 0..DRAWS_MAX {
                    let Some(at) = choice.draw(&mut self.random) else { break };
                    if self.can_do(at, client) {
                        return at;
                    }
                    self.program.tallies[at].add_skipped();
                }
                let steps = self.program.steps.len();
                let first = self.random.usize(..steps);
                let all = (first..steps).chain(0..first);
                let mut possible = all.filter(|at| choice.is_on(*at) && self.can_do(*at, client));
                possible.next().unwrap_or(self.program.always)
            }
        }
    }

    fn following(&self, client: &mut Client) -> usize {
        let steps = self.program.steps.len();
        for _ in 0..steps {
            let at = client.at;
            client.at = (at + 1) % steps;
            if self.can_do(at, client) {
                return at;
            }
            self.program.tallies[at].add_skipped();
        }
        self.program.always
    }

    fn can_do(&self, at: usize, client: &Client) -> bool {
        self.has_supplies(at) && self.program.steps[at].needs.iter().all(|slot| client.has(*slot))
    }

    /// Gives the client the values of an entry and of a combination, if the step needs them.
    fn supply(&mut self, at: usize, client: &mut Client) {
        let step = &self.program.steps[at];
        let mut emptied = None;
        if let Some(from) = &step.from {
            let variables = &self.program.pools[from.pool].variables;
            let pool = &mut self.pools[from.pool];
            if !from.remove {
                pool.pick(&mut self.random).inspect(|entry| client.know(variables, entry));
            } else if let Some(entry) = pool.take(&mut self.random) {
                client.know(variables, &entry);
                emptied = pool.is_empty().then_some(from.pool);
            }
        }
        if let Some(each) = &step.each {
            for (variable, value) in each.combination(self.combinations[at]) {
                client.take(variable, Some(value), &[]);
            }
            self.combinations[at] = self.combinations[at].saturating_add(self.threads);
            if self.combinations[at] >= each.combinations {
                self.program.tallies[at].use_up();
            }
            self.update_choice(at);
        }
        if let Some(pool) = emptied {
            self.update_choices_of(pool);
        }
    }

    /// Puts values of the answer into the step's pool. Returns whether all of them were present.
    fn keep(&mut self, at: usize, client: &Client) -> bool {
        let program = Arc::clone(&self.program);
        let Some(keep) = &program.steps[at].keep else { return true };
        self.room.clear();
        self.ends.clear();
        let mut values = client.values(&mut self.random);
        for value in &keep.values {
            if !value.fill(&mut self.room, &mut values) {
                return false;
            }
            self.ends.push(u32::try_from(self.room.len()).unwrap_or(u32::MAX));
        }
        let Ok(text) = std::str::from_utf8(&self.room) else { return false };
        let pool = &mut self.pools[keep.pool];
        let was_empty = pool.is_empty();
        pool.put(Entry::new(text, &self.ends), &mut self.random);
        if was_empty {
            self.update_choices_of(keep.pool);
        }
        true
    }
}

/// Returns a thread's share of a pool's initial entries: every n-th if steps remove them, otherwise
/// all.
fn own_pool(facts: &PoolFacts, program: &Program, share: ThreadShare) -> Pool {
    let (first, every) = if facts.is_used_up {
        (share.thread as usize, share.threads.max(1) as usize)
    } else {
        (0, 1)
    };
    let own = facts.entries.iter().skip(first).step_by(every);
    Pool::new(program.pools.len(), own.cloned().collect())
}

/// Removes the prefix that the engine adds to each path from a whole path that already has it.
fn cut_prefix(path: &mut Vec<u8>, prefix: &str) {
    let rest = path.strip_prefix(prefix.as_bytes());
    if let Some(rest) = rest.filter(|rest| matches!(rest.first(), None | Some(b'/' | b'?'))) {
        path.drain(..path.len() - rest.len());
    }
}

impl Source for ScenarioSource {
    type Client = Client;

    fn steps(&self) -> &[StepFacts] {
        &self.program.facts
    }

    fn client(&mut self, number: u32) -> Client {
        let known = |text: &String| Slot { text: text.clone(), is_set: true };
        let slots = self.program.initial.iter().map(known).collect();
        Client { number, at: 0, serial: 0, slots }
    }

    fn next(&mut self, client: &mut Client, request: &mut Request) -> usize {
        let at = self.choose(client);
        self.supply(at, client);
        let step = &self.program.steps[at];
        if step.has_serial {
            client.serial = self.serial;
            self.serial = self.serial.wrapping_add(self.threads);
        }
        let mut values = client.values(&mut self.random);
        step.path.fill(&mut request.path, &mut values);
        if step.has_whole_path {
            cut_prefix(&mut request.path, &self.program.prefix);
        }
        step.headers.fill(&mut request.headers, &mut values);
        step.body.fill(&mut request.body, &mut values);
        request.auth = step.auth;
        at
    }

    fn answered(&mut self, client: &mut Client, at: usize, answer: &Answer<'_>) -> Reaction {
        let program = Arc::clone(&self.program);
        let step = &program.steps[at];
        let has_right_status =
            matches!(answer.outcome, Outcome::Status(status) if step.expect.has(status));
        let mut values = client.values(&mut self.random);
        let room = &mut self.room;
        let mut checks = step.checks.iter();
        let ok = has_right_status && checks.all(|check| check.holds(answer, &mut values, room));
        let mut is_whole = true;
        for (slot, take) in &step.takes {
            let found = if ok { take.find(answer) } else { None };
            is_whole &= found.is_some();
            client.take(*slot, found.as_deref(), &program.initial);
        }
        if ok && !(is_whole && self.keep(at, client)) {
            program.tallies[at].add_untaken();
        }
        Reaction { ok, pause: self.pause(step) }
    }
}

impl ScenarioSource {
    fn pause(&mut self, step: &Step) -> std::time::Duration {
        let (from, to) = step.pause;
        from + to.saturating_sub(from).mul_f64(self.random.f64())
    }
}

impl Client {
    fn has(&self, slot: u16) -> bool {
        self.slots.get(usize::from(slot)).is_some_and(|slot| slot.is_set)
    }

    fn values<'a>(&'a self, random: &'a mut fastrand::Rng) -> Values<'a> {
        Values { slots: &self.slots, serial: self.serial, client: self.number, random }
    }

    fn slot(&mut self, slot: u16) -> &mut Slot {
        let slot = usize::from(slot);
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Slot::default);
        }
        &mut self.slots[slot]
    }

    fn know(&mut self, variables: &[u16], entry: &Entry) {
        for (variable, value) in variables.iter().zip(entry.values()) {
            self.take(*variable, Some(value), &[]);
        }
    }

    /// Sets a variable; without a value it gets its initial one, or none.
    fn take(&mut self, variable: u16, value: Option<&str>, initial: &[String]) {
        let value = value.or_else(|| initial.get(usize::from(variable)).map(String::as_str));
        let slot = self.slot(variable);
        slot.text.clear();
        slot.text.push_str(value.unwrap_or_default());
        slot.is_set = value.is_some();
    }
}

#[cfg(test)]
mod tests;
