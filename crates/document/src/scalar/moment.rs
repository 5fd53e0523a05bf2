//! Dates, timestamps and times of day, in the spellings that clients send.
//!
//! A date is `2026-08-31`, `8/31/2026` or `2026/8/31`. A time of day uses 24 hours, or 12 hours
//! with AM or PM after it. A timestamp without a zone is in UTC; one without a time is the
//! beginning of the day.

use std::fmt::Write as _;

use jiff::civil::Date;

/// Returns the ISO date of a date, or of a timestamp's date.
pub(super) fn date(text: &str) -> Option<String> {
    let (day, clock) = split_moment(text);
    if let Some(clock) = clock {
        split_time(clock)?;
    }
    Some(calendar_date(day)?.to_string())
}

/// Returns the ISO time of a time of day; a zone is dropped.
pub(super) fn time(text: &str) -> Option<String> {
    let time = split_time(text.trim())?;
    let mut out = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
    if !time.fraction.is_empty() {
        _ = write!(out, ".{}", time.fraction);
    }
    Some(out)
}

/// Returns the ISO timestamp in UTC.
pub(super) fn moment(text: &str) -> Option<String> {
    let (day, clock) = split_moment(text);
    let date = calendar_date(day)?;
    let time = split_time(clock.unwrap_or("00:00:00"))?;
    let civil = date.at(
        i8::try_from(time.hour).ok()?,
        i8::try_from(time.minute).ok()?,
        i8::try_from(time.second).ok()?,
        0,
    );
    let utc = civil.checked_sub(jiff::Span::new().minutes(time.offset)).ok()?;
    let mut out = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        utc.year(),
        utc.month(),
        utc.day(),
        utc.hour(),
        utc.minute(),
        utc.second()
    );
    if !time.fraction.is_empty() {
        _ = write!(out, ".{}", time.fraction);
    }
    out.push('Z');
    (utc.year() > 0).then_some(out)
}

/// Splits a timestamp into its date and the rest.
fn split_moment(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    match text.split_once(['T', 't', ' ']) {
        Some((day, clock)) => (day, Some(clock.trim_start())),
        None => (text, None),
    }
}

/// Returns whether a date, or a timestamp's date, could begin with the month or with the day:
/// `3/4/2026`. It is read as beginning with the month.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let mut parts = split_moment(text).0.split('/');
    let mut number = || parts.next().filter(|part| part.len() <= 2)?.parse::<u8>().ok();
    match (number(), number()) {
        (Some(first), Some(second)) => first != second && first <= 12 && second <= 12,
        _ => false,
    }
}

/// Returns the day of the calendar that a text names; the year 0 is none.
fn calendar_date(text: &str) -> Option<Date> {
    let is_slashed = text.contains('/');
    let mut parts = text.split(if is_slashed { '/' } else { '-' });
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = if is_slashed && first.len() <= 2 {
        (third, first, second)
    } else {
        (first, second, third)
    };
    let fits = |part: &str| part.len() == 2 || (is_slashed && part.len() == 1);
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || year.len() != 4 || !(fits(month) && fits(day)) {
        return None;
    }
    if ![year, month, day].into_iter().all(is_number) {
        return None;
    }
    let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    Date::new(year, month, day).ok().filter(|date| date.year() > 0)
}

struct Time {
    hour: i64,
    minute: i64,
    second: i64,
    /// Digits of the fraction, without trailing zeros.
    fraction: String,
    /// Minutes east of UTC.
    offset: i64,
}

fn split_time(text: &str) -> Option<Time> {
    let (clock, offset) = split_zone(text)?;
    let (clock, half) = split_half(clock);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut parts = clock.split(':');
    let (hour, minute) = (hour(parts.next()?, half)?, two_digits(parts.next()?)?);
    let second = parts.next().map_or(Some(0), two_digits)?;
    if parts.next().is_some() || minute > 59 || second > 59 {
        return None;
    }
    let fraction = fraction.trim_end_matches('0').to_owned();
    Some(Time { hour, minute, second, fraction, offset })
}

/// Splits a time into the clock's time and its zone, in minutes east of UTC.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let zone = &text[at + 1..];
    let (hours, minutes) = match zone.split_once(':') {
        Some(pair) => pair,
        None if zone.len() == 4 && zone.is_ascii() => zone.split_at(2),
        None => (zone, "00"),
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    let offset = hours * 60 + minutes;
    let clock = text[..at].trim_end();
    Some((clock, if text.as_bytes()[at] == b'-' { -offset } else { offset }))
}

/// Half of the day on a 12-hour clock.
#[derive(Clone, Copy)]
enum Half {
    Morning,
    Afternoon,
}

fn split_half(text: &str) -> (&str, Option<Half>) {
    let at = text.len().saturating_sub(2);
    let half = match text.get(at..) {
        Some(mark) if mark.eq_ignore_ascii_case("AM") => Half::Morning,
        Some(mark) if mark.eq_ignore_ascii_case("PM") => Half::Afternoon,
        _ => return (text, None),
    };
    (text[..at].trim_end(), Some(half))
}

fn hour(text: &str, half: Option<Half>) -> Option<i64> {
    let is_hour = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    let hour: i64 = is_hour.then(|| text.parse().ok())??;
    match half {
        None => (hour < 24).then_some(hour),
        Some(Half::Morning) => (1..=12).contains(&hour).then_some(hour % 12),
        Some(Half::Afternoon) => (1..=12).contains(&hour).then_some(hour % 12 + 12),
    }
}

fn two_digits(text: &str) -> Option<i64> {
    (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}
