//! What the simulated Discord promises, over real sockets: it refuses what the platform refuses, in the platform's words.
//!
//! A fake that is kinder than the platform proves nothing about the program (field case C4).

#[cfg(test)]
#[path = "discord_contract"]
mod contract {
    mod faults;
    mod gateway;
    mod interactions;
    mod messages;
    mod refusals;
    mod site;
    mod spec;
}
