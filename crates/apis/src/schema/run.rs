//! Checks values by schemas.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::node::{At, Node, Schemas};

/// Most faults that are told.
const FAULTS_MAX: usize = 100;
/// Schemas that may be looked at for any value.
const STEPS_MIN: usize = 1_000_000;
/// Schemas that may be looked at for each byte of a value.
const STEPS_PER_BYTE: usize = 16;
/// Deepest nesting of values and schemas.
const DEPTH_MAX: usize = 512;

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) struct Faults {
    /// Path and message of each.
    pub(crate) found: Vec<(String, String)>,
    steps: usize,
    depth: usize,
    /// Whether faults are only counted, because another alternative may fit.
    is_quiet: bool,
    is_exhausted: bool,
}

impl Faults {
    /// Returns no faults yet, for a value of so many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        let steps = STEPS_MIN + bytes.saturating_mul(STEPS_PER_BYTE);
        Self { found: vec![], steps, depth: 0, is_quiet: false, is_exhausted: false }
    }

    pub(crate) fn add(&mut self, path: &str, message: impl Into<String>) {
        if !self.is_quiet && self.found.len() < FAULTS_MAX {
            self.found.push((path.to_owned(), message.into()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

impl Schemas {
    /// Returns whether a value fits a schema; what does not is added to the faults.
    pub(crate) fn check(&self, at: At, value: &Value, path: &mut String, to: &mut Faults) -> bool {
        if to.steps == 0 || to.depth == DEPTH_MAX {
            if !std::mem::replace(&mut to.is_exhausted, true) {
                to.is_quiet = false;
                to.add("$", "it is too large or nested too deep to be checked");
            }
            return false;
        }
        to.steps -= 1;
        to.depth += 1;
        let fits = self.node(&self.0[at.0], value, path, to);
        to.depth -= 1;
        fits
    }

    /// Returns whether a value fits, without telling why not.
    pub(crate) fn fits(&self, at: At, value: &Value, to: &mut Faults) -> bool {
        let was_quiet = std::mem::replace(&mut to.is_quiet, true);
        let fits = self.check(at, value, &mut String::new(), to);
        // Exhaustion is told whatever was looked at.
        to.is_quiet = was_quiet && !to.is_exhausted;
        fits
    }

    fn node(&self, node: &Node, value: &Value, path: &mut String, to: &mut Faults) -> bool {
        if node.is_never {
            to.add(path, "it is not allowed");
            return false;
        }
        let mut fits = true;
        let mut fault = |message: String, path: &str, to: &mut Faults| {
            to.add(path, message);
            fits = false;
        };
        if let Some(types) = node.types.filter(|types| !types.allow(value)) {
            fault(format!("it is not of type {}", types.names()), path, to);
            // Other rules would only say the same.
            return false;
        }
        if let Some(values) = &node.values
            && !values.contains(&canonical(value))
        {
            fault(format!("it is none of: {}", values.join(", ")), path, to);
        }
        match value {
            Value::Number(number) => {
                if let Some(message) = of_number(node, number) {
                    fault(message, path, to);
                }
            }
            Value::String(text) => {
                if let Some(message) = of_text(node, text) {
                    fault(message, path, to);
                }
            }
            Value::Array(items) => fits &= self.array(node, items, path, to),
            Value::Object(members) => fits &= self.object(node, members, path, to),
            Value::Null | Value::Bool(_) => {}
        }
        self.applied(node, value, path, to) && fits
    }

    /// Checks by the schemas that apply to the value itself.
    fn applied(&self, node: &Node, value: &Value, path: &mut String, to: &mut Faults) -> bool {
        let mut fits = true;
        for own in node.reference.iter().chain(&node.all_of) {
            fits &= self.check(*own, value, path, to);
        }
        if !node.any_of.is_empty() && !node.any_of.iter().any(|own| self.fits(*own, value, to)) {
            to.add(path, format!("it fits none of {} alternatives", node.any_of.len()));
            fits = false;
        }
        if !node.one_of.is_empty() {
            let count = node.one_of.iter().filter(|own| self.fits(**own, value, to)).count();
            if count != 1 {
                let all = node.one_of.len();
                to.add(path, format!("it fits {count} of {all} alternatives, and must fit one"));
                fits = false;
            }
        }
        if node.not.is_some_and(|own| self.fits(own, value, to)) {
            to.add(path, "it fits what it must not fit");
            fits = false;
        }
        if let Some((condition, then, other)) = node.condition {
            let own = if self.fits(condition, value, to) { then } else { other };
            if let Some(own) = own {
                fits &= self.check(own, value, path, to);
            }
        }
        fits && !to.is_exhausted
    }

    fn array(&self, node: &Node, items: &[Value], path: &mut String, to: &mut Faults) -> bool {
        let mut fits = true;
        let count = items.len() as u64;
        if let Some(least) = node.min_items.filter(|least| count < *least) {
            to.add(path, format!("it has fewer than {least} items"));
            fits = false;
        }
        if let Some(most) = node.max_items.filter(|most| count > *most) {
            to.add(path, format!("it has more than {most} items"));
            fits = false;
        }
        if node.is_unique {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical(item))) {
                to.add(path, "it has an item twice");
                fits = false;
            }
        }
        let whole = path.len();
        for (number, item) in items.iter().enumerate() {
            let Some(own) = node.prefix_items.get(number).copied().or(node.items) else { continue };
            _ = write!(path, "[{number}]");
            fits &= self.check(own, item, path, to);
            path.truncate(whole);
        }
        if let Some((own, least, most)) = node.contains {
            let count = items.iter().filter(|item| self.fits(own, item, to)).count() as u64;
            if count < least || most.is_some_and(|most| count > most) {
                to.add(path, format!("{count} of its items are as `contains` says"));
                fits = false;
            }
        }
        fits
    }

    fn object(
        &self,
        node: &Node,
        members: &Map<String, Value>,
        path: &mut String,
        to: &mut Faults,
    ) -> bool {
        let mut fits = true;
        for name in node.required.iter().filter(|name| !members.contains_key(*name)) {
            let whole = path.len();
            add_member(path, name);
            to.add(path, "it is required");
            path.truncate(whole);
            fits = false;
        }
        let count = members.len() as u64;
        if let Some(least) = node.min_properties.filter(|least| count < *least) {
            to.add(path, format!("it has fewer than {least} members"));
            fits = false;
        }
        if let Some(most) = node.max_properties.filter(|most| count > *most) {
            to.add(path, format!("it has more than {most} members"));
            fits = false;
        }
        for (name, value) in members {
            let whole = path.len();
            add_member(path, name);
            let mut is_known = false;
            if let Some(own) = node.properties.get(name) {
                is_known = true;
                fits &= self.check(*own, value, path, to);
            }
            for (pattern, own) in &node.pattern_properties {
                if pattern.regex.is_match(name) {
                    is_known = true;
                    fits &= self.check(*own, value, path, to);
                }
            }
            if let Some(own) = node.additional.filter(|_| !is_known) {
                fits &= self.check(own, value, path, to);
            }
            if let Some(own) = node.property_names {
                fits &= self.check(own, &Value::from(name.as_str()), path, to);
            }
            path.truncate(whole);
            if let Some(own) = node.dependent_schemas.get(name) {
                fits &= self.check(*own, &Value::Object(members.clone()), path, to);
            }
            let others = node.dependent_required.get(name).into_iter().flatten();
            for other in others.filter(|other| !members.contains_key(*other)) {
                to.add(path, format!("with {name}, {other} is required"));
                fits = false;
            }
        }
        fits
    }
}

/// Adds a member to a JSON path.
fn add_member(path: &mut String, name: &str) {
    let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if is_plain && !name.is_empty() {
        path.push('.');
        path.push_str(name);
    } else {
        _ = write!(path, "[{}]", Value::from(name));
    }
}

fn of_number(node: &Node, number: &serde_json::Number) -> Option<String> {
    let value = number.as_f64()?;
    if let Some(least) = node.minimum.filter(|least| value < *least) {
        return Some(format!("it is less than {least}"));
    }
    if let Some(least) = node.exclusive_minimum.filter(|least| value <= *least) {
        return Some(format!("it is not more than {least}"));
    }
    if let Some(most) = node.maximum.filter(|most| value > *most) {
        return Some(format!("it is more than {most}"));
    }
    if let Some(most) = node.exclusive_maximum.filter(|most| value >= *most) {
        return Some(format!("it is not less than {most}"));
    }
    if let Some(step) = node.multiple_of.filter(|step| !is_multiple(number, value, *step)) {
        return Some(format!("it is no multiple of {step}"));
    }
    let format = node.format.filter(|format| !format.has_number(number));
    format.map(|format| format!("it is no {}", format.name()))
}

/// Returns whether a number is a multiple of a step: exactly where both are whole, else as closely as binary
/// fractions tell (19.99 is a multiple of 0.01).
fn is_multiple(number: &serde_json::Number, value: f64, step: f64) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |value: f64| (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value);
    #[expect(clippy::cast_possible_truncation, reason = "they are whole and small enough")]
    let exact = |value: f64| whole(value).map(|value| value as i128);
    if let (Some(number), Some(step)) = (number.as_i128().or_else(|| exact(value)), exact(step)) {
        return number % step == 0;
    }
    let quotient = value / step;
    let error = quotient.abs() * 4.0 * f64::EPSILON;
    quotient.is_finite() && (quotient - quotient.round()).abs() <= error
}

fn of_text(node: &Node, text: &str) -> Option<String> {
    if node.min_length.is_some() || node.max_length.is_some() {
        let length = text.chars().count() as u64;
        if let Some(least) = node.min_length.filter(|least| length < *least) {
            return Some(format!("it has fewer than {least} characters"));
        }
        if let Some(most) = node.max_length.filter(|most| length > *most) {
            return Some(format!("it has more than {most} characters"));
        }
    }
    if let Some(pattern) = node.pattern.as_ref().filter(|own| !own.regex.is_match(text)) {
        return Some(format!("it does not match {}", pattern.text));
    }
    let format = node.format.filter(|format| !format.has_text(text));
    format.map(|format| format!("it is no {}", format.name()))
}

/// Writes a value in one form for all values that are equal: numbers by their value, members sorted.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            _ = if number.fract() == 0.0 && number.abs() < 1e15 {
                write!(text, "{number:.0}")
            } else {
                write!(text, "{number}")
            };
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in sorted {
                _ = write!(text, "{}:", Value::from(name.as_str()));
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        other => _ = write!(text, "{other}"),
    }
}
