//! Writes documents of every resource in the model, for `cargo xtask bench`.
//!
//! `every_resource FOLDER` writes `FOLDER/setup/*.jsonl`, which `homeroom load` accepts, and
//! `FOLDER/every.tsv` with one line per resource. A line has the resource's path, the form of the
//! value that distinguishes its documents (`text`, `number`, `date`, or `-` if only references do),
//! a template of its smallest document, and a template with a further property that an update
//! changes (`-` if it has none). In templates, `\1` stands for the first value and `\2` for the
//! second.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use homeroom_model::{ColumnSource, PropertyKind, Resource, Scalar};
use homeroom_testkit::samples::{Extent, Sample, Samples};
use homeroom_testkit::{self as app};
use serde_json::Value;

/// Placeholder for the value that distinguishes documents.
const FRESH: &str = "\u{1}";
/// Placeholder for the value that an update changes.
const CHANGED: &str = "\u{2}";
/// Fewest characters that a text needs for either value.
const TEXT_MIN: u32 = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("which folder?")?;
    let model = app::model();
    let mut setup: BTreeMap<&str, String> = BTreeMap::new();
    let mut every = String::new();
    let mut put = |sample: &Sample| {
        let lines = setup.entry(&model.resource(sample.resource).endpoint).or_default();
        _ = writeln!(lines, "{}", sample.body);
    };
    Samples::descriptors(&model).iter().for_each(&mut put);
    for resource in &model.resources {
        let mut made = Samples::new(&model, u64::from(resource.id.0) + 1_000)
            .of(resource.id, Extent::Smallest);
        // The sample itself is included, so that each resource has a document to read.
        made.iter().for_each(&mut put);
        let sample = made.pop().ok_or("a sample itself comes last")?;
        every.push_str(&line(resource, &sample));
    }
    write_all(&folder.join("setup"), setup)?;
    std::fs::write(folder.join("every.tsv"), every)?;
    Ok(())
}

fn write_all(folder: &Path, files: BTreeMap<&str, String>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (endpoint, lines) in files {
        std::fs::write(folder.join(format!("{endpoint}.jsonl")), lines)?;
    }
    Ok(())
}

fn line(resource: &Resource, sample: &Sample) -> String {
    let path = format!("/data/v3{}", resource.path());
    let Some((form, body)) = template(resource, sample) else {
        return format!("{path}\t-\t{}\t-\n", sample.body);
    };
    let mut changed = body.clone();
    let free = resource.properties.iter().find(|property| {
        matches!(property.kind, PropertyKind::Scalar(Scalar::Text { max, .. }) if max >= TEXT_MIN)
            && !body.as_object().is_some_and(|members| members.contains_key(&property.name))
    });
    if let Some(free) = free {
        changed[&free.name] = CHANGED.into();
    }
    let text = |value: &Value| {
        let text = value.to_string().replace("\\u0002", "\\2");
        let quoted = if form == "number" { "\"\\u0001\"" } else { "\\u0001" };
        text.replace(quoted, "\\1")
    };
    let changed = if free.is_some() { text(&changed) } else { "-".into() };
    format!("{path}\t{form}\t{}\t{changed}\n", text(&body))
}

/// Returns the smallest document with a placeholder for the value that distinguishes it from
/// others.
fn template(resource: &Resource, sample: &Sample) -> Option<(&'static str, Value)> {
    let found = app::places::walk(resource, &sample.body);
    resource.key.iter().find_map(|column| {
        let ColumnSource::Scalar(at) = column.source else { return None };
        let property = &resource.properties[at];
        let PropertyKind::Scalar(scalar) = property.kind else { return None };
        let form = match scalar {
            Scalar::Text { max, .. } if max >= TEXT_MIN => "text",
            Scalar::Integer { max, .. } if max > 1_000_000_000 => "number",
            Scalar::Date => "date",
            _ => return None,
        };
        let spot = &found.iter().find(|found| found.place.steps == [at])?.spot;
        Some((form, sample.with(spot, &FRESH.into())))
    })
}
