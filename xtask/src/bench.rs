//! `cargo xtask bench`: the data API's figures, measured by the lab beside nginx in one interleaved run.
//!
//! It builds the release binary, makes a small generated district and a store of a million
//! documents, and prints a Markdown table with the median, least and greatest value of the rounds.
//! `--small` and `--large` run only one of the two. `--rights` measures lists for callers who may
//! see a part, `--pages` compares page sizes, and `--lab` measures what load generators cost and
//! whether they agree (with `k6` and `oha` if they are on the path). `--planted` (with `--noisy`)
//! searches for a known capacity. `--published` runs the stages of the published transactional test
//! and a search for the three levels. `--bulk` measures loads (with `--served`, through a
//! server, too), `--gateway` published APIs beside nginx's proxy, `--content` files of courses beside
//! nginx, `--overload` offers ten times the peak (`--case TEXT`: only in cases with this text in
//! their names), `--held` creates documents for ten minutes (`--minutes N`, after `--documents N`),
//! `--mix` holds 80 % of what a short trial of the mix held for half an hour (`--minutes N`), `--idle` reads beside as many idle connections as this machine lets one process have,
//! and `--sustained` creates in the store alone, with several
//! sizes (`--documents-before 100000,1000000`, `--minutes N`, `--clients N`, `--part-commits RATE`, `--mix`,
//! `--alternate SECONDS`).
//! `--growth` compares reads, starts and bytes of stores of several sizes (`--sizes 1000000,10000000`), which are
//! loaded and then written to.
//! `--sync-delay MS` makes every sync of the server slower, and `--postgres` runs the small one,
//! `--bulk`, `--held` or `--sustained` on a PostgreSQL server of its own. `--against FILE` measures
//! another release binary beside this one in the small rounds, each work on both before the next,
//! and prints the rounds' ratios. Needs `nginx` (Debian package `nginx-light`); `--gateway` needs
//! `openssl`, too.

mod agreement;
mod bulk;
mod content;
mod echo;
mod figures;
mod files;
mod gateway;
mod generators;
mod growth;
mod held;
mod idle;
mod large;
mod load;
mod machine;
mod options;
mod overload;
mod pages;
mod planted;
mod population;
mod published;
mod rights;
mod server;
mod small;
mod sustained;
mod work;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::server::OTHER_STORE;
use crate::house::Done;
use crate::test::postgres::Servers;
use files::text;
use options::Options;
use server::{STORE, homeroom};

const BULK: &str = "--bulk";
const POSTGRES: &str = "--postgres";
const AGAINST: &str = "--against";

/// Runs the task.
pub fn run(arguments: &[String]) -> Done {
    let number = |name: &str, usual: usize| {
        arguments
            .iter()
            .position(|argument| argument == name)
            .and_then(|at| arguments.get(at + 1))
            .map_or(Ok(usual), |text| {
                text.parse().map_err(|_| format!("{name}: `{text}` is not a number"))
            })
    };
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has(POSTGRES) {
        return on_postgres(arguments);
    }
    if has("--sustained") {
        println!("Commit {}; {}.\n", machine::commit(), machine::describe());
        return sustained::run(arguments, Path::new("target/bench"));
    }
    let has_mode = arguments.iter().any(|argument| mode(argument).is_some());
    let options = Options {
        // Each round of the small district uses up dates, of which there are few.
        rounds: number("--rounds", if has_mode || has("--large") { 5 } else { 2 })?,
        seconds: u32::try_from(number("--seconds", 4)?).map_err(|e| e.to_string())?,
        documents: number("--documents", 1_000_000)?,
        sizes: sizes(arguments)?,
        minutes: number("--minutes", if has("--mix") { 30 } else { 10 })?,
        students: number("--students", bulk::STUDENTS)?,
        folder: PathBuf::from("target/bench"),
        against: against(arguments)?,
        environment: slower_sync(number("--sync-delay", 0)?)?,
        case: following(arguments, "--case").map(str::to_owned),
        is_noisy: has("--noisy"),
    };
    if !has("--no-build") {
        build()?;
    }
    _ = std::fs::remove_dir_all(&options.folder);
    std::fs::create_dir_all(&options.folder).map_err(|e| e.to_string())?;
    println!("Commit {}; {}.\n", machine::commit(), machine::describe());
    if std::env::var_os(STORE).is_some() {
        println!("The store is a PostgreSQL database; its CPU is not counted.\n");
    }
    let district = options.folder.join("district");
    homeroom(&[
        "generate",
        "--students",
        "500",
        "--seed",
        "1",
        "--format",
        "jsonl",
        "--out",
        text(&district),
    ])?;

    let mut table = String::from("| what | median | least – greatest |\n|---|---|---|\n");
    let usual = |table: &mut String| {
        if !has("--large") {
            small::run(&options, &district, table)?;
        }
        if has("--small") { Ok(()) } else { large::run(&options, &district, table) }
    };
    let is_served = has("--served");
    let done = match arguments.iter().find_map(|argument| mode(argument)) {
        Some(_) if has(BULK) => bulk::run(&options, is_served, &mut table),
        Some(mode) => mode(&options, &district, &mut table),
        None => usual(&mut table),
    };
    if table.lines().count() > 2 {
        println!("{table}");
    }
    done
}

