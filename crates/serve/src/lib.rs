//! A service that holds many running scripts, and is reached by gRPC.
//!
//! Reads what a person has chosen ([`Config`]) and what clients call: the service `Eclat`, which clients of eCLAT's own daemon know, and
//! `moonhook.v1.Moonhook` (`proto/`). Each script is a session on a thread of its own; the service's threads ask it by its inbox and wait for
//! no Lua code and for no lock that is held while the kernel works, and for nothing without a limit of time (`limits.rs`). Nothing here
//! runs Lua, or knows BPF instructions or terminals.
//!
//! Guarantees: loading a script is all or nothing; what a client sends, or fails to send or to read, holds up nobody else; at the end nothing
//! is attached or pinned that was not meant to stay.

mod activation;
mod activity;
mod calls;
mod client;
mod config;
mod connections;
mod convert;
mod eclat_service;
mod error;
mod events;
mod limits;
mod listener;
mod maps;
mod pinned;
mod privileges;
pub mod proto;
mod recorder;
mod register;
mod running;
mod scripts;
mod server;
mod service;
mod shown;
mod spec;
mod spool;
mod status;
mod token;

pub use client::{Client, Following};
pub use config::{Config, Log};
pub use error::ServeError;
pub use server::Bound;
