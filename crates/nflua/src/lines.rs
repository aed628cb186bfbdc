//! Lines that wait for a thread that writes them: who has put one there goes on. What does not fit is lost, and counted.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that wait, at most, unless one line has more.
const MOST: usize = 1 << 20;

/// What a line takes beside its bytes.
const EACH: usize = 64;

/// How long the end waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Lines {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    /// Bytes of the lines, of the one that is being written too.
    waiting: usize,
    lost: u64,
}

impl Lines {
    /// Begins a thread that writes lines to `out`; what cannot be written there is gone. When lines find room again, `tell` gets these and how many were lost.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn begin(
        mut out: impl Write + Send + 'static,
        tell: impl Fn(&Lines, u64) + Send + 'static,
    ) -> io::Result<Arc<Lines>> {
        let lines = Arc::<Lines>::default();
        let known = Arc::downgrade(&lines);
        let write = move || {
            while let Some(lines) = known.upgrade() {
                let Some(line) = lines.next() else { continue };
                let _ = out.write_all(&line).and_then(|()| out.flush());
                let lost = lines.done(line.len());
                if lost > 0 {
                    tell(&lines, lost);
                }
            }
        };
        thread::Builder::new().name("log".to_string()).spawn(write)?;
        Ok(lines)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next line, if one comes in some time.
    fn next(&self) -> Option<Vec<u8>> {
        let waited = self.changed.wait_timeout_while(self.queue(), PATIENCE, |queue| queue.lines.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.lines.pop_front()
    }

    pub fn put(&self, start: &str, line: &[u8]) {
        let line = [start.as_bytes(), line, b"\n"].concat();
        let mut queue = self.queue();
        if queue.waiting > 0 && queue.waiting + line.len() + EACH > MOST {
            queue.lost += 1;
            return;
        }
        queue.waiting += line.len() + EACH;
        queue.lines.push_back(line);
        self.changed.notify_all();
    }

    /// Notes that a line is written; gives how many are to be told of as lost.
    fn done(&self, length: usize) -> u64 {
        let mut queue = self.queue();
        queue.waiting -= length + EACH;
        self.changed.notify_all();
        if queue.waiting > MOST / 2 { 0 } else { std::mem::take(&mut queue.lost) }
    }

    /// Waits until all is written, as long as somebody takes it; gives how many lines were lost that nobody was told of.
    pub fn finish(&self) -> u64 {
        let mut queue = self.queue();
        while queue.waiting > 0 {
            let before = queue.waiting;
            let waited = self.changed.wait_timeout_while(queue, PATIENCE, |queue| queue.waiting == before);
            let (held, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = held;
            if timeout.timed_out() {
                queue.lost += queue.lines.len() as u64;
                break;
            }
        }
        std::mem::take(&mut queue.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, sync_channel};

    /// Takes a line whenever it is told to.
    struct Slow(Receiver<()>);

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_told() {
        let (tell, taken) = sync_channel(1 << 16);
        let (told, is_told) = sync_channel(1 << 16);
        let lines = Lines::begin(Slow(taken), move |_, lost| told.send(lost).unwrap()).unwrap();
        let line = [b'x'; 1024 - EACH - 1];
        (0..MOST / 1024 + 10).for_each(|_| lines.put("", &line));
        (0..500).for_each(|_| tell.send(()).unwrap());
        assert!(is_told.recv_timeout(PATIENCE / 5).is_err(), "it is told when there is room again");
        (0..524).for_each(|_| tell.send(()).unwrap());
        assert_eq!((is_told.recv(), lines.finish()), (Ok(10), 0));
        lines.put("", &[b'x'; 2 * MOST]);
        tell.send(()).unwrap();
        assert_eq!(lines.finish(), 0, "a long line is one, too");
    }

    #[test]
    fn the_end_does_not_wait_for_a_reader_that_takes_nothing() {
        let (_tell, taken) = sync_channel(1);
        let lines = Lines::begin(Slow(taken), |_, _| ()).unwrap();
        (0..3).for_each(|_| lines.put("", b"x"));
        assert!(lines.finish() >= 2);
    }
}
