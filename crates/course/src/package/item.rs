//! What an item of a manifest says about its activity, apart from what it launches.

use serde_json::json;

use super::finding::{Finding, Findings};
use super::lexical::{boolean, decimal, duration};
use super::standard::Standard;
use super::tree::{Activity, CompletionThreshold};
use super::xml::Element;

/// Reads what an item says. What cannot be read is among the findings.
pub(crate) fn describe(
    activity: &mut Activity,
    item: &Element,
    standard: Standard,
    findings: &mut Findings,
) {
    let mut reading = Reading { item, findings };
    let text = |name: &str| item.text_of(name).map(str::to_owned);
    activity.visible = reading.boolean(item, "isvisible").unwrap_or(true);
    activity.launch_data = text("dataFromLMS");
    activity.mastery_score = text("masteryscore").and_then(|text| reading.mastery_score(&text));
    activity.max_time_allowed =
        text("maxtimeallowed").and_then(|text| reading.time_allowed(&text, standard));
    activity.time_limit_action = text("timelimitaction");
    activity.prerequisites = text("prerequisites");
    activity.completion_threshold = reading.threshold();
    activity.hide_ui = hidden(item);
    activity.data_maps = reading.data_maps();
}

struct Reading<'i, 'f> {
    item: &'i Element,
    findings: &'f mut Findings,
}

impl Reading<'_, '_> {
    fn wrong(&mut self, what: &str, value: &str, wanted: &str) {
        let value: String = value.chars().take(40).collect();
        let message = format!("{what} is {value:?}, which is not {wanted}; it is passed over");
        let finding = Finding::warn("bad-value", message);
        self.findings.add(finding.at(self.item.label(), self.item.line));
    }

    fn boolean(&mut self, element: &Element, name: &str) -> Option<bool> {
        let text = element.attribute(name)?;
        let found = boolean(text);
        if found.is_none() {
            self.wrong(name, text, "true or false");
        }
        found
    }

    fn decimal(&mut self, name: &str, text: Option<&str>) -> Option<f64> {
        let text = text.filter(|text| !text.is_empty())?;
        let found = decimal(text);
        if found.is_none() {
            self.wrong(name, text, "a number");
        }
        found
    }

    /// The mastery score of SCORM 1.2 is a number from 0 to 100; some write it with a percent sign.
    fn mastery_score(&mut self, text: &str) -> Option<String> {
        let number = text.strip_suffix('%').map_or(text, str::trim_end);
        match decimal(number) {
            None => {
                self.wrong("masteryscore", text, "a number");
                None
            }
            Some(_) if number != text => {
                let message = "masteryscore has a percent sign, which is passed over";
                let finding = Finding::warn("bad-value", message);
                self.findings.add(finding.at(self.item.label(), self.item.line));
                Some(number.to_owned())
            }
            Some(_) => Some(number.to_owned()),
        }
    }

    /// A time in the form of the course's standard.
    fn time_allowed(&mut self, text: &str, standard: Standard) -> Option<String> {
        let found = if standard.is_2004() { duration(text) } else { timespan(text) };
        if found.is_none() {
            self.wrong("the longest time of an attempt", text, "a duration");
        }
        found.map(str::to_owned)
    }

    /// Source: SCORM 2004 4th edition CAM §3.4.1.14.
    fn threshold(&mut self) -> Option<CompletionThreshold> {
        let element = self.item.child("completionThreshold")?;
        let by_text = self.decimal("completionThreshold", Some(element.text.as_str()));
        let by_measure = self.boolean(element, "completedByMeasure").unwrap_or(false);
        let mut of = |name: &str| self.decimal(name, element.attribute(name));
        let least = by_text.or_else(|| of("minProgressMeasure")).unwrap_or(1.0);
        Some(CompletionThreshold {
            completed_by_measure: by_measure || by_text.is_some(),
            min_progress_measure: least.clamp(0.0, 1.0),
            progress_weight: of("progressWeight").unwrap_or(1.0).clamp(0.0, 1.0),
        })
    }

    fn data_maps(&mut self) -> Vec<serde_json::Value> {
        let all = self.item.child("data").into_iter().flat_map(|data| data.all("map"));
        all.map(|map| {
            let mut is = |name: &str| self.boolean(map, name).unwrap_or(true);
            let (read, write) = (is("readSharedData"), is("writeSharedData"));
            json!({ "target": map.attribute("targetID"), "read": read, "write": write })
        })
        .collect()
    }
}

/// Returns a time of SCORM 1.2, `HHHH:MM:SS.SS`, if it is one.
fn timespan(text: &str) -> Option<&str> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let is_well = |part: &str| {
        !part.starts_with(['+', '-']) && decimal(part).is_some_and(|number| number >= 0.0)
    };
    let has_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let all = [hours, minutes, seconds].iter().all(|part| is_well(part));
    (all && has_digits(hours) && has_digits(minutes)).then_some(text)
}

fn hidden(item: &Element) -> Vec<String> {
    let presentation = item.child("presentation");
    let interface = presentation.and_then(|one| one.child("navigationInterface"));
    let all = interface.into_iter().flat_map(|one| one.all("hideLMSUI"));
    all.map(|one| one.text.clone()).filter(|text| !text.is_empty()).collect()
}
