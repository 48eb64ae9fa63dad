//! Ids and times in the shapes a Terreno host writes them.

use std::time::Duration;

const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Mints every id of one host from one seed: two hosts with the same seed and clock mint the same ids.
#[derive(Debug)]
pub(super) struct Mint {
    mix: u64,
    machine: u64,
    documents: u64,
    calls: u64,
}

impl Mint {
    pub(super) fn new(seed: u64) -> Self {
        let mut mint = Self { mix: seed, machine: 0, documents: 0, calls: 0 };
        mint.machine = mint.next() & 0xff_ffff_ffff;
        mint.documents = mint.next() & 0xf_ffff;
        mint
    }

    /// A database id: 24 hex digits, of which the first eight are the time.
    pub(super) fn document(&mut self, now: Duration) -> String {
        self.documents = (self.documents + 1) & 0xff_ffff;
        format!("{:08x}{:010x}{:06x}", now.as_secs() & 0xffff_ffff, self.machine, self.documents)
    }

    /// A model provider's call id, such as `call_mx3sc0ba_1`.
    pub(super) fn call(&mut self, now: Duration) -> String {
        self.calls += 1;
        format!("call_{}_{}", base36(millis(now)), self.calls)
    }

    /// An approval id, such as `aitxt-Lh6ySB86fg3AFRsV2kIOppBq`.
    pub(super) fn approval(&mut self) -> String {
        format!("aitxt-{}", self.word(24))
    }

    /// A random word of letters and digits.
    pub(super) fn word(&mut self, length: usize) -> String {
        (0..length).map(|_| self.pick(ALPHANUMERIC)).collect()
    }

    /// A request id: a version 4 UUID.
    pub(super) fn request(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    fn pick(&mut self, alphabet: &[u8]) -> char {
        let at = usize::try_from(self.next() >> 33).unwrap_or(0) % alphabet.len();
        alphabet.get(at).map_or('0', |byte| char::from(*byte))
    }

    /// The `SplitMix64` generator: ids have to look random and never repeat; nothing here is a secret.
    fn next(&mut self) -> u64 {
        self.mix = self.mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.mix;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Milliseconds since the epoch.
pub(super) fn millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}

/// ISO 8601 in UTC with milliseconds and `Z`, as in every `created`.
pub(super) fn iso(at: Duration) -> String {
    let seconds = at.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", at.subsec_millis())
}

/// The calendar day of a day number since the epoch, by counting 400-year cycles that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let cycle = shifted / 146_097;
    let of_cycle = shifted % 146_097;
    let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_cycle + cycle * 400 + u64::from(month <= 2), month, day)
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = usize::try_from(number % 36).unwrap_or(0);
        digits.push(BASE36.get(digit).map_or('0', |byte| char::from(*byte)));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_the_calendar_has_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_796_074_414, "2026-11-30T21:33:34.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(Duration::from_secs(seconds)), expected);
        }
        assert_eq!(iso(Duration::from_millis(1_796_074_414_897)), "2026-11-30T21:33:34.897Z");
    }

    #[test]
    fn ids_have_their_shapes() {
        let mut mint = Mint::new(7);
        let now = Duration::from_millis(1_796_074_414_897);
        let document = mint.document(now);
        assert_eq!(document.len(), 24);
        assert!(document.starts_with("6b0d"), "{document}");
        assert_ne!(document, mint.document(now));
        assert!(mint.call(now).starts_with("call_mx3s"));
        assert_eq!(mint.approval().len(), 30);
        assert_eq!(mint.request().len(), 36);
    }
}
