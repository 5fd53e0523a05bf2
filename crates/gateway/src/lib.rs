//! The front door: every request passes here.
