//! The same document in another spelling.

use homeroom_model::{Resource, Scalar};
use serde_json::{Map, Value, json};

use crate::app::document::walk;

/// Random choices that a seed decides.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % sides as u64).unwrap()
    }

    fn toss(&mut self) -> bool {
        self.roll(2) == 0
    }
}

/// Says the same in another way: members in another order and case, values in text, dates with
/// slashes, nulls, empty collections and members that nobody knows.
pub fn respelled(resource: &Resource, document: &Value, dice: &mut Dice) -> Value {
    let mut document = document.clone();
    for found in walk(resource, &document.clone()) {
        let Some(scalar) = found.scalar() else { continue };
        let value = found.spot.get(&document).clone();
        if dice.toss() {
            found.spot.set(&mut document, otherwise(scalar, &value, dice));
        }
    }
    shuffled(&document, dice)
}

/// A value in another spelling of its type.
fn otherwise(scalar: Scalar, value: &Value, dice: &mut Dice) -> Value {
    match (scalar, value) {
        (Scalar::Integer { .. } | Scalar::Decimal { .. }, Value::Number(number)) => {
            match dice.roll(3) {
                0 => json!(format!(" {number} ")),
                1 => json!(format!("{number}e0")),
                _ => json!(number.to_string()),
            }
        }
        (Scalar::Boolean, Value::Bool(value)) => {
            json!(if *value { "True" } else { "FALSE" })
        }
        (Scalar::Date, Value::String(date)) => match date.split('-').collect::<Vec<_>>()[..] {
            [year, month, day] if dice.toss() => json!(format!("{month}/{day}/{year}")),
            _ => json!(format!("{date}T00:00:00")),
        },
        (Scalar::DateTime, Value::String(moment)) => {
            json!(moment.replace('Z', ["", "+00:00", ".000Z", "-0000"][dice.roll(4)]))
        }
        (Scalar::Time, Value::String(time)) => json!(format!("{time}.0")),
        (_, value) => value.clone(),
    }
}

fn shuffled(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Object(members) => {
            let mut left: Vec<(String, Value)> = members
                .iter()
                .map(|(name, value)| (recased(name, dice), shuffled(value, dice)))
                .collect();
            left.push((format!("unknown{}", dice.roll(9)), json!({"a": [1, null, {}]})));
            let mut shuffled = Map::new();
            while !left.is_empty() {
                let (name, value) = left.swap_remove(dice.roll(left.len()));
                shuffled.insert(name, value);
            }
            Value::Object(shuffled)
        }
        Value::Array(items) => items.iter().map(|item| self::shuffled(item, dice)).collect(),
        value => value.clone(),
    }
}

fn recased(name: &str, dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => name.to_ascii_uppercase(),
        1 => name.to_ascii_lowercase(),
        _ => name.to_owned(),
    }
}
