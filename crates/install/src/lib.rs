//! Install: ELF object bytes to maps, programs and links in the running kernel.
//!
//! Reads an eBPF object as `emit` (or clang) makes it; knows nothing of Lua. [`load`] gives a [`Program`], whose programs
//! can be run on single frames ([`Program::test_run`]), attached ([`Program::attach`]) and looked into (maps, data
//! sections, events). [`probe`] finds out, by trying, what the host can do.
//!
//! Guarantees: whatever was loaded or attached is owned by a value of this crate and goes when the value is dropped or
//! the process dies, however it dies, unless it was pinned; a failure leaves nothing behind; libbpf writes nothing to stderr.

mod arena;
mod clock;
mod diagnostic;
mod error;
mod events;
mod flow;
mod holder;
mod instructions;
mod interface;
mod interface_watch;
mod link;
mod log;
mod map;
mod map_reader;
mod messages;
pub mod netns;
mod patience;
mod peer;
mod pin;
mod privilege;
mod probe;
mod program;
mod raw;
mod reuse;
mod section;
mod sender;
mod statistics;
mod sys;
mod table;
mod targets;
mod test_run;
pub mod tracing;
mod verifier_log;
mod xsk;

pub use arena::ArenaSection;
pub use clock::seconds_ahead;
pub use error::{Holder, InstallError, Rejection};
pub use events::Events;
pub use flow::{ProgramArray, SharedArray};
pub use interface::{Interface, InterfaceName};
pub use interface_watch::InterfaceWatch;
pub use link::{
    Cgroup, FrameSource, Frames, KeptFrame, Link, Mode, Neighbour, Netfilter, RequestedMode, Site, Target,
    remove_unruled,
};
pub use map::{DataSection, MapInfo};
pub use map_reader::{MapReader, MapValue};
pub use peer::{Peer, Sent, is_lost, sends_partial_checksums};
pub use pin::{PinnedMap, create_pin_folder, section_bytes, unpin};
pub use privilege::{Capability, effective_capabilities};
pub use probe::{
    Feature, Host, Need, Outcome, kernel_version, probe, queues_have_connections, without_marks,
};
pub use program::{LoadOptions, LogDetail, Program, load, load_with_maps};
pub use raw::{NewMap, RawProgram, load_btf, load_raw, make_map};
pub use section::Section;
pub use sender::FrameSender;
pub use statistics::ProgramStatistics;
pub use table::{Batch, Cursor, TableMap};
pub use targets::online_cpus;
pub use test_run::{FRAME_MIN, TestRun, frame_max, frame_max_linear};
pub use verifier_log::VerifiedFunction;
pub use xsk::{XskMode, XskSocket};
