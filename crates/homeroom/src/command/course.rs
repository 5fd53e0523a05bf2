//! `homeroom course check | add | use | list | answers | trace`.

use std::fs::File;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use homeroom_bulk::escaped_line;
use homeroom_course::{CoursesRequest, Finding, Level, Package, PackageLimits, read_package};
use serde_json::{Value, json};

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Checks packages, adds them as courses, rolls back, lists courses, and shows what was answered and called.
#[derive(Debug, Args)]
pub struct CourseArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: CourseCommand,
}

#[derive(Debug, Subcommand)]
enum CourseCommand {
    /// Reads a package with all its files and explains what it finds; nothing is stored
    #[command(after_help = "Examples:
  homeroom course check golf.zip
  homeroom course check golf.zip --json")]
    Check {
        /// A SCORM package (zip), or a video, recording or document (mp4, mp3, pdf)
        file: PathBuf,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Adds a package as a course, or as a new version of the course with this id
    #[command(after_help = "Examples:
  homeroom course add golf.zip
  homeroom course add golf.zip --id golf --json")]
    Add {
        /// A SCORM package (zip), or a video, recording or document (mp4, mp3, pdf)
        file: PathBuf,
        /// The course's id [default: the file's name without its ending]
        #[arg(long)]
        id: Option<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Makes a version of a course the current one, which new registrations get
    #[command(after_help = "Examples:
  homeroom course use golf 0
  homeroom course use golf 1 --json")]
    Use {
        /// The course's id
        id: String,
        /// The version's number
        version: i64,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists courses, the oldest first
    #[command(after_help = "Example:\n  homeroom course list --json")]
    List {
        /// Most courses
        #[arg(long, value_name = "N", default_value_t = 1_000)]
        limit: u32,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows how the interactions and objectives of a course went, over all its learners
    #[command(after_help = "Examples:
  homeroom course answers golf
  homeroom course answers golf --json")]
    Answers {
        /// The course's id
        id: String,
        /// Prints JSON, with the most frequent responses
        #[arg(long)]
        json: bool,
    },
    /// Shows the launches of a registration, or the calls of content during one of them
    #[command(after_help = "Examples:
  homeroom course trace r-1
  homeroom course trace r-1 --launch 0196e2f05c6b7a418d7c1f5a2b3c4d5e --json")]
    Trace {
        /// The registration's id
        registration: String,
        /// The launch's id
        #[arg(long)]
        launch: Option<String>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(args: CourseArgs) -> Result<Exit, Failure> {
    match args.command {
        CourseCommand::Check { file, json } => check(&file, json),
        CourseCommand::Add { file, id, json } => {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
            let id = id.or(name).unwrap_or_default();
            let file = std::path::absolute(&file)
                .map_err(|error| Failure::because(&format!("finding {}", file.display()), error))?;
            let answer = ask(&args.config, CoursesRequest::Add { file, id })?;
            if json {
                super::print_json(&answer);
            } else {
                let course = answer["course"].as_str().unwrap_or_default();
                crate::exit::say!("course {course}, version {}", answer["version"]);
                for warning in answer["warnings"].as_array().into_iter().flatten() {
                    crate::exit::say!(
                        "warn  {}",
                        escaped_line(warning.as_str().unwrap_or_default())
                    );
                }
            }
            Ok(Exit::Done)
        }
        CourseCommand::Use { id, version, json } => {
            let answer = ask(&args.config, CoursesRequest::Use { id, version })?;
            if json {
                super::print_json(&answer);
            } else {
                let course = answer["course"].as_str().unwrap_or_default();
                crate::exit::say!("course {course}, version {}", answer["version"]);
            }
            Ok(Exit::Done)
        }
        CourseCommand::List { limit, json } => {
            shown(&ask(&args.config, CoursesRequest::List { limit })?, json, "no courses");
            Ok(Exit::Done)
        }
        CourseCommand::Answers { id, json } => {
            let answer = ask(&args.config, CoursesRequest::Answers { id })?;
            if json {
                super::print_json(&answer);
            } else {
                print_answers(&answer);
            }
            Ok(Exit::Done)
        }
        CourseCommand::Trace { registration, launch, json } => {
            let asked = CoursesRequest::Trace { registration, launch };
            shown(&ask(&args.config, asked)?, json, "nothing was called");
            Ok(Exit::Done)
        }
    }
}

fn ask(config: &ConfigArgs, asked: CoursesRequest) -> Result<Value, Failure> {
    let config = super::prepare_quietly(config)?;
    control::request(&config, Request::Courses(asked), &mut |_| {})
}

fn shown(answer: &Value, json: bool, nothing: &str) {
    if json {
        super::print_json(answer);
    } else if *answer == Value::Array(vec![]) {
        crate::exit::say!("{nothing}");
    } else {
        super::keys::print_plainly(answer, 0);
    }
}

fn print_answers(answer: &Value) {
    let all = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let (interactions, objectives) = (all("interactions"), all("objectives"));
    if interactions.is_empty() && objectives.is_empty() {
        crate::exit::say!("nothing was answered");
    }
    let text = |of: &Value| escaped_line(of.as_str().unwrap_or_default()).into_owned();
    for one in interactions {
        crate::exit::say!(
            "{}  {}  {}  answers {}, learners {}, correct {}, incorrect {}",
            text(&one["activity"]),
            text(&one["id"]),
            text(&one["type"]),
            one["count"],
            one["learners"],
            one["correct"],
            one["incorrect"],
        );
    }
    for one in objectives {
        crate::exit::say!(
            "{}  {}  objective  learners {}, passed {}, failed {}, completed {}",
            text(&one["activity"]),
            text(&one["id"]),
            one["learners"],
            one["passed"],
            one["failed"],
            one["completed"],
        );
    }
    if answer["isCut"] == true {
        crate::exit::say!("more was answered, which is not shown");
    }
}

fn check(path: &std::path::Path, json: bool) -> Result<Exit, Failure> {
    let reading = format!("reading {}", path.display());
    let file = File::open(path).map_err(|error| Failure::because(&reading, error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let package = read_package(file, &name.unwrap_or_default(), PackageLimits::default());
    let package = package.verified();
    if json {
        super::print_json(&as_json(&package));
    } else {
        for finding in &package.findings {
            crate::exit::say!(
                "{:<5} {}",
                word(finding.level),
                escaped_line(&finding.line_of_text())
            );
        }
    }
    if package.is_playable() {
        return Ok(Exit::Done);
    }
    Err(Failure::Failed(format!("{} cannot be played", path.display())))
}

fn as_json(package: &Package) -> Value {
    let count = |level: Level| {
        package.findings.iter().filter(|finding: &&Finding| finding.level == level).count()
    };
    json!({
        "playable": package.is_playable(),
        "standard": package.standard.map(homeroom_course::Standard::name),
        "title": package.tree.as_ref().map(|tree| tree.title.as_str()),
        "activities": package.tree.as_ref().map(|tree| tree.launchable().len()),
        "pass": count(Level::Pass),
        "warn": count(Level::Warn),
        "fail": count(Level::Fail),
        "findings": package.findings,
    })
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Pass => "pass",
        Level::Warn => "warn",
        Level::Fail => "fail",
    }
}
