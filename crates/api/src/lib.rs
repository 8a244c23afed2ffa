//! Wire types of the API: error codes, and with the feature `views` the JSON of answers, the bodies of requests, the
//! rights of keys and the signing rules of requests.

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
