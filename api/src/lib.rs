//! The API's wire types: codes of errors, and with the feature `views` the JSON of answers and the bodies of requests.
//! Each shape of an answer is one type, which writes it and documents it. A type's doc comment is its description in
//! the API's document.

#[cfg(feature = "views")]
pub mod accounts;
#[cfg(feature = "views")]
pub mod action;
#[cfg(feature = "views")]
pub mod bodies;
mod code;
#[cfg(feature = "views")]
pub mod dispute;
#[cfg(feature = "views")]
pub mod event;
#[cfg(feature = "views")]
mod field;
#[cfg(feature = "views")]
pub mod log;
#[cfg(feature = "views")]
pub mod preview;
#[cfg(feature = "views")]
pub mod resources;
#[cfg(feature = "views")]
pub mod scalars;
#[cfg(feature = "views")]
pub mod schema;
#[cfg(feature = "views")]
pub mod search;
#[cfg(feature = "views")]
pub mod sequencer_keys;
#[cfg(feature = "views")]
pub mod webhook;

pub use code::Code;
#[cfg(feature = "views")]
pub use field::Field;

#[cfg(feature = "views")]
use schemars::JsonSchema;
#[cfg(feature = "views")]
use serde::Serialize;

/// One page of a list.
#[cfg(feature = "views")]
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
