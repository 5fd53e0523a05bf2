//! The claims file: the hierarchy of resource claims, default strategies, the shipped claim sets.
//!
//! ```toml
//! own = ["FullAccess"]
//!
//! [tree]
//! "*" = ["domains/people"]
//! "domains/people" = ["ed-fi/staff", "ed-fi/student"]
//!
//! [successors]
//! "ed-fi/parent" = "ed-fi/contact"
//!
//! [defaults]
//! "domains/people" = "Create: NoFurtherAuthorizationRequired; Read Update: RelationshipsWithEdOrgsAndPeople"
//!
//! [claim-sets.RosterVendor]
//! "ed-fi/student" = "Read"
//! ```
//! A rule is `ACTION …[: STRATEGY …]`; rules are separated by `;`. Without strategies, the defaults
//! apply.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::action::{Action, PerAction};
use crate::strategy::Strategy;

/// A claims file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ClaimsError {
    /// The place of the error, in the file's own words.
    pub place: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl ClaimsError {
    pub(crate) fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

/// What a claim grants or prescribes for each action: nothing, or a possibly empty list of
/// strategies.
pub(crate) type Rule = PerAction<Option<Vec<Strategy>>>;

/// The contents of a claims file, with names as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ClaimsFile {
    /// Homeroom's own claim sets, which no import replaces.
    pub(crate) own: Vec<String>,
    /// Parent to children; the root is `*`.
    pub(crate) tree: BTreeMap<String, Vec<String>>,
    /// Resources of older standards: each claim with the claim that it is placed below.
    pub(crate) successors: BTreeMap<String, String>,
    /// Default strategies by claim.
    pub(crate) defaults: BTreeMap<String, Rule>,
    /// Grants by set and claim.
    pub(crate) sets: BTreeMap<String, BTreeMap<String, Rule>>,
}

impl ClaimsFile {
    /// Returns the paths of all claims in the tree, by lower-case name.
    pub(crate) fn claims(&self) -> BTreeMap<String, String> {
        let all =
            self.tree.iter().flat_map(|(parent, children)| [parent].into_iter().chain(children));
        all.map(|path| (path.to_ascii_lowercase(), path.clone())).collect()
    }