/// Returns the argument after this one.
fn following<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).map(String::as_str)
}

/// Returns the sizes of the stores that are compared.
fn sizes(arguments: &[String]) -> Result<Vec<usize>, String> {
    let at = arguments.iter().position(|argument| argument == "--sizes");
    let listed =
        at.map_or(Some("1000000,10000000"), |at| arguments.get(at + 1).map(String::as_str));
    let sizes: Result<Vec<usize>, _> = listed.unwrap_or("").split(',').map(str::parse).collect();
    sizes.map_err(|_| "--sizes wants numbers of documents, separated by commas".into())
}

/// Returns the binary of another build, if one is given.
fn against(arguments: &[String]) -> Result<Option<PathBuf>, String> {
    let Some(at) = arguments.iter().position(|argument| argument == AGAINST) else {
        return Ok(None);
    };
    match arguments.get(at + 1).map(PathBuf::from) {
        Some(binary) if binary.is_file() => Ok(Some(binary)),
        _ => Err(format!("{AGAINST} wants the file of a release binary")),
    }
}

/// A measurement, which writes its results to the table.
type Mode = fn(&Options, &Path, &mut String) -> Done;

/// Returns the measurement that an argument selects in place of the usual ones.
fn mode(argument: &str) -> Option<Mode> {
    Some(match argument {
        "--pages" => pages::run,
        "--lab" => |options, _, table| {
            generators::run(options, table)?;
            agreement::run(options, table)
        },
        "--planted" => |options, _, table| planted::run(options, table),
        "--published" => |options, district, _| published::run(options, district),
        "--rights" => rights::run,
        BULK => |options, _, table| bulk::run(options, false, table),
        "--overload" => overload::run,
        "--held" => held::run,
        "--mix" => held::mix,
        "--growth" => |options, district, _| growth::run(options, district),
        "--idle" => idle::run,
        "--gateway" => gateway::run,
        "--content" => |options, _, table| content::run(options, table),
        _ => return None,
    })
}

/// Starts PostgreSQL servers and runs this program again with every Homeroom on them.
fn on_postgres(arguments: &[String]) -> Done {
    let (servers, others) = (Servers::durable()?, Servers::durable()?);
    let again = std::env::current_exe().map_err(|e| e.to_string())?;
    let is_other = |argument: &String| mode(argument).is_some() || argument == "--large";
    let usual = !arguments.iter().any(is_other);
    let done = Command::new(again)
        .arg("bench")
        .args(usual.then_some("--small"))
        .args(arguments.iter().filter(|argument| *argument != POSTGRES))
        .env(STORE, servers.urls())
        .env(OTHER_STORE, others.urls())
        .status()
        .map_err(|e| e.to_string())?;
    if done.success() { Ok(()) } else { Err("the bench on PostgreSQL failed".into()) }
}

fn build() -> Done {
    let done = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "homeroom"])
        .env("HOMEROOM_COMMIT", machine::commit())
        .status()
        .map_err(|e| e.to_string())?;
    if done.success() { Ok(()) } else { Err("the release build failed".into()) }
}

/// Returns an environment in which every sync takes `millis` milliseconds longer.
fn slower_sync(millis: usize) -> Result<Vec<(String, String)>, String> {
    if millis == 0 {
        return Ok(vec![]);
    }
    println!("Every sync takes {millis} ms more.\n");
    let shim = crate::shim::disk()?;
    let preload = ("LD_PRELOAD".to_owned(), text(&shim).to_owned());
    Ok(vec![preload, ("DISK_SYNC_MILLIS".to_owned(), millis.to_string())])
}
