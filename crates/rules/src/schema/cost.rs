//! Cost of compiling a schema: time and memory.

use super::graph::SchemaGraph;
use super::{parse, pattern};

/// Memory of a compiled schema for each byte of its text, without regular expressions: each short keyword becomes a
/// value, a node and its place.
const COMPILED_PER_BYTE: usize = 32;

/// Steps for each position of a regular expression: compiling it takes as long as checking this many bytes.
const STEPS_PER_EFFORT: u64 = 512;
/// Steps for each byte of a schema, in addition.
const STEPS_PER_BYTE: u64 = 16;

/// Steps of a [`StepAllowance`](crate::world::StepAllowance) that compiling a schema takes.
pub(crate) fn compile_steps(text: &str) -> u64 {
    let value = parse(text).ok();
    let graph = value.as_ref().and_then(|value| SchemaGraph::of(value).ok());
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

/// Approximate memory of a schema, compiled, with its text.
pub fn bytes_compiled(text: &str) -> usize {
    let nodes = text.len().saturating_mul(COMPILED_PER_BYTE);
    let value = parse(text).ok();
    let graph = value.as_ref().and_then(|value| SchemaGraph::of(value).ok());
    let patterns = graph.map_or(0, |graph| {
        let patterns = graph.patterns.iter();
        patterns.map(|(_, pattern)| pattern::bytes(pattern)).sum()
    });
    nodes + patterns
}
