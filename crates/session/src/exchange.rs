//! One generation's programs in the place of another's, with what is pinned of them.

use crate::attachments::Attachments;
use crate::pins::{Pins, Record};
use crate::{Options, SessionError};
use moonhook_engine::Kernel;

/// What came of an exchange.
pub struct Exchanged {
    /// How long the present programs' replacement took, in microseconds.
    pub microseconds: u64,
    /// What could not be tidied up behind it: the new programs run all the same.
    pub complaint: Option<SessionError>,
}

/// Puts an object's programs in the place of those that are attached. With pins, what they have is pinned and noted before any
/// present program is replaced.
///
/// # Errors
/// What the kernel refuses, and where nothing can be pinned; the present programs stay, and what was noted of them is noted still.
pub fn exchange(
    attachments: &mut Attachments,
    kernel: &Kernel,
    options: &Options,
    pins: Option<&Pins>,
    record: impl FnOnce(&Attachments) -> Record,
) -> Result<Exchanged, SessionError> {
    let Some(pins) = pins else {
        let microseconds = attachments.update(kernel, options, |_| Ok(()))?;
        return Ok(Exchanged { microseconds, complaint: None });
    };
    let before = pins.record();
    let keep =
        |attachments: &Attachments| pins.keep(attachments.links(), &kernel.program, record(attachments));
    match attachments.update(kernel, options, keep) {
        Ok(microseconds) => Ok(Exchanged { microseconds, complaint: pins.tidy(attachments.links()).err() }),
        Err(error) => {
            // The error that counts is the first one.
            let _ = pins.restore(before).and_then(|()| pins.tidy(attachments.links()));
            Err(error)
        }
    }
}
