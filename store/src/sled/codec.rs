//! How a record is laid out in values.
//!
//! Version byte, number of further parts (two bytes), CRC-32 of the whole payload (four bytes), then the payload, which
//! is JSON. What does not fit into [`PART_BYTES`] goes on in further parts, because sled keeps large values in files of
//! their own, outside the log that we sync.

/// Payload bytes in one value. Together with the head well under 4 KB.
pub(super) const PART_BYTES: usize = 3_000;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 7;

/// A value that cannot be what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// The values of a payload: the head, then the further parts. `None` if it is too large to keep (over 190 MB).
pub(super) fn encode(payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut chunks = payload.chunks(PART_BYTES);
    let first = chunks.next().unwrap_or_default();
    let further: Vec<Vec<u8>> = chunks.map(<[u8]>::to_vec).collect();
    let count = u16::try_from(further.len()).ok()?;
    let mut head = Vec::with_capacity(HEAD_BYTES + first.len());
    head.push(VERSION);
    head.extend_from_slice(&count.to_be_bytes());
    head.extend_from_slice(&checksum(count, payload).to_be_bytes());
    head.extend_from_slice(first);
    Some(std::iter::once(head).chain(further).collect())
}

/// How many further parts a head announces.
pub(super) fn further_parts(head: &[u8]) -> Result<u16, Damaged> {
    split(head).map(|(count, _, _)| count)
}

/// The payload of a head and its further parts, which are asked for by number from 1 on.
pub(super) fn decode<E: From<Damaged>>(
    head: &[u8],
    mut part: impl FnMut(u16) -> Result<Option<Vec<u8>>, E>,
) -> Result<Vec<u8>, E> {
    let (count, sum, first) = split(head)?;
    let mut payload = first.to_vec();
    for number in 1..=count {
        payload.extend_from_slice(&part(number)?.ok_or(Damaged)?);
    }
    if checksum(count, &payload) == sum { Ok(payload) } else { Err(Damaged.into()) }
}

fn split(head: &[u8]) -> Result<(u16, u32, &[u8]), Damaged> {
    match head {
        [VERSION, c0, c1, s0, s1, s2, s3, first @ ..] => {
            Ok((u16::from_be_bytes([*c0, *c1]), u32::from_be_bytes([*s0, *s1, *s2, *s3]), first))
        }
        _ => Err(Damaged),
    }
}

fn checksum(count: u16, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&count.to_be_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(values: &[Vec<u8>]) -> Result<Vec<u8>, Damaged> {
        let head = values.first().ok_or(Damaged)?;
        decode(head, |number| Ok(values.get(usize::from(number)).cloned()))
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(payload in prop::collection::vec(any::<u8>(), 0..12_000)) {
            let values = encode(&payload).expect("fits");
            prop_assert!(values.iter().all(|value| value.len() < 4_096));
            prop_assert_eq!(further_parts(&values[0]).expect("a head") as usize + 1, values.len());
            prop_assert_eq!(read(&values), Ok(payload));
        }

        #[test]
        fn a_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..7_000), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let mut values = encode(&payload).expect("fits");
            let total: usize = values.iter().map(Vec::len).sum();
            let mut position = at.index(total);
            for value in &mut values {
                if position < value.len() {
                    value[position] ^= 1 << bit;
                    break;
                }
                position -= value.len();
            }
            prop_assert_eq!(read(&values), Err(Damaged));
        }
    }

    #[test]
    fn rubbish_is_damaged_and_no_panic() {
        for head in [&[][..], &[1], &[2, 0, 0, 0, 0, 0, 0], &[1, 0, 9, 0, 0, 0, 0]] {
            assert_eq!(read(&[head.to_vec()]), Err(Damaged));
        }
    }
}
