//! JSON of answers and bodies of requests. Each type writes and documents one shape: its doc comment is its description
//! in the OpenAPI document.

pub mod accounts;
pub mod action;
mod batch_answer;
pub mod bodies;
mod component;
pub mod dispute;
pub mod event;
mod field;
pub mod generators;
pub mod log;
pub mod preview;
pub mod resources;
pub mod scalars;
pub mod schema;
pub mod search;
pub mod sequencer_keys;
pub mod service;
pub mod webhook;

use schemars::JsonSchema;
use serde::Serialize;

pub use field::Field;

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The records.
    pub items: Vec<T>,
    /// Pass it to get the next page; null on the last one.
    pub cursor: Option<String>,
    /// True when more records follow.
    pub has_more: bool,
}
