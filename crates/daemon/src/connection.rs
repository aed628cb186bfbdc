//! One client's connection, on a thread of its own.

use crate::protocol::{self, AnswerLine};
use crate::request_line::{Line, Lines};
use crate::server::{Activity, Shared};
use crate::{Answer, ClientId, DaemonError, Delivery, MAX_REQUEST, Pending, Reply, Request, Subscription};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{MsgFlags, getsockopt, recv};
use nix::unistd::geteuid;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How long a client may take to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often somebody who waits looks whether there is still something to wait for.
const LOOK: Duration = Duration::from_millis(200);
/// Events that are written at once, at most.
const BATCH: usize = 256;

/// Answers the requests of one client until it goes, or is sent away. A connection that fails ends, and nothing else.
pub fn serve(stream: &UnixStream, shared: &Shared, id: u64) {
    let _ = stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let _ = requests(stream, shared, id);
}

/// Says why a client is not served.
pub fn refuse(stream: &UnixStream, error: DaemonError) {
    let _ = write_answer(stream, Err(error.into()));
}

fn requests(stream: &UnixStream, shared: &Shared, id: u64) -> io::Result<()> {
    if let Err(error) = allowed(stream) {
        return write_answer(stream, Err(error.into()));
    }
    let mut lines = Lines::new(stream, MAX_REQUEST);
    loop {
        shared.mark(id, Activity::Idle);
        let parsed = match lines.next()? {
            Line::End => return Ok(()),
            Line::Whole(line) => protocol::parse(&line),
            Line::TooLong => {
                let problem = format!("it has more than {MAX_REQUEST} bytes");
                Err(DaemonError::Request { problem })
            }
        };
        shared.mark(id, Activity::Busy);
        match parsed {
            Ok(Request::Events) => return watch(stream, shared, id),
            Ok(request) => write_answer(stream, answer(request, shared, ClientId(id)))?,
            Err(error) => write_answer(stream, Err(error.into()))?,
        }
    }
}

/// Root and the server's own user are answered (unix(7), `SO_PEERCRED`).
fn allowed(stream: &UnixStream) -> Result<(), DaemonError> {
    let uid = getsockopt(stream, PeerCredentials).map_or(u32::MAX, |credentials| credentials.uid());
    if uid == 0 || uid == geteuid().as_raw() { Ok(()) } else { Err(DaemonError::NotAllowed { uid }) }
}

fn answer(request: Request, shared: &Shared, client: ClientId) -> Answer {
    let (sender, answer) = sync_channel(1);
    // A client that has gone meanwhile needs no answer; the room in the channel is for this one.
    let reply = Reply::new(move |answer| drop(sender.try_send(answer)));
    shared.deliver(Delivery::Request(Pending { client, request, reply }));
    let unanswered = || DaemonError::Unavailable { what: "an answer of a script that is ending".to_string() };
    loop {
        match answer.recv_timeout(LOOK) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if !shared.is_ending() => {}
            Err(_) => return Err(unanswered().into()),
        }
    }
}

fn write_answer(mut stream: &UnixStream, answer: Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(&AnswerLine::from(answer))?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Sends events until the client or the script has gone.
fn watch(stream: &UnixStream, shared: &Shared, id: u64) -> io::Result<()> {
    if !shared.mark(id, Activity::Watching) {
        return write_answer(stream, Err(DaemonError::Crowded.into()));
    }
    let subscription = shared.publisher().subscribe();
    write_answer(stream, Ok(serde_json::Value::Null))?;
    // A reader that has stopped to read keeps its connection, and loses events.
    stream.set_write_timeout(None)?;
    loop {
        match subscription.next(LOOK) {
            Ok(first) => write_events(stream, &subscription, &first)?,
            Err(RecvTimeoutError::Timeout) if has_gone(stream) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn write_events(mut stream: &UnixStream, subscription: &Subscription, first: &str) -> io::Result<()> {
    let mut text = String::new();
    let lost = subscription.take_lost();
    if lost > 0 {
        text.push_str(&format!("{{\"type\":\"lost\",\"count\":{lost}}}\n"));
    }
    text.push_str(first);
    text.push('\n');
    for _ in 1..BATCH {
        let Ok(event) = subscription.next(Duration::ZERO) else { break };
        text.push_str(&event);
        text.push('\n');
    }
    stream.write_all(text.as_bytes())
}

/// Whether the client has closed its end. What it sends is no concern of a watcher's.
fn has_gone(stream: &UnixStream) -> bool {
    let mut byte = [0];
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    matches!(recv(stream.as_raw_fd(), &mut byte, flags), Ok(0))
}
