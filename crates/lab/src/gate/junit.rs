//! Writes the rows as `JUnit` XML for build servers, one test case per goal.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::goal_result::GoalResult;

/// Returns a `JUnit` file of the rows; `suite` names what the goals are about.
///
/// # Panics
///
/// Never: writing to memory does not fail.
pub fn junit(suite: &str, rows: &[GoalResult]) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, suite, rows).expect("writing to memory does not fail");
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    text
}

fn write(writer: &mut Writer<Vec<u8>>, suite: &str, rows: &[GoalResult]) -> io::Result<()> {
    let suite = clean(suite);
    let failures = rows.iter().filter(|row| row.failed).count().to_string();
    let tests = rows.len().to_string();
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = [("tests", tests.as_str()), ("failures", failures.as_str()), ("errors", "0")];
    writer.create_element("testsuites").with_attributes(counts).write_inner_content(|writer| {
        writer
            .create_element("testsuite")
            .with_attribute(("name", suite.as_str()))
            .with_attributes(counts)
            .write_inner_content(|writer| {
                rows.iter().try_for_each(|row| case(writer, &suite, row))
            })?;
        Ok(())
    })?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, suite: &str, row: &GoalResult) -> io::Result<()> {
    let name = clean(&format!("fail if {}", row.goal.text));
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", suite))
        .with_attribute(("name", name.as_str()));
    let measured = format!("measured {}", row.shown());
    element.write_inner_content(|writer| {
        if row.failed {
            writer
                .create_element("failure")
                .with_attribute(("type", "goal"))
                .with_attribute(("message", measured.as_str()))
                .write_text_content(BytesText::new(&format!("{}: {measured}", row.goal.text)))?;
        } else {
            writer.create_element("system-out").write_text_content(BytesText::new(&measured))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Removes the characters that XML cannot represent.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;

    use super::super::{evaluate, parse};
    use super::*;

    fn file(suite: &str) -> String {
        let run = r#"{"response_ms": {"p99": 104.2, "mean": 5}}"#;
        let goals = [parse("p99 > 100ms").unwrap(), parse("mean >= 1s").unwrap()];
        junit(suite, &evaluate(run, &goals).unwrap())
    }

    #[test]
    fn each_goal_is_a_test_case_and_a_missed_goal_a_failure() {
        assert_eq!(
            file("day-to-day"),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites tests=\"2\" failures=\"1\" errors=\"0\">\n\
             \x20 <testsuite name=\"day-to-day\" tests=\"2\" failures=\"1\" errors=\"0\">\n\
             \x20   <testcase classname=\"day-to-day\" name=\"fail if p99 &gt; 100ms\">\n\
             \x20     <failure type=\"goal\" message=\"measured 104.2 ms\">p99 &gt; 100ms: measured 104.2 ms</failure>\n\
             \x20   </testcase>\n\
             \x20   <testcase classname=\"day-to-day\" name=\"fail if mean &gt;= 1s\">\n\
             \x20     <system-out>measured 5.0 ms</system-out>\n\
             \x20   </testcase>\n\
             \x20 </testsuite>\n\
             </testsuites>\n"
        );
    }

    #[test]
    fn a_suite_of_any_name_gives_well_formed_xml() {
        let text = file("a \"b\" <c> & \u{0} \u{1b} ä");

        let mut reader = Reader::from_str(&text);
        let mut depth = 0;
        loop {
            match reader.read_event().expect("it is well-formed") {
                Event::Start(start) => {
                    depth += 1;
                    for attribute in start.attributes() {
                        let value = attribute.expect("it is well-formed").value;
                        assert!(!value.chars().any(char::is_control));
                    }
                }
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0);
    }
}
