//! Other programs, which run for a limited time: who gives up waiting ends them. If this process is killed, they run on.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
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

/// What it has for putting away its files, once it is asked to end, and what others have that write to its outputs behind its end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Bytes of a program's words that are kept.
const MOST_WORDS: usize = 1 << 20;

/// Runs a program, without input.
///
/// # Errors
/// It cannot be begun.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<End> {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running { child: begun(command)?, has_ended: false };
    let _listed = Listed::new(running.child.id());
    let (out, err) = (Reader::of(running.child.stdout.take()), Reader::of(running.child.stderr.take()));
    let Some(status) = running.wait_until(deadline)? else { return Ok(End::TooLong) };
    if let Some(signal) = status.signal() {
        return Ok(End::Signal(signal));
    }
    let end = Instant::now() + FAREWELL;
    let words = [out.words(end), err.words(end)].concat();
    Ok(End::Exit { status, log: String::from_utf8_lossy(&words).into_owned() })
}

/// What has come out of a pipe, which is emptied so that its writer is never held up.
struct Reader {
    words: Arc<Mutex<Vec<u8>>>,
    /// Ends with the pipe.
    reading: Receiver<()>,
}

impl Reader {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Reader {
        let words = Arc::new(Mutex::new(Vec::new()));
        let (end, reading) = mpsc::channel();
        let written = Arc::clone(&words);
        thread::spawn(move || {
            let _end: Sender<()> = end;
            let Some(mut pipe) = pipe else { return };
            let mut part = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut part) {
                let mut words = written.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = count.min(MOST_WORDS.saturating_sub(words.len()));
                words.extend_from_slice(&part[..kept]);
            }
        });
        Reader { words, reading }
    }

    /// The words up to the end of the pipe, or up to that moment: what a program has begun itself may have the pipe, too, and go on.
    fn words(self, deadline: Instant) -> Vec<u8> {
        let _ = self.reading.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        std::mem::take(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
    use std::path::Path;

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
        assert!(matches!(shell("exec sleep 600", Duration::from_millis(50)), End::TooLong));
        assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    }

    /// Runs a script until it takes too long; with more time, if it had none to make this file.
    fn too_long(script: &str, file: &Path) {
        for limit in [300, 3_000, 30_000] {
            assert!(matches!(shell(script, Duration::from_millis(limit)), End::TooLong), "{script}");
            if file.exists() {
                return;
            }
        }
        panic!("{script}: it does not begin");
    }

    #[test]
    fn programs_that_are_asked_to_end_put_their_files_away() {
        let folder = tempfile::tempdir().unwrap();
        let [file, begun] = ["file", "begun"].map(|name| folder.path().join(name));
        let (path, ready) = (file.display(), begun.display());
        let wait = "while true; do sleep 0.01; done";
        too_long(&format!("trap 'rm {path}; exit' TERM; touch {path} {ready}; {wait}"), &begun);
        assert!(!file.exists());
        // One that does not listen is ended all the same.
        std::fs::remove_file(&begun).unwrap();
        too_long(&format!("trap '' TERM; touch {path} {ready}; {wait}"), &begun);
        assert!(file.exists());
    }

    #[test]
    fn programs_that_others_have_begun_are_not_waited_for() {
        let begun = Instant::now();
        let End::Exit { status, log } = shell("sleep 600 & echo $!", Duration::from_secs(20)) else {
            panic!("it ends by itself")
        };
        let other = log.trim().parse().expect("a number");
        kill(Pid::from_raw(other), Signal::SIGKILL).expect("it goes on");
        assert!(status.success() && begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    }

    #[test]
    fn many_words_do_not_hold_a_program_up() {
        let End::Exit { status, log } = shell("head -c 3000000 /dev/zero", Duration::from_secs(20)) else {
            panic!("it ends by itself")
        };
        assert_eq!((status.code(), log.len()), (Some(0), MOST_WORDS));
    }
}
