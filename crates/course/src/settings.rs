//! Settings: which there are, what their values may be, and which value is in force.

use std::collections::BTreeMap;

use homeroom_client::Url;

use crate::error::Error;
use crate::run_time::Resets;

/// Settings of a level by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// The settings of each level, the nearest first, with the name of its source in the API.
pub(crate) type Levels = Vec<(&'static str, Settings)>;

/// A change of the settings of a level.
pub(crate) type Changing = dyn Fn(&mut Settings) -> Result<(), Error> + Send + Sync;

/// Where results of a registration are posted; nowhere if it is empty.
pub(crate) const POST_BACK_URL: &str = "ApiRollupRegistrationPostBackUrl";
/// How such a request says who sends it: `form` or `httpbasic`.
pub(crate) const POST_BACK_AUTH: &str = "ApiRollupRegistrationAuthType";
/// The name of the sender.
pub(crate) const POST_BACK_USER: &str = "ApiRollupRegistrationAuthUser";
/// The sender's password.
pub(crate) const POST_BACK_PASSWORD: &str = "ApiRollupRegistrationAuthPassword";
/// How much a posted result tells: `course`, `activity` or `full`.
pub(crate) const POST_BACK_FORMAT: &str = "ApiRollupRegistrationFormat";
/// The secret with which posted results are signed, instead of the server's own.
pub(crate) const POST_BACK_SECRET: &str = "PostBackSigningSecret";
/// Milliseconds between two commits of the player.
pub(crate) const COMMIT_FREQUENCY: &str = "PlayerCommCommitFrequency";

/// When the values of an activity begin again.
pub(crate) const RESETS: &str = "PlayerResetRunTimeData";

/// Whether a registration that is completed may become incomplete again.
pub(crate) const STATUS_CHANGE: &str = "PlayerAllowCompleteStatusChange";

/// What is shown instead of a secret.
pub(crate) const MASK: &str = "********";

/// Most settings of a level.
const SETTINGS_MAX: usize = 500;
/// Most bytes of a setting's name.
const NAME_BYTES_MAX: usize = 100;
/// Most characters of a value.
const VALUE_CHARS_MAX: usize = 4_000;

/// What the values of a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    /// A whole number in a range.
    Int(u32, u32),
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
    /// One of these words, in any case.
    Word(&'static [&'static str]),
    /// An http or https address, or nothing.
    Url,
    /// A text that no answer shows.
    Secret,
}

impl Type {
    /// Returns its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int(..) => "int",
            Self::Boolean => "boolean",
            Self::Text | Self::Url | Self::Secret => "string",
            Self::Word(_) => "enum",
        }
    }

    /// Returns the value in the form in which it is kept, if it is one.
    fn read(self, value: String) -> Option<String> {
        if value.chars().count() > VALUE_CHARS_MAX {
            return None;
        }
        match self {
            Self::Int(least, most) => {
                let number = value.trim().parse::<u32>().ok()?;
                (least..=most).contains(&number).then(|| number.to_string())
            }
            Self::Boolean => {
                let lower = value.to_ascii_lowercase();
                matches!(lower.as_str(), "true" | "false").then_some(lower)
            }
            Self::Text | Self::Secret => Some(value),
            Self::Word(words) => {
                let lower = value.to_ascii_lowercase();
                words.contains(&lower.as_str()).then_some(lower)
            }
            Self::Url => (value.is_empty() || is_web(&value)).then_some(value),
        }
    }
}

/// Returns whether a text is an http or https address to which a request can be sent.
pub(crate) fn is_web(text: &str) -> bool {
    let begins = ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    begins && text.len() <= VALUE_CHARS_MAX && Url::parse(text).is_ok()
}

/// A setting: its name, its type, its default, and what it does here.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
    pub(crate) default: &'static str,
    /// The default of courses of SCORM 2004, where it is another one.
    pub(crate) default_of_2004: Option<&'static str>,
    pub(crate) about: &'static str,
}

