//! The `kedge` program: the server and the tools around it.

mod cli;

use std::process::ExitCode;

/// A request allocates and frees on several threads, which contend in the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
