//! Every target is this program under its own name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tests::fuzz::one(env!("CARGO_BIN_NAME"), bytes));
