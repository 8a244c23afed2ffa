//! The API's wire types: codes of errors, and with the feature `views` the JSON of answers, the bodies of requests, the
//! rights of keys and what requests sign.

mod code;
pub mod outward;
#[cfg(feature = "views")]
pub mod rights;
#[cfg(feature = "views")]
pub mod signs;
#[cfg(feature = "views")]
mod views;

pub use code::Code;
#[cfg(feature = "views")]
pub use views::*;
