//! A part that uses all of the floor: streams, credentials of every kind, other protocols, live
//! routes, blobs and jobs; over sockets, and on each store where the store matters.

mod callers;
mod certificates;
mod kept;
mod listeners;
mod live;
mod part;
mod sites;
mod streams;
mod support;
