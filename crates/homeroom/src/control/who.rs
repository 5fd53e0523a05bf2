//! Who runs a command: the account, for the audit log.

use std::os::unix::net::UnixStream;

use homeroom_access::Author;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{getpid, getuid};

/// What the system says of a process that no login has started.
const NO_LOGIN: u32 = u32::MAX;

/// Returns the user who runs this command.
pub fn here() -> Author {
    of(getuid().as_raw(), getpid().as_raw_nonzero().get())
}

/// Returns the user who runs the command at the other end of a socket.
pub fn at(stream: &UnixStream) -> Author {
    match socket_peercred(stream) {
        Ok(peer) => of(peer.uid.as_raw(), peer.pid.as_raw_nonzero().get()),
        Err(_) => Author::of_command("unknown"),
    }
}

/// Names a user, and the one who has logged in where it is another: `sudo` keeps that.
///
/// Source: proc(5), `loginuid`.
fn of(user: u32, process: i32) -> Author {
    let login = std::fs::read_to_string(format!("/proc/{process}/loginuid")).ok();
    let login = login.and_then(|login| login.trim().parse().ok());
    Author::of_command(&named(user, login))
}

fn named(user: u32, login: Option<u32>) -> String {
    match login.filter(|login| !matches!(*login, NO_LOGIN) && *login != user) {
        Some(login) => format!("{user} (logged in as {login})"),
        None => user.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_has_become_another_is_named_with_both() {
        assert_eq!(named(0, Some(1000)), "0 (logged in as 1000)");
        assert_eq!(named(1000, Some(1000)), "1000");
        assert_eq!(named(0, Some(NO_LOGIN)), "0");
        assert_eq!(named(0, None), "0");
    }
}
