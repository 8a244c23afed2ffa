//! What a schema takes when it is compiled: time, and memory.

use super::graph::Graph;
use super::{parse, pattern};

/// Bytes that a compiled schema takes for each byte of its text, regular expressions apart: each short keyword becomes a
/// value, a node and its place.
const COMPILED_PER_BYTE: usize = 32;

/// Steps for each place of a regular expression that is compiled: as many checks of a byte take as long.
const STEPS_PER_EFFORT: u64 = 512;
/// Steps for each byte of a schema that is compiled, in addition.
const STEPS_PER_BYTE: u64 = 16;

/// What compiling a schema takes, in steps of an [`Allowance`](crate::world::Allowance).
pub(crate) fn compile_steps(text: &str) -> u64 {
    let value = parse(text).ok();
    let graph = value.as_ref().and_then(|value| Graph::of(value).ok());
    let effort = graph.map_or(0, |graph| {
        let patterns = graph.patterns.iter();
        let efforts = patterns.map(|(_, pattern)| pattern::effort(pattern));
        efforts.fold(0, u64::saturating_add)
    });
    let of_text = text.len() as u64 * STEPS_PER_BYTE;
    effort
        .saturating_mul(STEPS_PER_EFFORT)
        .saturating_add(of_text)
}

/// About how many bytes a schema takes in memory, compiled, with its text.
pub fn bytes_compiled(text: &str) -> usize {
    let nodes = text.len().saturating_mul(COMPILED_PER_BYTE);
    let value = parse(text).ok();
    let graph = value.as_ref().and_then(|value| Graph::of(value).ok());
    let patterns = graph.map_or(0, |graph| {
        let patterns = graph.patterns.iter();
        patterns.map(|(_, pattern)| pattern::bytes(pattern)).sum()
    });
    nodes + patterns
}
