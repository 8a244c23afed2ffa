//! The `kedge` program: the server, and the commands of [`kedge_cli`].

use std::process::ExitCode;

use kedge::start;
use kedge_protocol::ids::seed_maps;
use kedge_runtime::env::{Env, RealEnv};

/// Requests allocate and free on several threads, which contend in the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Randomizes hash tables, so that callers cannot choose identifiers that collide.
fn choose_places() -> std::io::Result<()> {
    let mut seed = [0; 8];
    RealEnv.random(&mut seed)?;
    seed_maps(u64::from_le_bytes(seed));
    Ok(())
}

fn main() -> ExitCode {
    if let Err(error) = choose_places() {
        eprintln!("the system gives no random numbers: {error}");
        return ExitCode::FAILURE;
    }
    match kedge_cli::main(start::server, start::edge) {
        None => ExitCode::SUCCESS,
        // A server that could not stop in order may have running threads.
        Some(code) => start::exit_at_once(code),
    }
}
