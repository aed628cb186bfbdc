//! Tables that are dumped page by page.

use crate::object_tables::Walk;
use moonhook_control::Traversal;

/// A dump that goes on when it is asked for.
pub struct OpenDump {
    pub id: u64,
    pub table: String,
    pub traversal: Traversal,
    /// The same of a map of a C object.
    pub walk: Walk,
}
