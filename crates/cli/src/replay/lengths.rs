//! A first look at a capture: whether it has frames that do not fit into one buffer.

use moonhook_capture::Capture;
use moonhook_install::{frame_max, frame_max_linear};

/// Whether one of the first `limit` frames is among those that the kernel runs, but not from one buffer. An error of the
/// capture is for whoever reads it again.
pub fn needs_several_buffers(capture: Capture, limit: Option<u64>) -> bool {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let scattered = frame_max_linear() + 1..=frame_max();
    capture.flatten().take(limit).any(|frame| scattered.contains(&frame.data.len()))
}
