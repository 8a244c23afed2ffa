//! What the engine gets from the system. [`env`] provides time, randomness and files, [`executor`] runs the engine's
//! parts on threads or on a simulator's tasks, and [`timekeeper`] decides whether the clock is to be believed.

pub mod env;
pub mod executor;
pub mod timekeeper;
