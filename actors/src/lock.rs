//! Locks that ignore poisoning: no code panics while the state under one of them is inconsistent.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it, after a panic under it too.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
