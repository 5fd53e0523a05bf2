//! `homeroom completion | man`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{self, Exit, Failure};
use crate::output;

/// Prints a script that completes commands and options in a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom completion bash > /etc/bash_completion.d/homeroom
  homeroom completion zsh > /usr/share/zsh/site-functions/_homeroom")]
pub struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Writes manual pages: one of the program and one of each command.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  homeroom man --out /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Folder for the pages, created if necessary
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs `completion`.
pub fn completion(args: &CompletionArgs, mut command: Command) -> Exit {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "homeroom", &mut script);
    exit::print_as_it_is(&String::from_utf8_lossy(&script));
    Exit::Done
}

/// Runs `man`.
pub fn man(args: &ManArgs, mut command: Command) -> Result<Exit, Failure> {
    homeroom_store::check_folder(&args.out).map_err(output::failure)?;
    let failed = |error| Failure::because(&format!("writing to {}", args.out.display()), error);
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    // Only then do commands know their whole names.
    command.build();
    let mut pages = vec![];
    add_pages(&command, &mut pages).map_err(failed)?;
    for (name, text) in &pages {
        output::write(&output::MANUAL, &args.out.join(format!("{name}.1")), text)?;
    }
    exit::say!("{} pages in {}", pages.len(), args.out.display());
    Ok(Exit::Done)
}

/// Adds the pages of a command and of all below it, each with its name, `homeroom-keys-create`.
fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = vec![];
    clap_mangen::Man::new(command.clone()).title(name.clone()).render(&mut text)?;
    pages.push((name, String::from_utf8_lossy(&text).into_owned()));
    let below = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    below.into_iter().try_for_each(|inner| add_pages(inner, pages))
}