pub(crate) const NO_EFFECT: &str =
    "Kept for clients that set it; it has no effect on this server yet.";

/// The settings that can be set.
pub(crate) const KNOWN: &[Known] = &[
    known(
        COMMIT_FREQUENCY,
        Type::Int(1_000, 3_600_000),
        "20000",
        "Milliseconds between two commits of the player, from a second to an hour.",
    ),
    known(
        POST_BACK_URL,
        Type::Url,
        "",
        "Where results are posted when completion, success or score of a registration changes, and \
         when a session ends; nowhere if it is empty.",
    ),
    known(
        POST_BACK_AUTH,
        Type::Word(&["form", "httpbasic"]),
        "form",
        "form: a form with the fields data, username and password; httpbasic: JSON with an \
         Authorization header.",
    ),
    known(POST_BACK_USER, Type::Text, "", "The name that posted results carry."),
    known(POST_BACK_PASSWORD, Type::Secret, "", "The password that posted results carry."),
    known(
        POST_BACK_FORMAT,
        Type::Word(&["course", "activity", "full"]),
        "course",
        "How much posted results tell: the course, its activities, or all that was recorded.",
    ),
    known(
        POST_BACK_SECRET,
        Type::Secret,
        "",
        "The secret with which posted results are signed, instead of the server's own.",
    ),
    known("PlayerCommMaxFailedSubmissions", Type::Int(0, u32::MAX), "3", NO_EFFECT),
    known("PlayerLaunchType", Type::Text, "frameset", NO_EFFECT),
    known("PlayerScoLaunchType", Type::Text, "frameset", NO_EFFECT),
    known("PlayerStatusRollupModeValue", Type::Text, "status-provided-by-course", NO_EFFECT),
    known("PlayerScoreRollupModeValue", Type::Text, "average-same-as-scorm-engine", NO_EFFECT),
    known("PlayerScoreOverridesStatus", Type::Boolean, "false", NO_EFFECT),
    known(
        RESETS,
        Type::Word(Resets::WORDS),
        Resets::Never.word(),
        "When a launch begins with nothing after content has ended its last session: never; \
         when-exit-is-not-suspend; on-each-new-sequencing-attempt, which also asks that the learner has \
         not suspended the course there, and is the default of SCORM 2004.",
    )
    .of_2004(Resets::OnEachAttempt.word()),
    known("PlayerLaunchCompletedRegsAsNoCredit", Type::Boolean, "false", NO_EFFECT),
    known(
        STATUS_CHANGE,
        Type::Boolean,
        "false",
        "Whether the completion, success and score of a registration that is completed follow whatever \
         content says later. Otherwise they stay until a later attempt completes it again, and what was \
         passed is not failed.",
    ),
    known("PlayerFinishCausesImmediateCommit", Type::Boolean, "true", NO_EFFECT),
    known("PlayerWrapScoWindowWithApi", Type::Boolean, "false", NO_EFFECT),
    known("WhenToRestartRegistration", Type::Text, "never", NO_EFFECT),
    known("ApiUseSignedLaunchLinks", Type::Boolean, "true", NO_EFFECT),
];

const fn known(
    name: &'static str,
    kind: Type,
    default: &'static str,
    about: &'static str,
) -> Known {
    Known { name, kind, default, default_of_2004: None, about }
}

impl Known {
    /// Gives courses of SCORM 2004 another default.
    const fn of_2004(self, default: &'static str) -> Self {
        Self { default_of_2004: Some(default), ..self }
    }
}

