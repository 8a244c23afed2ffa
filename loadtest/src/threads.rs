//! Work that is divided among threads.

use std::panic::resume_unwind;
use std::thread;

/// Makes one value of each number below `count`, in their order.
///
/// # Panics
/// If `make` does.
pub fn on_threads<T: Send, E: Send>(
    count: usize,
    threads: usize,
    make: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let share = count.div_ceil(threads);
    let make = &make;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let numbers = (thread * share).min(count)..((thread + 1) * share).min(count);
                scope.spawn(move || numbers.map(make).collect::<Result<Vec<T>, E>>())
            })
            .collect();
        let mut made = Vec::with_capacity(count);
        for thread in threads {
            made.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(made)
    })
}
