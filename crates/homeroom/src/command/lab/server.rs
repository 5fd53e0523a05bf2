//! Arguments of the published tests about the server, and about this side of the connections.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use homeroom_load::engine::{Options, Protocol, Target};
use homeroom_load::token::Key;

use super::load::{self, Sending};
use crate::exit::Failure;

/// The server to test.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Address of the server
    #[arg(long, value_name = "URL")]
    target: String,
    /// Key with which to call the server
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Secret of the key; better set in the environment as `HOMEROOM_LAB_SECRET`
    #[arg(long, value_name = "SECRET", requires = "key")]
    secret: Option<String>,
    /// Accepts any certificate from the server
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// Trusts only certificates signed by one in this file (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Sending threads; default: half of the cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
}

impl ServerArgs {
    /// Returns the target.
    pub fn target(&self) -> Result<Target, Failure> {
        target(&self.target)
    }

    /// Returns the key, if there is one.
    pub fn key(&self) -> Result<Option<Key>, Failure> {
        load::key(self.key.as_deref(), self.secret.as_deref())
    }

    /// Returns the engine's options for a server of the test with this many connections.
    pub fn options(
        &self,
        target: &Target,
        connections: u32,
        timeout: Duration,
    ) -> Result<Options, Failure> {
        let sending = Sending {
            protocol: Protocol::Http1,
            connections,
            timeout,
            threads: self.threads,
            ca: self.ca.as_deref(),
            insecure: self.insecure,
        };
        sending.options(target)
    }
}

/// Reads the address of a server.
pub fn target(url: &str) -> Result<Target, Failure> {
    Target::parse(url).map_err(|error| Failure::Usage(error.to_string()))
}
