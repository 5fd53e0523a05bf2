//! Ways that are followed step by step: the statements to ask, and what they have found.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tokio_postgres::Row as SqlRow;

use super::memory::{Climb, Led, Memory, Versions};
use super::statements;
use crate::id::{KindId, NaturalKey};
use crate::postgres::error::Fault;
use crate::postgres::strict::ROWS_MAX;
use crate::postgres::value::{Column, bytes};
use crate::tie::{Reached, Start, Way};

/// Starting points with their ways, and the results so far.
#[derive(Default)]
pub(in crate::postgres) struct Reaching {
    asked: BTreeMap<Way, (BTreeSet<i64>, BTreeSet<[u8; 16]>)>,
    stepped: HashMap<Way, HashMap<Start, Stepped>>,
    climbed: HashMap<(KindId, i64), Climb>,
    /// Where ways have led to before, if it is confirmed that nothing has changed since.
    recalled: HashMap<(Way, Start), Led>,
}

/// The items that the steps of a way have led to.
#[derive(Default)]
struct Stepped {
    /// The number that it began with; several, if several documents have its identity.
    numbers: BTreeSet<i64>,
    items: BTreeSet<i64>,
    /// Items whose holders were examined, with the label.
    seen: BTreeSet<(KindId, i64)>,
}

/// A statement of [`Reaching`], with its arguments.
pub(in crate::postgres) struct ReachStatement {
    pub(in crate::postgres) text: String,
    pub(in crate::postgres) columns: Vec<Column>,
    pub(in crate::postgres) of: Of,
}

/// What a statement follows.
#[derive(Debug, Clone)]
pub(in crate::postgres) enum Of {
    /// The steps of a way.
    Steps(Way),
    /// Climbs over a label.
    Climbs(KindId),
}

impl Reaching {
    pub(in crate::postgres) fn add(&mut self, start: Start, way: &Way) {
        let (numbers, keys) = self.asked.entry(*way).or_default();
        match start {
            Start::Number(number) => _ = numbers.insert(number),
            Start::Document(key) => _ = keys.insert(key.0),
        }
    }

    /// Takes from memory what is remembered of this version of all ties, instead of asking. Returns the
    /// identities whose documents have to be known to confirm it.
    pub(in crate::postgres) fn recall(&mut self, memory: &Memory, any: i64) -> Vec<[u8; 16]> {
        let mut to_confirm = vec![];
        for (way, (numbers, keys)) in &mut self.asked {
            let starts = numbers.iter().map(|number| Start::Number(*number));
            let starts = starts.chain(keys.iter().map(|key| Start::Document(NaturalKey(*key))));
            for (start, led) in memory.recall(any, way, starts) {
                match start {
                    Start::Number(number) => _ = numbers.remove(&number),
                    Start::Document(key) => {
                        keys.remove(&key.0);
                        to_confirm.push(key.0);
                    }
                }
                self.recalled.insert((*way, start), led);
            }
        }
        to_confirm
    }

    /// Confirms what was taken from memory, if all ties are as remembered; `number` gives the numbers of
    /// documents by their identities. Returns the statements for everything else.
    pub(in crate::postgres) fn confirm(
        &mut self,
        is_same: bool,
        number: impl Fn(&[u8; 16]) -> Option<i64>,
    ) -> Vec<ReachStatement> {
        let recalled = std::mem::take(&mut self.recalled);
        let is_true = |start: &Start, led: &Led| match start {
            Start::Number(_) => is_same,
            Start::Document(key) => is_same && number(&key.0) == Some(led.number),
        };
        self.asked.clear();
        for ((way, start), led) in recalled {
            if is_true(&start, &led) {
                self.recalled.insert((way, start), led);
            } else {
                self.add(start, &way);
            }
        }
        self.steps()
    }

    /// Returns the statements for the steps; a number without steps to follow is at its goal
    /// already.
    pub(in crate::postgres) fn steps(&mut self) -> Vec<ReachStatement> {
        let mut questions = vec![];
        for (way, (numbers, keys)) in &self.asked {
            let labels = || Column::Kinds(way.steps.iter().map(|label| label.0.into()).collect());
            let mut ask = |from, is_from_keys| {
                let mut columns = vec![from];
                columns.extend((!way.steps.is_empty()).then(labels));
                let text = statements::steps(way, is_from_keys);
                questions.push(ReachStatement { text, columns, of: Of::Steps(*way) });
            };
            if way.steps.is_empty() {
                let known = self.stepped.entry(*way).or_default();
                known.extend(numbers.iter().map(|number| {
                    let items = BTreeSet::from([*number]);
                    let numbers = items.clone();
                    (Start::Number(*number), Stepped { numbers, items, seen: BTreeSet::new() })
                }));
            } else {
                let numbers: Vec<_> = numbers.iter().copied().collect();
                numbers.chunks(ROWS_MAX).for_each(|some| ask(Column::Numbers(some.into()), false));
            }
            let keys: Vec<_> = keys.iter().copied().map(uuid::Uuid::from_bytes).collect();
            keys.chunks(ROWS_MAX).for_each(|some| ask(Column::Uuids(some.into()), true));
        }
        questions
    }

