//! From the log to the rows of the store: `apply` makes them, `catch_up` opens a store whose rows lack the log's end,
//! and `counted` says how many bytes a request counts.

pub mod apply;
pub mod catch_up;
pub(crate) mod counted;
