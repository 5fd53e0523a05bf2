//! Writes the same document in another spelling.

use homeroom_model::{EXTENSIONS, Resource};
use serde_json::{Value, json};

use crate::app::places::walk;
use crate::app::spellings::spellings;

/// Random choices that depend only on a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a number below `sides`.
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

/// Returns an equivalent text: members in another order and case, some of them repeated, values in
/// other spellings, unknown members, trailing commas.
pub fn respelled(resource: &Resource, document: &Value, dice: &mut Dice) -> String {
    let mut other = document.clone();
    for found in walk(resource, document) {
        let Some(scalar) = found.scalar() else { continue };
        let all = spellings(scalar, found.spot.get(document));
        if !all.is_empty() && dice.toss() {
            found.spot.set(&mut other, all[dice.roll(all.len())].clone());
        }
    }
    let mut out = String::new();
    write(&mut out, &other, true, dice);
    out
}

fn write(out: &mut String, value: &Value, takes_unknown: bool, dice: &mut Dice) {
    let (items, ends): (Vec<String>, _) = match value {
        Value::Object(members) => (object(members, takes_unknown, dice), ['{', '}']),
        Value::Array(items) => {
            let write = |item| {
                let mut text = String::new();
                write(&mut text, item, takes_unknown, dice);
                text
            };
            (items.iter().map(write).collect(), ['[', ']'])
        }
        value => {
            out.push_str(&value.to_string());
            return;
        }
    };
    out.push(ends[0]);
    out.push_str(&items.join(","));
    if !items.is_empty() && dice.toss() {
        out.push_str([",", " , "][dice.roll(2)]);
    }
    out.push(ends[1]);
}

/// Returns the members in another order, each as a text.
fn object(
    members: &serde_json::Map<String, Value>,
    takes_unknown: bool,
    dice: &mut Dice,
) -> Vec<String> {
    let mut left: Vec<Vec<String>> = vec![];
    for (name, value) in members {
        // Unknown members in an object of extensions are refused, so none are added there.
        let mut text = String::new();
        write(&mut text, value, name != EXTENSIONS, dice);
        let mut said = vec![format!("\"{}\":{text}", recased(name, dice))];
        // An earlier member with the same name does not count, nor does a null.
        if dice.roll(4) == 0 {
            said.insert(0, format!("\"{}\":\"else\"", recased(name, dice)));
        }
        if dice.roll(4) == 0 {
            said.push(format!("\"{}\":null", recased(name, dice)));
        }
        left.push(said);
    }
    if takes_unknown {
        left.push(vec![format!("\"unknown{}\":{}", dice.roll(9), json!({"a": [1, null, {}]}))]);
    }
    let mut shuffled = vec![];
    while !left.is_empty() {
        let at = dice.roll(left.len());
        shuffled.push(left[at].remove(0));
        left.retain(|said| !said.is_empty());
    }
    shuffled
}

fn recased(name: &str, dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => name.to_ascii_uppercase(),
        1 => name.to_ascii_lowercase(),
        _ => name.to_owned(),
    }
}
