//! The running program as a second process, for examples that measure one of the two.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Result};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Starts the running program once more, with these arguments. Returns the process and what it
/// writes; its standard input is a pipe.
pub fn start(arguments: &[&str]) -> Result<(Child, BufReader<ChildStdout>)> {
    let mut command = Command::new(std::env::current_exe()?);
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let said = child.stdout.take().ok_or_else(|| Error::other("its output is not there"))?;
    Ok((child, BufReader::new(said)))
}

/// Reads the next line that the process writes, without blanks around it.
pub fn line(said: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    if said.read_line(&mut line)? == 0 {
        let why = "the other process has ended early; see what it wrote above, and `ulimit -n`";
        return Err(Error::new(ErrorKind::UnexpectedEof, why));
    }
    Ok(line.trim().to_owned())
}
