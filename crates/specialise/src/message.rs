//! The texts of errors.

use moonhook_ir::Piece;

/// The text of an error, as far as it is known before packets arrive.
#[derive(Clone, Debug)]
pub struct Message {
    pub pieces: Vec<Piece>,
    /// Whether the script's position stands before it, as Lua's own errors have it.
    pub positioned: bool,
}

impl Message {
    /// An error as Lua words it, with the position of the current line.
    pub fn new(text: impl AsRef<[u8]>) -> Message {
        Message { pieces: vec![Piece::Text(text.as_ref().to_vec())], positioned: true }
    }

    /// An error of Moonhook's own, without position.
    pub fn bare(text: impl AsRef<[u8]>) -> Message {
        Message { positioned: false, ..Message::new(text) }
    }
}
