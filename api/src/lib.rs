//! The API's wire types: codes of errors, and with the feature `views` the JSON of answers and the bodies of requests.

mod code;
#[cfg(feature = "views")]
mod views;

pub use code::Code;
#[cfg(feature = "views")]
pub use views::*;
