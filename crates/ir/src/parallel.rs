//! Work on many things at once, on as many threads as there are processors. What comes out does not depend on how many that are.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Builder;

/// With fewer items than this a thread costs more than it saves.
const WORTH: usize = 8;

/// What a main thread usually has, so that it does not matter which of them a function is compiled on.
const STACK: usize = 8 << 20;

/// What `work` gives for each of the items, in their order. Each thread has a state of its own, made by `state`. Where the system
/// gives no more threads, those that there are do the work, if need be the caller's alone.
pub fn map<T, R, S>(
    items: impl ExactSizeIterator<Item = T> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R>
where
    T: Send,
    R: Send,
{
    map_with_stack(STACK, items, state, work)
}

fn map_with_stack<T, R, S>(
    stack: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R>
where
    T: Send,
    R: Send,
{
    let threads = match items.len() {
        ..WORTH => 1,
        count => processors().min(count / WORTH + 1),
    };
    let queue = Mutex::new(items.enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        let mut state = state();
        let mut done = Vec::new();
        while let Some((index, item)) = next() {
            done.push((index, work(&mut state, item)));
        }
        done
    };
    let mut results = std::thread::scope(|scope| {
        let another = |_| Builder::new().stack_size(stack).spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).map_while(another).collect();
        let mut results = worker();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// To find that out, files are read.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    /// No address space has room for such a stack: the system refuses the thread.
    #[test]
    fn without_other_threads_the_caller_does_all_the_work() {
        let doubled = super::map_with_stack(usize::MAX >> 17, 0..1000, || 0, |_, n: usize| 2 * n);
        assert_eq!(doubled, (0..1000).map(|n| 2 * n).collect::<Vec<_>>());
    }

    #[test]
    fn results_are_in_the_items_order() {
        for count in [0, 1, 7, 8, 1000] {
            let squares = super::map(0..count, || 0, |_, n: usize| n * n);
            assert_eq!(squares, (0..count).map(|n| n * n).collect::<Vec<_>>());
        }
    }
}
