//! Where `redirect{…}` sends packets, and what is wrong with what a script says of that.

/// What stands in [`Hook::forwards`](crate::Hook::forwards) for targets that are entries of maps (`bpf_redirect_map`).
pub const TO_MAP: &str = "redirect{}";

/// Room in the queue of a CPU for frames that are on their way there, where the script does not say.
pub const QUEUE: u32 = 2048;
/// The most that the kernel takes (`cpu_map_update_elem`, kernel/bpf/cpumap.c).
pub const MOST_QUEUED: u32 = 16_384;
/// Numbers of CPUs are below that.
pub const CPUS: u32 = 1 << 16;
/// Numbers of queues are below that.
pub const QUEUES: u32 = 1 << 16;

/// The hook has no verdict that sends packets elsewhere.
pub const NOWHERE: &str = "packets cannot be redirected at this hook";
/// The hook cannot ask where the kernel would send a packet.
pub const NO_ROUTES: &str = "packets cannot be routed at this hook";
/// The table has none of the fields that are targets, several, or others.
pub const NO_TARGET: &str = "bad target (one of 'cpu', 'group' and 'socket' expected)";
pub const NO_CPU: &str = "bad field 'cpu' (number of a CPU expected)";
pub const NO_QUEUE: &str = "bad field 'queue' (integer from 1 to 16384 expected)";
pub const NO_GROUP: &str = "bad field 'group' (list of interfaces expected)";
pub const NO_SOCKET: &str = "bad field 'socket' (number of a queue expected)";

/// Hooks that can redirect packets, but have no [`TO_MAP`].
pub const NO_CPU_HERE: &str = "only xdp sends packets to a CPU (elsewhere the interface's rps_cpus does)";
pub const NO_GROUP_HERE: &str = "only xdp sends packets to a group (at tc, call tc.clone for each interface)";
pub const NO_SOCKET_HERE: &str = "only xdp sends packets to a socket (elsewhere, socket.filter gets copies)";

/// A queue that no function of the script is there for, with the queue's number behind it.
pub const NO_RECEIVER: &str = "xsk.receive has no function for queue ";
/// A frame of another queue than the socket's, with that one's number behind it.
pub const OTHER_QUEUE: &str = "the frame is not of queue ";
