//! The target `transform`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: homeroom_fuzz::begin(), |bytes: &[u8]| homeroom_fuzz::transform(bytes));
