//! The loop of a thread that answers a queue's packets.

use crate::{Packet, Queue, QueueError};
use std::time::{Duration, Instant};

/// How long it waits for packets before it looks whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// How long packets are still taken out of a queue that gets no more.
const REST: Duration = Duration::from_millis(200);

/// Takes packets out of a queue, which `decide` answers, until the end is wanted; then closes it, and takes those that wait: with the queue they
/// would be dropped.
///
/// # Errors
/// Those of the queue, and of `decide`.
pub fn serve<E: From<QueueError>>(
    queue: &mut Queue,
    is_over: impl Fn() -> bool,
    mut decide: impl FnMut(&mut Queue, Packet) -> Result<(), E>,
) -> Result<(), E> {
    while !is_over() {
        if let Some(packet) = queue.next(NAP)? {
            decide(queue, packet)?;
        }
    }
    queue.close()?;
    let deadline = Instant::now() + REST;
    while let Some(packet) = queue.next(Duration::ZERO)? {
        decide(queue, packet)?;
        if Instant::now() > deadline {
            break;
        }
    }
    Ok(())
}
