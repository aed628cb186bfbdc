//! Stubs ([`moonhook_specialise::stubs`]), called one by one in the kernel: every field of every protocol against the
//! user tier's opinion, the methods of packets against what `docs/packet.md` says, and event records against their decoder.

mod events;
mod fields;
mod harness;
mod methods;
