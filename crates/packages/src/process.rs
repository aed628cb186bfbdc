//! Other programs, which run for a limited time and not longer than who waits for them.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How a program has ended.
pub enum End {
    /// By itself, with what it has written to both of its outputs.
    Exit { status: ExitStatus, log: String },
    /// A signal has ended it, as Ctrl-C does.
    Signal(i32),
    /// It took too long.
    TooLong,
}

/// Between looks whether it has ended.
const TURN: Duration = Duration::from_millis(5);

/// What it has for putting away its files, once it is asked to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Bytes of a program's words that are kept.
const MOST_WORDS: u64 = 1 << 20;

/// Runs a program, without input.
///
/// # Errors
/// It cannot be begun.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<End> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running { child: begun(command)?, has_ended: false };
    let _listed = Listed::new(running.child.id());
    let words = [reader(running.child.stdout.take()), reader(running.child.stderr.take())];
    let Some(status) = running.wait_until(deadline)? else { return Ok(End::TooLong) };
    if let Some(signal) = status.signal() {
        return Ok(End::Signal(signal));
    }
    let words = words.map(|words| words.join().unwrap_or_default());
    Ok(End::Exit { status, log: String::from_utf8_lossy(&words.concat()).into_owned() })
}

/// Begins a program, which can be ended by signals that this thread has wait: it inherits whether they do.
fn begun(command: &mut Command) -> io::Result<Child> {
    let before = SigSet::empty().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let child = command.spawn();
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    child
}

/// What comes out of a pipe, which is emptied so that its writer is never held up.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut words = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MOST_WORDS).read_to_end(&mut words);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        words
    })
}

/// The numbers of those that run.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Keeps a program's number in the list.
struct Listed(u32);

impl Listed {
    fn new(number: u32) -> Listed {
        running().push(number);
        Listed(number)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        running().retain(|number| *number != self.0);
    }
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks all that run to end, and gives them a moment for that.
pub fn end_all() {
    let deadline = Instant::now() + FAREWELL;
    for number in &*running() {
        let _ = kill(Pid::from_raw(*number as i32), Signal::SIGTERM);
    }
    // Who waits for them takes them off the list.
    while Instant::now() < deadline && !running().is_empty() {
        thread::sleep(TURN);
    }
}

/// A program that ends with this value.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.has_ended = true;
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(TURN);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // Asked first: git ends those that it has begun, and removes what it has made.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        if !matches!(self.wait_until(Instant::now() + FAREWELL), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> End {
        run(Command::new("sh").args(["-c", script]), limit).expect("there is a shell")
    }

    #[test]
    fn programs_end_by_themselves_or_are_ended() {
        let End::Exit { status, log } = shell("echo out; echo err >&2; exit 3", Duration::from_secs(20))
        else {
            panic!("it ends by itself")
        };
        assert_eq!((status.code(), log.as_str()), (Some(3), "out\nerr\n"));
        assert!(matches!(shell("kill -INT $$", Duration::from_secs(20)), End::Signal(2)));
        let begun = Instant::now();
        assert!(matches!(shell("exec sleep 30", Duration::from_millis(50)), End::TooLong));
        assert!(begun.elapsed() < FAREWELL, "{:?}", begun.elapsed());
        // One that is asked to end puts its files away; one that does not listen is ended all the same.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let (path, limit) = (file.display(), Duration::from_millis(300));
        let listens = format!("trap 'rm {path}; exit' TERM; touch {path}; while true; do sleep 0.01; done");
        assert!(matches!(shell(&listens, limit), End::TooLong) && !file.exists());
        let is_deaf = format!("trap '' TERM; touch {path}; while true; do sleep 0.01; done");
        assert!(matches!(shell(&is_deaf, limit), End::TooLong) && file.exists());
    }

    #[test]
    fn many_words_do_not_hold_a_program_up() {
        let End::Exit { status, log } = shell("head -c 3000000 /dev/zero", Duration::from_secs(20)) else {
            panic!("it ends by itself")
        };
        assert_eq!((status.code(), log.len()), (Some(0), MOST_WORDS as usize));
    }
}
