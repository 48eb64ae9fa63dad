//! The sled ledger from outside: the contract, races, damage, crashes, full disks.

#[cfg(test)]
mod blackout;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod powercut;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod support;
#[cfg(test)]
mod syncing;
#[cfg(test)]
mod taps;
#[cfg(test)]
mod trouble;
