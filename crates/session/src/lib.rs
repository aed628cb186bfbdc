//! A running script: attached, shown, asked, replaced and ended.
//!
//! A [`Session`] owns the program and its link, and never runs Lua: the Lua state has a thread of its own (`lua_thread.rs`). It waits for
//! what comes into its [`Inbox`]: the handlers' messages, which a thread takes out of the ring buffer, the requests of other processes,
//! which the socket's threads bring, and what control code has done. Where packets bring more than can be shown, the ring buffer
//! fills up and the kernel counts what is lost. What happens is told to an [`Audience`].
//!
//! A session borrows nothing: a process can have many, each on a thread of its own.

mod announce;
mod attachments;
mod audience;
mod c_values;
mod changes;
mod content;
mod control_code;
mod dump;
mod error;
mod exchange;
mod forwarding;
mod frames;
mod generation;
mod inbox;
mod inherit;
mod installed;
mod interfaces;
mod lists;
mod lua_thread;
mod making;
mod marks;
mod object_maps;
mod object_tables;
mod options;
mod peers;
mod pin_files;
mod pins;
mod queues;
mod remote_flows;
mod remote_tables;
mod replacing;
mod report;
mod service;
mod session;
mod sockets;
mod start;
mod starting;
pub mod threads;
mod watcher;

pub use announce::{form, message_json, refused_json, reloaded_json, replaced_json};
pub use attachments::Attachments;
pub use audience::{Attached, Audience};
pub use error::SessionError;
pub use inbox::Inbox;
pub use lua_thread::GRACE;
pub use marks::warning_of_marks;
pub use object_maps::ObjectMap;
pub use options::{Busy, Options};
pub use pins::Pins;
pub use report::{JsonError, described};
pub use session::Session;
