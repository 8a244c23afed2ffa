//! Scarce resources: limits, quotas, shares, and callers that take too much.

mod edge;
mod limits;
mod log_quota;
mod overload;
mod shares;
