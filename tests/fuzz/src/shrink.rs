//! Reduction of a failing input by leaving out parts.

/// Limit on attempts: each runs the target, and a failed one prints its message.
const ATTEMPTS: usize = 400;

pub(crate) fn smallest(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = input.to_vec();
    let mut part = smallest.len().next_power_of_two() / 2;
    let mut attempts = 0;
    while part > 0 {
        let mut at = 0;
        while at < smallest.len() && attempts < ATTEMPTS {
            let mut without = smallest.clone();
            without.drain(at..(at + part).min(smallest.len()));
            attempts += 1;
            if fails(&without) {
                smallest = without;
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    smallest
}