    /// Adds the claims of an extension, and the grants on them for claim sets that exist here.
    pub(crate) fn add(&mut self, extension: Self) {
        for (parent, children) in extension.tree {
            self.tree.entry(parent).or_default().extend(children);
        }
        self.defaults.extend(extension.defaults);
        for (name, grants) in extension.sets {
            if let Some(set) = self.sets.get_mut(&name) {
                set.extend(grants);
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text {
    #[serde(default)]
    own: Vec<String>,
    tree: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    successors: BTreeMap<String, String>,
    #[serde(default)]
    defaults: BTreeMap<String, String>,
    #[serde(default)]
    claim_sets: BTreeMap<String, BTreeMap<String, String>>,
}

/// Reads a claims file.
pub(crate) fn read(text: &str) -> Result<ClaimsFile, ClaimsError> {
    let text: Text = toml::from_str(text)
        .map_err(|error| ClaimsError::at("the claims file", error.to_string()))?;
    let rules = |table: &str, rules: BTreeMap<String, String>| {
        rules
            .into_iter()
            .map(|(claim, text)| {
                let rule = read_rule(&text)
                    .map_err(|message| ClaimsError::at(format!("{table} \"{claim}\""), message))?;
                Ok((claim, rule))
            })
            .collect::<Result<BTreeMap<_, _>, ClaimsError>>()
    };
    let sets = text
        .claim_sets
        .into_iter()
        .map(|(name, grants)| {
            let grants = rules(&format!("claim-sets.{name}"), grants)?;
            Ok((name, grants))
        })
        .collect::<Result<_, ClaimsError>>()?;
    Ok(ClaimsFile {
        own: text.own,
        tree: text.tree,
        successors: text.successors,
        defaults: rules("defaults", text.defaults)?,
        sets,
    })
}

/// Writes a claims file with the comment lines `heading` on top; [`read`] returns the same file.
pub(crate) fn write(heading: &str, file: &ClaimsFile) -> String {
    let mut out = heading.to_owned();
    let quoted = |names: &[String]| names.iter().map(|n| quote(n)).collect::<Vec<_>>().join(", ");
    _ = writeln!(out, "own = [{}]", quoted(&file.own));
    out.push_str("\n[tree]\n");
    for (parent, children) in &file.tree {
        let line = format!("{} = [{}]\n", quote(parent), quoted(children));
        if line.len() <= 100 {
            out.push_str(&line);
            continue;
        }
        _ = writeln!(out, "{} = [", quote(parent));
        for child in children {
            _ = writeln!(out, "  {},", quote(child));
        }
        out.push_str("]\n");
    }
    out.push_str("\n[successors]\n");
    for (claim, successor) in &file.successors {
        _ = writeln!(out, "{} = {}", quote(claim), quote(successor));
    }
    out.push_str("\n[defaults]\n");
    write_rules(&mut out, &file.defaults);
    for (name, grants) in &file.sets {
        _ = writeln!(out, "\n[claim-sets.{name}]");
        write_rules(&mut out, grants);
    }
    out
}

fn write_rules(out: &mut String, rules: &BTreeMap<String, Rule>) {
    for (claim, rule) in rules {
        _ = writeln!(out, "{} = {}", quote(claim), quote(&write_rule(rule)));
    }
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn read_rule(text: &str) -> Result<Rule, String> {
    let mut rule = Rule::default();
    for part in text.split(';') {
        let (actions, strategies) = part.split_once(':').unwrap_or((part, ""));
        let strategies: Vec<Strategy> = strategies
            .split_ascii_whitespace()
            // A claims file is independent of the model, so a custom view's basis is not looked up.
            .map(|name| {
                Strategy::read(name, |_| true).ok_or_else(|| format!("`{name}` is not a strategy"))
            })
            .collect::<Result<_, _>>()?;
        let mut any = false;
        for name in actions.split_ascii_whitespace() {
            any = true;
            let action = Action::read(name).ok_or_else(|| format!("`{name}` is not an action"))?;
            if rule.get_mut(action).replace(strategies.clone()).is_some() {
                return Err(format!("the action {name} appears twice"));
            }
        }
        if !any {
            return Err(format!("`{part}` names no action; write `ACTION …[: STRATEGY …]`"));
        }
    }
    Ok(rule)
}

fn write_rule(rule: &Rule) -> String {
    let mut groups: Vec<(&Vec<Strategy>, Vec<&str>)> = vec![];
    for (action, strategies) in rule.iter() {
        let Some(strategies) = strategies else { continue };
        match groups.iter_mut().find(|(group, _)| *group == strategies) {
            Some((_, actions)) => actions.push(action.name()),
            None => groups.push((strategies, vec![action.name()])),
        }
    }
    let parts: Vec<String> = groups
        .into_iter()
        .map(|(strategies, actions)| {
            let actions = actions.join(" ");
            let strategies: Vec<&str> = strategies.iter().map(Strategy::name).collect();
            match strategies[..] {
                [] => actions,
                _ => format!("{actions}: {}", strategies.join(" ")),
            }
        })
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"# a comment
own = ["FullAccess"]

[tree]
"*" = ["domains/people"]
"domains/people" = ["ed-fi/staff", "ed-fi/student"]

[successors]
"ed-fi/parent" = "ed-fi/contact"

[defaults]
"domains/people" = "Create Delete: NoFurtherAuthorizationRequired; Read: NamespaceBased OwnershipBased"

[claim-sets.FullAccess]
"*" = "Create Read Update Delete ReadChanges: NoFurtherAuthorizationRequired"

[claim-sets.RosterVendor]
"ed-fi/student" = "Read"
"#;

    #[test]
    fn a_file_survives_reading_and_writing() {
        let file = read(SAMPLE).unwrap();

        assert_eq!(write("# a comment\n", &file), SAMPLE);
        let people = &file.defaults["domains/people"];
        assert_eq!(
            people.get(Action::Read),
            &Some(vec![Strategy::NamespaceBased, Strategy::OwnershipBased])
        );
        assert_eq!(people.get(Action::Update), &None);
        assert_eq!(file.sets["RosterVendor"]["ed-fi/student"].get(Action::Read), &Some(vec![]));
    }

    #[test]
    fn an_invalid_rule_is_reported_with_its_place() {
        for (rule, message) in [
            ("Reed", "`Reed` is not an action"),
            ("Read: Namespace", "`Namespace` is not a strategy"),
            ("Read; Read", "the action Read appears twice"),
            (": NamespaceBased", "names no action"),
            ("", "names no action"),
        ] {
            let text = format!("[tree]\n[defaults]\n\"a/b\" = \"{rule}\"\n");

            let error = read(&text).unwrap_err();

            assert_eq!(error.place, "defaults \"a/b\"");
            assert!(error.message.contains(message), "{error}");
        }
    }
}
