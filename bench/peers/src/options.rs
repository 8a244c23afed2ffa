//! The command line.

use clap::{Parser, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Peer {
    /// COPY of all records in a transaction; INSERT for a single one.
    PostgresCopy,
    /// A function that chains the records with SHA-256 and inserts them.
    PostgresChain,
    /// XADD, all of them in one pipeline.
    RedisStreams,
    /// Messages to a stream on disk, all of them before the first acknowledgement.
    NatsJetstream,
}

/// Appends records to a store and counts.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// The store to measure.
    pub(crate) peer: Peer,
    /// Its address: a connection string for PostgreSQL, host:port for the others.
    pub(crate) address: String,
    /// Records to append at a time.
    #[arg(long, default_value_t = 500)]
    pub(crate) records: usize,
    /// Bytes of a record.
    #[arg(long, default_value_t = 286)]
    pub(crate) bytes: usize,
    /// Connections.
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: usize,
    /// Seconds before the measurement.
    #[arg(long, default_value_t = 2)]
    pub(crate) warm_up_s: u64,
    /// Seconds of the measurement.
    #[arg(long, default_value_t = 8)]
    pub(crate) duration_s: u64,
}
