//! One log on several nodes, over real NATS servers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod consumer_lag;
mod damage;
mod faults;
mod leadership;
mod lease;
mod node;
mod reseed;
mod security;
mod settings;

#[path = "../support/nats.rs"]
mod nats;
#[path = "../../../../tests/support/ports.rs"]
mod ports;

use ports::free_port;
