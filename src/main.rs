//! The `kedge` program: the server, and the commands of [`kedge_cli`].

use std::process::ExitCode;

use kedge::start;

/// A request allocates and frees on several threads, which contend in the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let serve = |config, allowances| async move {
        let served = start::run(config, allowances).await;
        served.map_err(|error| error.to_string())
    };
    let edge = |config| async move {
        let ended = start::run_edge(config).await;
        ended.map_err(|error| error.to_string())
    };
    match kedge_cli::main(serve, edge) {
        None => ExitCode::SUCCESS,
        // A server that could not stop in order may have threads that still run.
        Some(code) => start::exit_at_once(code),
    }
}
