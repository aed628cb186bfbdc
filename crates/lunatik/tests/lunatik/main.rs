//! Lunatik's modules for processes, as scripts have them.

mod bounds;
mod counters;
mod devices;
mod endings;
mod finalizers;
mod modules;
mod netlink;
mod place;
mod probes;
