//! What programs in the kernel tell: the records of events that they put into the ring buffer, and what they count.

mod conversion;
mod counters;
mod decoder;
mod notice;
mod raised;
mod reader;

pub use counters::{Counters, Site, VerdictCount};
pub use decoder::{Decoder, EVENTS_OF_FUNCTION};
pub use notice::Notice;
pub use raised::Raised;
pub use reader::RecordError;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A line that a handler printed.
    Print(Text),
    Error(Failure),
    Event(Notice),
    /// A frame that a filter of a socket has kept, or that a handler has sent to one.
    Frame(Frame),
}

/// A frame that somebody wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// From the Ethernet header on.
    pub bytes: Vec<u8>,
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Of a frame that a handler has sent to a socket: the queue by which it came in.
    pub queue: Option<Queue>,
}

/// A queue of an interface, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub interface: u32,
    pub number: u32,
}

/// A run-time error of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// With the `file:line: ` that Lua puts in front.
    pub message: Text,
    /// The active calls, innermost first.
    pub traceback: Vec<String>,
}

/// Text that may have lost parts that did not fit into the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// An ellipsis stands where something was cut out.
    pub bytes: Vec<u8>,
    /// Where the first ellipsis is.
    pub cut: Option<usize>,
}

impl Text {
    pub fn whole(bytes: Vec<u8>) -> Text {
        Text { bytes, cut: None }
    }

    /// Whether this can be `full`, as far as it is there.
    pub fn agrees_with(&self, full: &[u8]) -> bool {
        match self.cut {
            None => self.bytes == full,
            Some(cut) => full.starts_with(&self.bytes[..cut]),
        }
    }

    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