    /// Returns the statements for climbs that are not remembered for this state of the ties.
    pub(in crate::postgres) fn climbs(
        &mut self,
        memory: &Memory,
        state: Option<&Versions>,
    ) -> Vec<ReachStatement> {
        let mut missing: BTreeMap<KindId, BTreeSet<i64>> = BTreeMap::new();
        for (way, stepped) in &self.stepped {
            for item in stepped.values().flat_map(|stepped| &stepped.items) {
                if self.climbed.contains_key(&(way.up, *item)) {
                    continue;
                }
                match state.and_then(|state| memory.climb(state, way.up, *item)) {
                    Some(climb) => _ = self.climbed.insert((way.up, *item), climb),
                    None => _ = missing.entry(way.up).or_default().insert(*item),
                }
            }
        }
        let mut questions = vec![];
        for (label, items) in missing {
            let items: Vec<_> = items.into_iter().collect();
            for some in items.chunks(ROWS_MAX) {
                // A climb that leads nowhere has no row.
                let nowhere = some.iter().map(|item| ((label, *item), Climb::from([])));
                self.climbed.extend(nowhere);
                let columns =
                    vec![Column::Numbers(some.to_vec()), Column::Kinds(vec![label.0.into()])];
                let text = statements::CLIMBS.to_owned();
                questions.push(ReachStatement { text, columns, of: Of::Climbs(label) });
            }
        }
        questions
    }

    /// Reads the rows of a statement.
    pub(in crate::postgres) fn read(&mut self, of: &Of, rows: &[SqlRow]) -> Result<(), Fault> {
        match of {
            Of::Steps(way) => self.read_steps(way, rows),
            Of::Climbs(label) => self.read_climbs(*label, rows),
        }
    }

    /// Reads rows of identity, number, and the holder after each step.
    fn read_steps(&mut self, way: &Way, rows: &[SqlRow]) -> Result<(), Fault> {
        let all = self.stepped.entry(*way).or_default();
        for row in rows {
            let number: i64 = row.try_get(1)?;
            let start = match row.try_get::<_, Option<uuid::Uuid>>(0)? {
                Some(_) => Start::Document(NaturalKey(bytes(row, 0)?)),
                None => Start::Number(number),
            };
            let stepped = all.entry(start).or_default();
            stepped.numbers.insert(number);
            let mut at = Some(number);
            for (step, label) in way.steps.iter().enumerate() {
                let Some(item) = at else { break };
                stepped.seen.insert((*label, item));
                at = row.try_get(2 + step)?;
            }
            stepped.items.extend(at);
        }
        Ok(())
    }

    /// Reads rows of starting item and number, without duplicates.
    fn read_climbs(&mut self, label: KindId, rows: &[SqlRow]) -> Result<(), Fault> {
        let mut found: HashMap<i64, Vec<i64>> = HashMap::new();
        for row in rows {
            found.entry(row.try_get(0)?).or_default().push(row.try_get(1)?);
        }
        for (item, mut numbers) in found {
            numbers.sort_unstable();
            self.climbed.insert((label, item), numbers.into());
        }
        Ok(())
    }

    /// Returns what was reached, and what was examined for it.
    pub(in crate::postgres) fn answer(&self, start: Start, way: &Way) -> Reached {
        if let Some(led) = self.recalled.get(&(*way, start)) {
            return Reached { numbers: Arc::clone(&led.numbers), seen: led.seen.to_vec() };
        }
        let Some(stepped) = self.stepped.get(way).and_then(|all| all.get(&start)) else {
            return Reached::default();
        };
        let mut seen: Vec<(KindId, i64)> = stepped.seen.iter().copied().collect();
        let mut numbers: Vec<i64> = vec![];
        for item in &stepped.items {
            let climb = self.climbed.get(&(way.up, *item)).map_or(&[][..], |climb| climb);
            seen.extend([item].into_iter().chain(climb).map(|number| (way.up, *number)));
            numbers.extend(climb);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Reached { numbers: numbers.into(), seen }
    }

    /// Stores the climbs of this state of the ties in memory.
    pub(in crate::postgres) fn keep_climbs(&self, memory: &Memory, state: &Versions) {
        let climbed = self.climbed.iter().map(|(of, climb)| (*of, Arc::clone(climb)));
        memory.keep(state, climbed.collect());
    }

    /// Stores in memory where the ways that were followed have led to in this state of the ties.
    pub(in crate::postgres) fn keep_ways(&self, memory: &Memory, state: &Versions) {
        if self.stepped.values().all(HashMap::is_empty) {
            return;
        }
        let followed = self.stepped.iter().flat_map(|(way, all)| {
            all.iter().map(move |(start, stepped)| (*start, way, &stepped.numbers))
        });
        let reached = followed.filter_map(|(start, way, begun)| {
            let number = *begun.first().filter(|_| begun.len() == 1)?;
            let Reached { numbers, seen } = self.answer(start, way);
            Some((start, *way, Led { number, numbers, seen: seen.into() }))
        });
        memory.keep_ways(state, reached.collect());
    }
}
