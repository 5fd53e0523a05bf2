//! The client against real sockets.

mod addresses;
mod blocking;
mod bodies;
mod phases;
mod pool;
mod redirects;
mod retries;
mod support;
mod tls;
mod uploads;
