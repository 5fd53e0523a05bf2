//! A part that uses all of the floor: streams, credentials of every kind, other protocols, live
//! routes; over sockets, and on each store where the store matters.

mod callers;
mod certificates;
mod listeners;
mod live;
mod part;
mod sites;
mod streams;
mod support;
