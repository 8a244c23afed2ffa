//! From the log to the rows of the store: `apply` makes them, and `catch_up` opens a store whose rows lack the log's
//! end. The committer makes the same rows with `images`, which writes a resource, and `counted`, which counts a
//! request's bytes.

pub mod apply;
pub mod catch_up;
pub(crate) mod counted;
pub(crate) mod images;
