//! The rules of asks against Terreno's own vectors, fixtures, schemas and captured responses, and against chance.

#[cfg(test)]
mod captures;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod vectors;
#[cfg(test)]
mod wire;
