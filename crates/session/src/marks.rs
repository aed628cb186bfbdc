//! Marks of connections, which packets in queues come without where the kernel is built so.

use moonhook_diagnostic::Diagnostic;
use moonhook_load::QueuedPlace;

/// What a person should know of handlers that run in this process and use the marks of connections, on a kernel that does not tell them.
pub fn warning_of_marks(places: &[QueuedPlace]) -> Option<Diagnostic> {
    let place = places.iter().find_map(|place| place.connection_mark.clone())?;
    match moonhook_install::queues_have_connections() {
        Some(false) => Some(without_marks().at(place)),
        _ => None,
    }
}

fn without_marks() -> Diagnostic {
    Diagnostic::new("MH1104", "this kernel has no marks of connections for handlers in the process")
        .reason("nil, and what is set is lost")
        .help("use a kernel with CONFIG_NETFILTER_NETLINK_GLUE_CT, or have the handler run in the kernel: `--at tcx`")
}