/// Returns the setting of a name, in any case.
pub(crate) fn known_setting(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Returns whether a name can be that of a setting which clients set and this server only keeps.
fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Adds settings to those of a level.
///
/// # Errors
///
/// [`Error::Invalid`] where it would have too many.
pub(crate) fn add(level: &mut Settings, new: Settings) -> Result<(), Error> {
    level.extend(new);
    if level.len() > SETTINGS_MAX {
        return Err(Error::Invalid(format!("a level has at most {SETTINGS_MAX} settings")));
    }
    Ok(())
}

/// Takes a setting away.
///
/// # Errors
///
/// [`Error::Unknown`] for one that is neither known nor there.
pub(crate) fn take(level: &mut Settings, name: &str) -> Result<(), Error> {
    let known = known_setting(name);
    let removed = level.remove(known.map_or(name, |known| known.name));
    if known.is_none() && removed.is_none() {
        return Err(Error::Unknown(format!("setting {}", crate::shown::shown(name))));
    }
    Ok(())
}

/// Reads settings that were sent. Those that have no effect here are kept as they are.
///
/// # Errors
///
/// Names the first that cannot be one, or whose value is of another type.
pub(crate) fn read_settings(
    posted: impl IntoIterator<Item = (String, String)>,
) -> Result<Settings, Error> {
    let mut all = Settings::new();
    for (name, value) in posted {
        let shown = crate::shown::shown(&name);
        let known = known_setting(&name);
        if known.is_none() && !is_name(&name) {
            let message = format!("{shown} is no name of a setting: it has letters and digits");
            return Err(Error::Invalid(message));
        }
        let kind = known.map_or(Type::Text, |known| known.kind);
        let read = kind.read(value).ok_or_else(|| {
            Error::Invalid(match kind {
                Type::Int(least, most) => {
                    format!("the value of {shown} is a whole number from {least} to {most}")
                }
                Type::Word(words) => format!("the value of {shown} is one of {}", words.join(", ")),
                Type::Url => format!("the value of {shown} is an http or https address"),
                other => format!("the value of {shown} is of type {}", other.name()),
            })
        })?;
        all.insert(known.map_or(name, |known| known.name.to_owned()), read);
    }
    Ok(all)
}

/// Returns the value in force with the name of its source: that of the nearest level that has one.
pub(crate) fn found<'l>(levels: &'l Levels, name: &str) -> Option<(&'static str, &'l str)> {
    levels.iter().find_map(|(source, settings)| Some((*source, settings.get(name)?.as_str())))
}

/// Returns the value in force, or the default.
pub(crate) fn in_force<'l>(levels: &'l Levels, name: &str) -> &'l str {
    let default = || known_setting(name).map_or("", |known| known.default);
    found(levels, name).map_or_else(default, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, Error> {
        read_settings([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_value_has_its_settings_type() {
        for (name, value, kept) in [
            (COMMIT_FREQUENCY, "5000", Some("5000")),
            (COMMIT_FREQUENCY, "often", None),
            (COMMIT_FREQUENCY, "0", None),
            (COMMIT_FREQUENCY, "3600001", None),
            (POST_BACK_AUTH, "HTTPBASIC", Some("httpbasic")),
            (POST_BACK_AUTH, "digest", None),
            (
                POST_BACK_URL,
                "https://lms.example.org/results",
                Some("https://lms.example.org/results"),
            ),
            (POST_BACK_URL, "", Some("")),
            (POST_BACK_URL, "file:///etc/passwd", None),
            (POST_BACK_URL, "http://", None),
            ("PlayerScoreOverridesStatus", "True", Some("true")),
            ("PlayerShowNavBar", "true", Some("true")),
            ("Player Show", "1", None),
            ("", "1", None),
        ] {
            let found = read(name, value);
            assert_eq!(found.ok().map(|all| all[name].clone()).as_deref(), kept, "{name} {value}");
        }
    }

    #[test]
    fn the_nearest_level_decides() {
        let of = |value: &str| Settings::from([(POST_BACK_URL.to_owned(), value.to_owned())]);
        let levels = vec![
            ("registration", of("")),
            ("course", of("http://a")),
            ("application", of("http://b")),
        ];

        assert_eq!(found(&levels, POST_BACK_URL), Some(("registration", "")));
        assert_eq!(in_force(&levels[1..].to_vec(), POST_BACK_URL), "http://a");
        assert_eq!(in_force(&levels, POST_BACK_AUTH), "form");
    }
}
