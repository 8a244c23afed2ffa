//! Forms of requests, and the contents of their answers.

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
