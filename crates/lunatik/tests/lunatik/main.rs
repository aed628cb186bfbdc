//! Lunatik's modules for processes, as scripts have them.

mod counters;
mod devices;
mod endings;
mod modules;
mod netlink;
mod place;
mod probes;
