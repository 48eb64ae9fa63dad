//! The simulated Terreno host, held against the wire contract over real sockets.
//!
//! Each table replays exchanges in the order they were captured, with expectations written out and ids replaced by names
//! in angle brackets: the first value a name meets is what it stands for from then on, within its test.

#[cfg(test)]
#[path = "terreno_contract/answers.rs"]
mod answers;
#[cfg(test)]
#[path = "terreno_contract/basics.rs"]
mod basics;
#[cfg(test)]
#[path = "terreno_contract/faults.rs"]
mod faults;
#[cfg(test)]
#[path = "terreno_contract/harness.rs"]
mod harness;
#[cfg(test)]
#[path = "terreno_contract/sign_in.rs"]
mod sign_in;
