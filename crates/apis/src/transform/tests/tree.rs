//! Operations on a tree, as a reader of the file would expect.

use serde_json::{Map, Value};

use crate::transform::Operation;

/// Does an operation on a tree.
pub(super) fn on_tree(operation: &Operation, tree: &mut Value) {
    let (Operation::Rename { path, .. }
    | Operation::Add { path, .. }
    | Operation::Drop { path }
    | Operation::Move { path, .. }) = operation;
    let steps = steps_of(path);
    let each = steps.iter().rposition(|step| *step == "*").map_or(0, |last| last + 1);
    if let (Operation::Drop { .. }, true) = (operation, each == steps.len()) {
        for parent in places(tree, &steps[..each - 1]) {
            if let Value::Array(items) = parent {
                items.clear();
            }
        }
        return;
    }
    for place in places(tree, &steps[..each]) {
        match operation {
            Operation::Rename { to, .. } => rename(place, &steps[each..], to),
            Operation::Add { value, .. } => _ = set(place, &steps[each..], value),
            Operation::Drop { .. } => _ = take(place, &steps[each..]),
            Operation::Move { to, .. } => {
                let mut changed = place.clone();
                if let Some(value) = take(&mut changed, &steps[each..])
                    && set(&mut changed, &steps_of(to)[each..], &value)
                {
                    *place = changed;
                }
            }
        }
    }
}

fn steps_of(path: &str) -> Vec<&str> {
    path[1..].split('/').collect()
}

/// Returns the values that steps lead to; `*` leads to each element of an array.
fn places<'a>(tree: &'a mut Value, steps: &[&str]) -> Vec<&'a mut Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![tree] };
    match tree {
        Value::Array(items) => {
            let index = step.parse::<usize>().ok();
            let chosen = items.iter_mut().enumerate();
            chosen
                .filter(|(number, _)| *step == "*" || Some(*number) == index)
                .flat_map(|(_, item)| places(item, rest))
                .collect()
        }
        Value::Object(members) if *step != "*" => {
            members.get_mut(*step).map_or(vec![], |member| places(member, rest))
        }
        _ => vec![],
    }
}

fn rename(place: &mut Value, names: &[&str], to: &str) {
    let Some((last, before)) = names.split_last() else { return };
    for parent in places(place, before) {
        let Value::Object(members) = parent else { continue };
        if to == *last || !members.contains_key(*last) {
            continue;
        }
        let others = std::mem::take(members).into_iter().filter(|(name, _)| name != to);
        let renamed = |name: String| if name == *last { to.to_owned() } else { name };
        *members = others.map(|(name, value)| (renamed(name), value)).collect();
    }
}

/// Gives a place a value; returns whether it can have one.
fn set(place: &mut Value, names: &[&str], value: &Value) -> bool {
    let Some((name, rest)) = names.split_first() else {
        *place = value.clone();
        return true;
    };
    match place {
        Value::Object(members) => match members.get_mut(*name) {
            Some(inner) => set(inner, rest, value),
            None => {
                members.insert((*name).to_owned(), nested(rest, value));
                true
            }
        },
        Value::Array(items) => {
            let index = if *name == "-" { Some(items.len()) } else { name.parse().ok() };
            match index {
                Some(index) if index < items.len() && !rest.is_empty() => {
                    set(&mut items[index], rest, value)
                }
                Some(index) if index <= items.len() => {
                    items.insert(index, nested(rest, value));
                    true
                }
                _ => false,
            }
        }
        _ => false,
    }
}

fn nested(names: &[&str], value: &Value) -> Value {
    names.iter().rev().fold(value.clone(), |inner, name| {
        Value::Object(Map::from_iter([((*name).to_owned(), inner)]))
    })
}

fn take(place: &mut Value, names: &[&str]) -> Option<Value> {
    let (last, before) = names.split_last()?;
    match places(place, before).into_iter().next()? {
        Value::Object(members) => members.shift_remove(*last),
        Value::Array(items) => {
            let index = last.parse::<usize>().ok().filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}
