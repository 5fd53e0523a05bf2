//! Describes a view's rule in words.

use homeroom_model::Model;

use super::{MemberIs, MemberRule, ViewRule};

/// Most values that a description lists.
const NAMED_MAX: usize = 5;

/// Returns what a view requires: `a Student with …`.
pub(super) fn asks(model: &Model, basis: &str, rule: &ViewRule) -> String {
    format!("a '{basis}' with {}", rule_words(model, rule, true))
}

/// Returns what may be missing, as a sentence.
pub(super) fn hint(model: &Model, basis: &str, rule: &ViewRule) -> String {
    let mut names = vec![];
    referrers(model, rule, &mut names);
    if names.is_empty() {
        format!("A key that has the right to must change the '{basis}' first.")
    } else {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        format!("You may need to create the corresponding {}.", names.join(" or "))
    }
}

fn referrers<'m>(model: &'m Model, rule: &ViewRule, names: &mut Vec<&'m str>) {
    match rule {
        ViewRule::All(rules) | ViewRule::Any(rules) => {
            for rule in rules {
                referrers(model, rule, names);
            }
        }
        ViewRule::Exists { resource, .. } => {
            let name = model.resource(*resource).name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        ViewRule::Member(_) => {}
    }
}

fn rule_words(model: &Model, rule: &ViewRule, is_whole: bool) -> String {
    let joined = |rules: &[ViewRule], word: &str| {
        let words: Vec<String> =
            rules.iter().map(|rule| rule_words(model, rule, rules.len() == 1)).collect();
        let words = words.join(word);
        if is_whole || rules.len() == 1 { words } else { format!("({words})") }
    };
    match rule {
        ViewRule::All(rules) => joined(rules, " and "),
        ViewRule::Any(rules) => joined(rules, " or "),
        ViewRule::Member(member) => member_words(member),
        ViewRule::Exists { resource, rule, .. } => {
            let name = &model.resource(*resource).name;
            match &**rule {
                ViewRule::All(rules) if rules.is_empty() => format!("a '{name}'"),
                rule => format!("a '{name}' that has {}", rule_words(model, rule, false)),
            }
        }
    }
}

fn member_words(rule: &MemberRule) -> String {
    let step = |path: &String| path.strip_prefix("$.").unwrap_or(path).to_owned();
    let steps: Vec<String> = rule.lists.iter().chain([&rule.path]).map(step).collect();
    let name = steps.join(".");
    let one_of = |values: Vec<String>| {
        let more = values.len() > NAMED_MAX;
        let mut named: Vec<String> =
            values.into_iter().take(NAMED_MAX).map(|value| format!("'{value}'")).collect();
        named.extend(more.then(|| "...".to_owned()));
        format!("'{name}' {}", named.join(" or "))
    };
    match &rule.is {
        MemberIs::Text(values) | MemberIs::Descriptor(values) => one_of(values.clone()),
        MemberIs::Integer(values) => one_of(values.iter().map(ToString::to_string).collect()),
        MemberIs::Decimal(values) => one_of(values.iter().map(ToString::to_string).collect()),
        MemberIs::Boolean(value) => one_of(vec![value.to_string()]),
        MemberIs::Present => format!("a '{name}'"),
        MemberIs::Absent => format!("no '{name}'"),
    }
}
