//! The statuses that a step expects.

use super::file::Expect;

/// A set of statuses, as ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Vec<(u16, u16)>);

impl Default for Statuses {
    /// Any status from 200 to 399.
    fn default() -> Self {
        Self(vec![(200, 399)])
    }
}

impl Statuses {
    /// Reads the statuses that a step expects.
    ///
    /// # Errors
    ///
    /// Names the invalid status and shows the accepted forms.
    pub fn read(expect: Option<&Expect>) -> Result<Self, String> {
        let Some(expect) = expect else { return Ok(Self::default()) };
        let mut ranges = vec![];
        add(&mut ranges, expect)?;
        if ranges.is_empty() {
            return Err("the list is empty, so no answer could be right".into());
        }
        Ok(Self(ranges))
    }

    /// Returns whether the set contains a status.
    pub fn has(&self, status: u16) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&status))
    }
}

fn add(ranges: &mut Vec<(u16, u16)>, expect: &Expect) -> Result<(), String> {
    match expect {
        Expect::Status(status) if (100..=599).contains(status) => ranges.push((*status, *status)),
        Expect::Status(status) => {
            return Err(format!("{status} is not a status; statuses run from 100 to 599"));
        }
        Expect::Class(class) => ranges.push(read_class(class).ok_or_else(|| {
            format!("`{class}` is not a status; write 200, \"2xx\", or a list: [200, \"4xx\"]")
        })?),
        Expect::Any(any) => {
            for expect in any {
                add(ranges, expect)?;
            }
        }
    }
    Ok(())
}

fn read_class(class: &str) -> Option<(u16, u16)> {
    if let Some(first) = class.strip_suffix("xx") {
        let first: u16 = first.parse().ok().filter(|first| (1..=5).contains(first))?;
        return Some((first * 100, first * 100 + 99));
    }
    let status: u16 = class.parse().ok().filter(|status| (100..=599).contains(status))?;
    Some((status, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> Expect {
        Expect::Class(text.into())
    }

    #[test]
    fn the_expected_status_is_a_status_a_class_or_a_list() {
        let any = Expect::Any(vec![Expect::Status(200), class("404"), class("5xx")]);
        for (expect, right, wrong) in [
            (None, &[200, 204, 399][..], &[199, 400, 500][..]),
            (Some(Expect::Status(201)), &[201], &[200]),
            (Some(class("4xx")), &[400, 499], &[399, 500]),
            (Some(any), &[200, 404, 503], &[201, 400]),
        ] {
            let statuses = Statuses::read(expect.as_ref()).unwrap();

            assert!(right.iter().all(|status| statuses.has(*status)), "{expect:?}");
            assert!(!wrong.iter().any(|status| statuses.has(*status)), "{expect:?}");
        }
    }

    #[test]
    fn an_invalid_status_is_refused() {
        for expect in [
            Expect::Status(99),
            Expect::Status(600),
            class("6xx"),
            class("ok"),
            Expect::Any(vec![]),
        ] {
            assert!(Statuses::read(Some(&expect)).is_err(), "{expect:?}");
        }
    }
}
