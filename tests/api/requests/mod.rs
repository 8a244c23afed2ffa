//! What a request may be, and what its answer states.

mod answers;
mod bad_input;
mod client;
mod codings;
mod compressor;
mod connections;
mod console;
mod hints;
mod idempotency;
mod replays;
mod secrets;
mod transport;
mod v2;
