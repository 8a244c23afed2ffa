//! Runs code that blocks its thread, on a runtime with one thread. The code gets another thread, and the two take
//! turns: while one runs, the other waits for it. So everything happens in the order of a single thread, and blocking
//! code is simulated unchanged (adr/0025).

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use tokio::runtime::Handle;

thread_local! {
    /// Set on the thread of a coroutine.
    static CURRENT: RefCell<Option<Rc<CoroutineTurn>>> = const { RefCell::new(None) };
}

/// Waits for a future by blocking the thread. This must not be a thread of the runtime, except in a part that a
/// simulator started: that one ends its turn while it waits.
pub fn block_on<F: Future>(runtime: &Handle, future: F) -> F::Output {
    let turn = CURRENT.with_borrow(Clone::clone);
    match turn {
        Some(turn) => turn.wait(future),
        None => runtime.block_on(future),
    }
}

/// The blocking side of a coroutine.
struct CoroutineTurn {
    /// Each waker starts a turn, and is woken when the work can continue.
    turns: Receiver<Waker>,
    /// Ends a turn.
    ended: Sender<()>,
    /// Waker of the current turn.
    waker: RefCell<Waker>,
}

/// Panic payload that unwinds the work after its coroutine was dropped.
struct CoroutineUnwind;

impl CoroutineTurn {
    fn wait<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let waker = self.waker.borrow().clone();
            if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return done;
            }
            let next = self
                .ended
                .send(())
                .ok()
                .and_then(|()| self.turns.recv().ok());
            match next {
                Some(waker) => *self.waker.borrow_mut() = waker,
                None => resume_unwind(Box::new(CoroutineUnwind)),
            }
        }
    }
}

/// Work that may block, for a runtime with one thread. It runs while it is polled. When it is dropped, it is unwound at
/// the point where it waits.
pub(crate) struct Coroutine<T> {
    turns: Option<Sender<Waker>>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Coroutine<T> {
    pub(crate) fn start(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<Self> {
        let (turns, given) = channel::<Waker>();
        let (sender, ended) = channel();
        let runtime = Handle::current();
        let thread = std::thread::Builder::new().spawn(move || {
            let _entered = runtime.enter();
            let Ok(waker) = given.recv() else {
                resume_unwind(Box::new(CoroutineUnwind));
            };
            let turn = CoroutineTurn {
                turns: given,
                ended: sender,
                waker: RefCell::new(waker),
            };
            // The end of the thread ends the last turn, because it closes both channels.
            CURRENT.set(Some(Rc::new(turn)));
            work()
        })?;
        Ok(Self {
            turns: Some(turns),
            ended,
            thread: Some(thread),
        })
    }
}

impl<T> Future for Coroutine<T> {
    /// Result or panic of the work.
    type Output = std::thread::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let turn = context.waker().clone();
        let is_taken = self
            .turns
            .as_ref()
            .is_some_and(|turns| turns.send(turn).is_ok());
        if is_taken && self.ended.recv().is_ok() {
            return Poll::Pending;
        }
        match self.thread.take() {
            Some(thread) => Poll::Ready(thread.join()),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Coroutine<T> {
    fn drop(&mut self) {
        drop(self.turns.take());
        if let Some(thread) = self.thread.take() {
            // It unwinds, which is an error too.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    use tokio::runtime::{Builder, Runtime};
    use tokio::time::{Instant, sleep};

    use super::*;

    fn runtime() -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    }

    #[test]
    fn work_that_blocks_takes_turns_with_the_tasks_of_its_runtime() {
        runtime().block_on(async {
            let begun = Instant::now();
            let steps = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&steps);
            let other = tokio::spawn(async move {
                for _ in 0..10 {
                    sleep(Duration::from_millis(100)).await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            let handle = Handle::current();
            let work = move || {
                block_on(&handle, sleep(Duration::from_millis(550)));
                steps.load(Ordering::Relaxed)
            };
            let seen = Coroutine::start(work).unwrap().await.unwrap();
            assert_eq!(seen, 5, "the others ran while it was blocked");
            assert_eq!(begun.elapsed(), Duration::from_millis(550));
            other.await.unwrap();
            let panicked = Coroutine::start(|| assert!(std::hint::black_box(false), "on purpose"));
            assert!(panicked.unwrap().await.is_err());
        });
    }

    #[test]
    fn what_blocks_ends_with_its_runtime() {
        struct Noted(Arc<AtomicBool>);
        impl Drop for Noted {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let is_dropped = Arc::new(AtomicBool::new(false));
        let noted = Noted(Arc::clone(&is_dropped));
        let runtime = runtime();
        runtime.block_on(async {
            let handle = Handle::current();
            let work = move || {
                let _noted = noted;
                block_on(&handle, std::future::pending::<()>());
            };
            tokio::spawn(Coroutine::start(work).unwrap());
            sleep(Duration::from_millis(1)).await;
        });
        assert!(!is_dropped.load(Ordering::Relaxed));
        drop(runtime);
        assert!(is_dropped.load(Ordering::Relaxed), "it was unwound");
    }
}
