//! What `homeroom load` and `homeroom upload` tell people.

use std::fmt::Write as _;

use homeroom_bulk::{Lacking, Phase, Progress, Summary, escaped_line};

use crate::command::terminal::{grouped, rate};

/// The number of causes that are shown; the results contain all.
const CAUSES_SHOWN: usize = 10;

/// Returns what has become of the records, for people. `hint` says how to see every reject;
/// `is_deleting` whether the load was to delete.
pub fn told(summary: &Summary, hint: Option<&str>, is_deleting: bool) -> String {
    let (done, otherwise, count) = match (is_deleting, summary.dry_run) {
        (true, _) => ("deleted", "not there", summary.deleted),
        (false, true) => ("would be loaded", "already stored", summary.loaded),
        (false, false) => ("loaded", "already stored", summary.loaded),
    };
    let before = summary.unchanged.saturating_sub(summary.repeated_unchanged);
    let were = if before == 1 { "was" } else { "were" };
    let mut out =
        format!("{} {done}, {} {were} {otherwise}", counted(count, "document"), grouped(before));
    if summary.repeated > 0 {
        _ = write!(out, ", {} repeated in the input", grouped(summary.repeated));
        match summary.repeated.saturating_sub(summary.repeated_unchanged) {
            0 => {}
            1 => out += " (of which 1 counts as loaded, because it replaced the earlier one)",
            more => {
                let more = grouped(more);
                _ = write!(
                    out,
                    " (of which {more} count as loaded, because they replaced earlier ones)"
                );
            }
        }
    }
    _ = writeln!(
        out,
        ", {} rejected ({}, {} with the items of collections, in {:.1} s, {} documents/s)",
        grouped(summary.rejected),
        counted(summary.documents, "document"),
        counted(summary.rows, "row"),
        summary.seconds,
        grouped(rate(summary.documents, summary.seconds)),
    );
    for cause in summary.causes.iter().take(CAUSES_SHOWN) {
        _ = writeln!(out, "\n{:>9}  {}", grouped(cause.count), escaped_line(&cause.what));
        match cause.following {
            0 => {}
            1 => out += "           1 more record has no fault but that it refers to these\n",
            more => {
                let more = grouped(more);
                _ = writeln!(
                    out,
                    "           {more} more records have no fault but that they refer to these"
                );
            }
        }
        _ = writeln!(out, "           first in {}, line {}", escaped_line(&cause.file), cause.line);
        _ = writeln!(out, "           {}", escaped_line(&cause.hint));
        for lacking in &cause.lacking {
            _ = writeln!(out, "           {}", escaped_line(&lacking_text(lacking)));
        }
    }
    if summary.causes.len() > CAUSES_SHOWN {
        let more = counted((summary.causes.len() - CAUSES_SHOWN) as u64, "more cause");
        _ = writeln!(out, "\n           and {more}");
    }
    if summary.rejected > 0
        && let Some(hint) = hint
    {
        _ = writeln!(out, "\n{hint}");
    }
    for warning in summary.warnings.iter().take(CAUSES_SHOWN) {
        _ = writeln!(
            out,
            "\nwarning: {} ({}, first in {}, line {})",
            escaped_line(&warning.what),
            counted(warning.count, "time"),
            escaped_line(&warning.file),
            warning.line
        );
    }
    out
}

/// Tells how many records lack a document.
fn lacking_text(lacking: &Lacking) -> String {
    let Lacking { key, count, releases, uncounted, .. } = lacking;
    let least = if *uncounted > 0 { "at least " } else { "" };
    let lack = if *releases == 1 { "lacks" } else { "lack" };
    let (records, releases) = (counted(*count, "record"), grouped(*releases));
    format!("{key}: {least}{records}, {releases} {lack} nothing else")
}

/// Returns a number of things in words that agree.
fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

