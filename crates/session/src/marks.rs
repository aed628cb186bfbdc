//! Marks of connections, which packets in queues come without where the kernel is built so.

use moonhook_diagnostic::Diagnostic;
use moonhook_load::QueuedPlace;

/// What a person should know of handlers that run in this process and use the marks of connections, on a kernel that does not tell them.
pub fn warning_of_marks(places: &[QueuedPlace]) -> Option<Diagnostic> {
    let place = places.iter().find_map(|place| place.connection_mark.clone())?;
    match moonhook_install::queues_have_connections() {
        Some(false) => Some(moonhook_install::without_marks().at(place)),
        _ => None,
    }
}
