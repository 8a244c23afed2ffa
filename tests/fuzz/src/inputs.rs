//! Mutation of inputs.

use crate::random::FuzzRandom;

/// Bytes at the limits of formats.
const EDGES: &[u8] = &[0, 1, 0x7f, 0x80, 0xff, b'"', b'\\', b'{', b'}', b'0', b' '];
/// Numbers at the limits of types.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "0.1",
    "1E-7",
];

/// A copy of a random input with a few changes.
pub fn change(
    random: &mut FuzzRandom,
    pool: &[Vec<u8>],
    words: &[&[u8]],
    bytes_max: usize,
) -> Vec<u8> {
    let mut input = random.pick(pool).clone();
    // Mostly few: one change too many hides the effect of the others.
    let changes = 1 + random.below(4).min(random.below(4)) + random.below(2);
    for _ in 0..changes {
        step(random, &mut input, pool, words);
    }
    input.truncate(bytes_max);
    input
}

fn step(random: &mut FuzzRandom, input: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&[u8]]) {
    if input.is_empty() {
        input.push(*random.pick(EDGES));
        return;
    }
    let at = random.below(input.len());
    let most = 1 + random.below(64);
    let span = 1 + random.below(most).min(input.len() - at - 1);
    match random.below(10) {
        0 => input[at] ^= 1 << random.below(8),
        1 => input[at] = *random.pick(EDGES),
        2 => input[at] = random.number() as u8,
        3 => drop(input.drain(at..at + span)),
        4 => {
            let copy = input[at..at + span].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        5 => {
            let other = random.pick(pool);
            let from = random.below(other.len() + 1);
            let end = (from + 1 + random.below(128)).min(other.len());
            input.splice(at..at + span, other[from..end].iter().copied());
        }
        6 => {
            let word = random.pick(NUMBERS).as_bytes();
            let (start, end) = digits(input, at);
            input.splice(start..end, word.iter().copied());
        }
        7 if input.len() >= at + 8 => {
            // A binary number: one more, one less, or a limit.
            let bytes: [u8; 8] = input[at..at + 8].try_into().unwrap_or_default();
            let number = u64::from_be_bytes(bytes);
            let number = *random.pick(&[number.wrapping_add(1), number.wrapping_sub(1), u64::MAX]);
            input[at..at + 8].copy_from_slice(&number.to_be_bytes());
        }
        8 => {
            let to = random.below(input.len());
            input.swap(at, to);
        }
        _ if !words.is_empty() => {
            let word = random.pick(words);
            let end = if random.below(2) == 0 { at } else { at + span };
            input.splice(at..end, word.iter().copied());
        }
        _ => input.insert(at, random.number() as u8),
    }
}

/// The digits around a position, or the position alone.
fn digits(input: &[u8], at: usize) -> (usize, usize) {
    let is_digit = |at: &usize| input[*at].is_ascii_digit();
    let end = (at..input.len()).take_while(is_digit).last();
    let start = (0..=at).rev().take_while(is_digit).last();
    match (start, end) {
        (Some(start), Some(end)) => (start, end + 1),
        _ => (at, at),
    }
}
