//! Tests of the whole crate, on real files and on a simulated disk that loses unsynced data.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod copies;
mod crash;
mod damage;
mod format;
mod growing;
mod reading;
pub(crate) mod sample;
mod scarce;
mod sealing;
mod sealing_damage;
mod terms;
mod verify;
mod watched;
