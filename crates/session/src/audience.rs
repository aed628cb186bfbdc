//! Who is told what happens to a running script.

use crate::SessionError;
use crate::attachments::Attachments;
use crate::inherit::Inheritance;
use crate::object_maps::ObjectMap;
use moonhook_daemon::{Name, Reloaded};
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::Choice;
use moonhook_install::{Peer, Program, RequestedMode};
use moonhook_load::{ForwardingPlace, MovedPlace, QueuedPlace};
use moonhook_records::{Counters, Message};
use std::path::PathBuf;

/// Where a program has just been put.
pub struct Attached<'a> {
    pub name: &'a Name,
    pub attachments: &'a Attachments,
    /// The other ends of interfaces that a program was asked for.
    pub peers: &'a [Peer],
    /// Where packets are handed to this process.
    pub queued: &'a [QueuedPlace],
    /// Places of netfilter whose handlers run at tc.
    pub moved: &'a [MovedPlace],
    /// Places of netfilter whose handlers forward copies of packets, in the kernel: this process sends them.
    pub forwarding: &'a [ForwardingPlace],
    pub requested: RequestedMode,
    pub scripts: &'a [PathBuf],
    pub choice: &'a Choice,
    /// What a person should know of the scripts, which run all the same.
    pub warnings: &'a [Diagnostic],
    /// What the program took over, if it is in the place of one that was pinned.
    pub taken_over: Option<&'a Inheritance>,
}

/// Who is told. Nothing here may wait: the session has other things to do. An error ends the session.
pub trait Audience: Send {
    /// These programs, with these maps of C objects, are the present ones from now on; the first ones are about to be attached.
    fn installed(&mut self, _program: &Program, _objects: &[ObjectMap]) -> Result<(), SessionError> {
        Ok(())
    }
    /// The scripts have run, and nothing is left to be done: they have no handlers.
    fn over(&mut self, _scripts: &[PathBuf]) -> Result<(), SessionError> {
        Ok(())
    }
    fn attached(&mut self, attached: &Attached<'_>) -> Result<(), SessionError>;
    fn message(&mut self, message: &Message) -> Result<(), SessionError>;
    /// Counts up to now; `last`: there will be no others.
    fn counters(&mut self, counters: &Counters, last: bool) -> Result<(), SessionError>;
    /// The program was replaced.
    fn reloaded(&mut self, reloaded: &Reloaded) -> Result<(), SessionError>;
    /// A table has another content, of so many entries.
    fn replaced(&mut self, table: &str, entries: u64) -> Result<(), SessionError>;
    /// Why a changed script is not run.
    fn refused(&mut self, error: &SessionError) -> Result<(), SessionError>;
    /// The program goes on without the process.
    fn left(&mut self, name: &Name) -> Result<(), SessionError>;
    /// Nothing more is to be said for the moment.
    fn flush(&mut self) -> Result<(), SessionError>;
    /// Whether messages should come, or wait where they are.
    fn has_room(&self) -> bool;
    /// Waits, at the end, until all has been taken note of, as long as that goes on.
    fn finish(&mut self) -> Result<(), SessionError>;
}