/// Returns how far a load has come, on one line.
pub(super) fn progress_text(progress: &Progress) -> String {
    match progress.phase {
        Phase::Surveying => format!(
            "reading {} of {}: {}",
            grouped(progress.files_surveyed),
            counted(progress.files, "file"),
            counted(progress.documents_in_all, "document")
        ),
        Phase::Loading => format!(
            "{}, {} of {}, {}/s, {}{}",
            counted(progress.files, "file"),
            grouped(progress.documents),
            counted(progress.documents_in_all, "document"),
            grouped(rate(progress.documents, progress.seconds)),
            left_text(progress),
            counted(progress.rejected, "reject")
        ),
        Phase::Completing => format!(
            "{}, {}, {}; the store is completed",
            counted(progress.files, "file"),
            counted(progress.documents, "document"),
            counted(progress.rejected, "reject")
        ),
    }
}

/// Tells how long the rest takes at the rate so far.
#[expect(clippy::cast_precision_loss, reason = "an estimate needs no more digits")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is not negative")]
fn left_text(progress: &Progress) -> String {
    let left = progress.documents_in_all.saturating_sub(progress.documents);
    if progress.documents == 0 || left == 0 {
        return String::new();
    }
    let seconds = (left as f64 * progress.seconds / progress.documents as f64).ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s left, "),
        60..3_600 => format!("{}:{:02} min left, ", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h left, ", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_told_in_the_right_number() {
        for (count, releases, uncounted, expected) in [
            (1, 1, 0, "K: 1 record, 1 lacks nothing else"),
            (2, 1, 0, "K: 2 records, 1 lacks nothing else"),
            (1, 0, 0, "K: 1 record, 0 lack nothing else"),
            (1_200, 1_100, 7, "K: at least 1,200 records, 1,100 lack nothing else"),
        ] {
            let (resource, key) = ("Student".to_owned(), "K".to_owned());
            let lacking = Lacking { resource, key, count, releases, uncounted };
            assert_eq!(lacking_text(&lacking), expected);
        }
    }

    #[test]
    fn what_was_stored_before_and_what_the_input_repeats_are_told_apart_in_the_right_number() {
        for (loaded, unchanged, (repeated, replaced), is_deleting, expected) in [
            (
                1,
                0,
                (0, 0),
                false,
                "1 document loaded, 0 were already stored, 0 rejected (1 document, 1 row with",
            ),
            (
                2,
                1,
                (1, 0),
                false,
                "2 documents loaded, 0 were already stored, 1 repeated in the input, 0 rej",
            ),
            (
                3,
                1,
                (1, 1),
                false,
                "3 documents loaded, 0 were already stored, 2 repeated in the input (of which 1 counts \
                 as loaded, because it replaced the earlier one), 0 rejected (4 documents",
            ),
            (
                3,
                0,
                (0, 2),
                false,
                "3 documents loaded, 0 were already stored, 2 repeated in the input (of which 2 count \
                 as loaded, because they replaced earlier ones), 0 rej",
            ),
            (
                0,
                3,
                (2, 0),
                false,
                "0 documents loaded, 1 was already stored, 2 repeated in the input, 0 rej",
            ),
            (
                0,
                1,
                (0, 0),
                true,
                "1 document deleted, 1 was not there, 0 rejected (2 documents, 2 rows with",
            ),
        ] {
            let deleted = u64::from(is_deleting);
            let documents = loaded + unchanged + deleted;
            let summary = Summary {
                loaded,
                unchanged,
                deleted,
                documents,
                rows: documents,
                repeated: repeated + replaced,
                repeated_unchanged: repeated,
                ..Summary::default()
            };

            let told = told(&summary, None, is_deleting);

            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn progress_is_one_line() {
        let progress = Progress {
            phase: Phase::Loading,
            files: 49,
            files_surveyed: 49,
            documents_in_all: 17_449,
            documents: 5_000,
            rejected: 3,
            waiting: 0,
            seconds: 2.0,
        };

        let text = progress_text(&progress);

        assert_eq!(text, "49 files, 5,000 of 17,449 documents, 2,500/s, 5 s left, 3 rejects");
    }
}
