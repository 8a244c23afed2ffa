//! The simulator: `seeds::` runs one machine, `nodes::` several, and `mutations::` looks at the patches that prove it.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod fresh;
mod mutations;
mod nodes;
mod seeds;
