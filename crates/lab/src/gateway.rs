//! The published test of API gateways: cells of scenario, users, message size and back-end delay,
//! one after the other, each a closed loop of users over HTTPS with tokens.

mod baseline;
mod cell;
mod payload;
mod result;
mod source;

pub use baseline::{Baseline, BaselineRow};
pub use cell::{CellPlan, GatewayScenario, Timing, cells};
pub use payload::{PAYLOAD_BYTES_MIN, payload};
pub use result::{CellResult, FORMAT, GatewayFile, GatewaySettings};
pub use source::{Calls, GatewaySource};
