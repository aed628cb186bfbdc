//! Moonhook's own functions: those that Lua does not have.

pub mod bpf;
pub mod byteorder;
mod cgroup;
pub mod copies;
pub mod data;
pub mod dns;
pub mod eclat;
pub mod flow;
pub mod globals;
pub mod http;
mod ip;
pub mod kept;
mod linux;
mod mac;
mod matches;
mod netfilter;
mod rcu;
mod register;
mod signal;
mod socket;
mod tc;
mod timer;
mod trace;
mod updates;
mod xdp;
mod xsk;

pub use self::bpf::BPF;
pub use self::byteorder::BYTEORDER;
pub use self::cgroup::CGROUP;
pub use self::data::DATA;
pub use self::dns::{DNS, MESSAGE as DNS_MESSAGE};
pub use self::eclat::ECLAT;
pub use self::flow::FLOW;
pub use self::globals::GLOBALS;
pub use self::http::HTTP;
pub use self::ip::IP;
pub use self::linux::LINUX;
pub use self::mac::MAC;
pub use self::matches::MATCH;
pub use self::netfilter::NETFILTER;
pub use self::rcu::RCU;
pub use self::signal::SIGNAL;
pub use self::socket::SOCKET;
pub use self::tc::TC;
pub use self::timer::TIMER;
pub use self::trace::TRACE;
pub use self::updates::UPDATES;
pub use self::xdp::XDP;
pub use self::xsk::XSK;

/// How many bytes a function is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    B1 = 1,
    B2 = 2,
    B4 = 4,
    B8 = 8,
}
