//! The client against real sockets.

mod addresses;
mod bodies;
mod phases;
mod pool;
mod redirects;
mod retries;
mod support;
mod tls;
