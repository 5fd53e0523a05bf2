//! Parses what to watch from the command line.

use crate::engine::Target;

/// The name of this machine in the results.
pub const MACHINE: &str = "machine";

/// The name of the generator in the results.
pub const GENERATOR: &str = "generator";

/// Something that is watched during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Its name in reports; `web` and `database` have columns of their own there.
    pub name: String,
    /// What is watched.
    pub what: What,
}

/// The kinds of things that can be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A process on this machine and all its descendants.
    Process(u32),
    /// All processes on this machine whose command line matches this from its beginning, and all
    /// their descendants; `*` matches anything.
    Named(String),
    /// An exporter of metrics in Prometheus' text format.
    Exporter {
        /// The exporter's server.
        target: Target,
        /// The path and query.
        path: String,
        /// Metrics that are wanted in addition to the known ones.
        metrics: Vec<String>,
    },
    /// Nothing of its own: it is part of the watched process of this name.
    Within(String),
}

impl Watch {
    /// Parses `NAME=PID`, `NAME=PROGRAM` or `NAME=http://HOST:PORT/PATH#METRIC,METRIC`; and
    /// `database=web`, which says that the database is in the process called web.
    ///
    /// # Errors
    ///
    /// A message that shows the accepted forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FORM: &str = "write web=1234, database=postgres, \"web=homeroom serve\" or \
                            database=http://127.0.0.1:9100/metrics";
        let (name, what) = text.split_once('=').ok_or_else(|| format!("it has no name; {FORM}"))?;
        let is_allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
            return Err(format!("`{name}` is not a valid name: use letters, digits, _ - and ."));
        }
        if [GENERATOR, MACHINE].contains(&name) {
            return Err(format!("`{name}` is always watched; choose another name"));
        }
        let what = match what.trim() {
            "" => return Err(format!("`{name}` names nothing to watch; {FORM}")),
            url if url.starts_with("https://") => {
                return Err("exporters are read over http://, not https://".into());
            }
            url if url.starts_with("http://") => exporter(url)?,
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => What::Process(
                number.parse().map_err(|_| format!("`{number}` is not a process id"))?,
            ),
            web @ "web" if name == "database" => What::Within(web.into()),
            program => What::Named(program.into()),
        };
        Ok(Self { name: name.into(), what })
    }
}

fn exporter(url: &str) -> Result<What, String> {
    let (address, metrics) = url.split_once('#').unwrap_or((url, ""));
    let origin_end = address["http://".len()..].find(['/', '?']).map(|at| at + "http://".len());
    let (origin, path) = match origin_end {
        Some(at) if address[at..].starts_with('/') => address.split_at(at),
        None => (address, "/metrics"),
        Some(_) => return Err("the URL has no path before its `?`".into()),
    };
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("what follows the host is not a valid path".into());
    }
    let target = Target::parse(origin).map_err(|error| error.to_string())?;
    let metrics = metrics.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(What::Exporter { target, path: path.into(), metrics: metrics.map(Into::into).collect() })
}

/// Returns whether a command line begins with a pattern, in which `*` matches anything.
pub fn fits(command_line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = command_line.strip_prefix(first) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exporter(origin: &str, path: &str, metrics: &[&str]) -> What {
        let metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        let target = Target::parse(&format!("http://{origin}")).unwrap();
        What::Exporter { target, path: path.into(), metrics }
    }

    #[test]
    fn a_watch_names_a_process_a_program_or_an_exporter() {
        for (text, name, what) in [
            ("web=1234", "web", What::Process(1234)),
            ("database=postgres", "database", What::Named("postgres".into())),
            ("database=web", "database", What::Within("web".into())),
            ("cache=web", "cache", What::Named("web".into())),
            ("a-b=homeroom serve --x=y", "a-b", What::Named("homeroom serve --x=y".into())),
            ("db=http://h:9100", "db", exporter("h:9100", "/metrics", &[])),
            (
                "db=http://h/x?y=z#a,b{c=\"d\"}",
                "db",
                exporter("h:80", "/x?y=z", &["a", "b{c=\"d\"}"]),
            ),
            ("db=http://[::1]/", "db", exporter("[::1]:80", "/", &[])),
        ] {
            assert_eq!(Watch::parse(text), Ok(Watch { name: name.into(), what }), "{text}");
        }
    }

    #[test]
    fn an_invalid_watch_is_refused() {
        for (text, told) in [
            ("postgres", "has no name"),
            ("=postgres", "is not a valid name"),
            ("a b=postgres", "is not a valid name"),
            ("web=", "names nothing"),
            ("web=99999999999", "is not a process id"),
            ("web=https://h", "not https"),
            ("web=http://", "is not the URL"),
            ("web=http://h i", "is not the URL"),
            ("web=http://h/ x", "is not a valid path"),
            ("web=http://h?x", "no path"),
            ("machine=1", "always watched"),
        ] {
            let error = Watch::parse(text).unwrap_err();

            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_pattern_fits_the_beginning_of_a_command_line() {
        for (line, pattern, fit) in [
            ("postgres: 15/main: walwriter", "postgres", true),
            ("homeroom serve --port 1", "homeroom serve", true),
            ("homeroom lab run", "homeroom serve", false),
            ("java -Xmx1g -jar /opt/ods.jar", "java *ods.jar", true),
            ("java -Xmx1g -jar /opt/ods.jar", "*ods", true),
            ("grep postgres", "postgres", false),
            ("a", "a*b", false),
        ] {
            assert_eq!(fits(line, pattern), fit, "{line}: {pattern}");
        }
    }
}
