//! The Terreno source over real sockets, against a host that is scripted in the test.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod double;
#[cfg(test)]
mod linked;
#[cfg(test)]
mod session;
#[cfg(test)]
mod wreck;
