//! Tables that are dumped page by page.

use moonhook_control::Traversal;

/// A dump that goes on when it is asked for.
pub struct OpenDump {
    pub id: u64,
    pub table: String,
    pub traversal: Traversal,
}
