//! Updates, and the datagrams that they are sent in.

use crate::datagram::{Common, MOST_BYTES, MOST_PARTS};
use crate::keys::SecretKey;

/// What is to be done with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    Set = 1,
    Delete = 2,
}

impl Operation {
    pub(crate) fn numbered(number: u8) -> Option<Operation> {
        [Operation::Set, Operation::Delete].into_iter().find(|operation| *operation as u8 == number)
    }
}

/// A function for a flow, or that it is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub operation: Operation,
    /// Greater than those of earlier updates of the same sender: microseconds since 1970.
    pub sequence: u64,
    /// Who is to take it; empty for whoever gets it.
    pub receiver: String,
    /// The flow table's name; empty for the script's only one.
    pub table: String,
    /// The flow's key as text.
    pub key: String,
    /// What `flow.set` takes; empty where the flow is to go.
    pub text: String,
}

/// Why an update cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    #[error("{what} has {bytes} bytes, and {most} are possible")]
    TooLong { what: &'static str, bytes: usize, most: usize },
}

/// Names and keys have so many bytes at most; there is room for text beside them.
const MOST_NAME: usize = 255;

impl Update {
    /// The datagrams to send, each of [`MOST_BYTES`] bytes at most.
    ///
    /// # Errors
    /// `TooLong`.
    pub fn datagrams(&self, by: &SecretKey) -> Result<Vec<Vec<u8>>, UpdateError> {
        let names = [
            ("the receiver's name", &self.receiver),
            ("the table's name", &self.table),
            ("the flow's key", &self.key),
        ];
        for (what, name) in names {
            if name.len() > MOST_NAME {
                return Err(UpdateError::TooLong { what, bytes: name.len(), most: MOST_NAME });
            }
        }
        let Update { operation, sequence, receiver, table, key, text } = self;
        let common = Common { operation: *operation, sequence: *sequence, receiver, table, key };
        let room = MOST_BYTES - common.overhead();
        let most = room * MOST_PARTS;
        if text.len() > most {
            return Err(UpdateError::TooLong { what: "the text", bytes: text.len(), most });
        }
        let chunks: Vec<&[u8]> =
            if text.is_empty() { vec![&[]] } else { text.as_bytes().chunks(room).collect() };
        let parts = chunks.len() as u8;
        let part = |(number, text): (usize, &&[u8])| common.part((number as u8, parts), text, by);
        Ok(chunks.iter().enumerate().map(part).collect())
    }
}
