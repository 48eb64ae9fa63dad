//! What must survive a crash: the ledger.
//!
//! [`ledger::Ledger`] names domain operations, each a whole transaction. Every implementation passes the one suite in
//! [`contract`]. Nothing outside this crate names sled or SQL.

pub mod contract;
pub mod ledger;
pub mod record;
pub mod sled;
pub mod token;
