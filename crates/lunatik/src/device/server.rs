//! The thread of a device: takes the kernel's requests, answers what no script decides, and hands on the rest. It never waits for a script.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::SystemTime;

use nix::errno::Errno;
use nix::poll::PollFlags;

use super::calls::Calls;
use super::protocol::{self, Attributes, Changed, Operation, Place, ROOM, Request};
use super::{Ask, Job, Wanted};
use crate::wait::wait;

pub(super) struct Server {
    calls: Arc<Calls>,
    name: String,
    attributes: Attributes,
    ask: Ask,
}

impl Server {
    pub fn new(calls: Arc<Calls>, name: String, mode: u32, ask: Ask) -> Server {
        let made = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
        Server { calls, name, attributes: Attributes { mode: mode & 0o7777, user: 0, group: 0, made }, ask }
    }

    /// Until the device is nowhere mounted and nobody has it open any more.
    pub fn run(mut self) {
        let mut room = vec![0; ROOM];
        let calls = Arc::clone(&self.calls);
        loop {
            let next = calls.end_overdue();
            wait(Some((calls.fuse.as_fd(), PollFlags::POLLIN)), Some(&calls.changed), next);
            match nix::unistd::read(&calls.fuse, &mut room) {
                Ok(length) => {
                    if let Some(request) = room.get(..length).and_then(Request::parse) {
                        self.take(&request);
                    }
                }
                // ENOENT: who has asked has been killed meanwhile (fuse(4)).
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOENT) => {}
                Err(_) => {
                    calls.stop();
                    return self.end();
                }
            }
        }
    }

    /// What is done for nobody is ended in time.
    fn end(&self) {
        while let Some(time) = self.calls.end_overdue() {
            std::thread::sleep(time);
        }
    }

    fn take(&mut self, request: &Request) {
        let unique = request.unique;
        let (place, wanted) = match &request.operation {
            Operation::Nothing => return,
            Operation::Interrupt(interrupted) => return self.calls.interrupt(*interrupted),
            Operation::Begin => return self.answer(unique, &protocol::begun()),
            Operation::Space => return self.answer(unique, &protocol::space()),
            Operation::Attributes => return self.answer(unique, &self.attributes.body()),
            Operation::SetAttributes(changed) => {
                self.change(*changed);
                return self.answer(unique, &self.attributes.body());
            }
            Operation::Control => return self.refuse(unique, Errno::ENOTTY),
            Operation::Other => return self.refuse(unique, Errno::ENOSYS),
            Operation::Open => (Place::default(), Wanted::Open),
            Operation::Read { place, length } => (*place, Wanted::Read { length: *length, offset: 0 }),
            Operation::Write { place, bytes } => (*place, Wanted::Write { bytes: bytes.to_vec(), offset: 0 }),
            Operation::Release { handle } => {
                self.calls.release(*handle);
                (Place::default(), Wanted::Release)
            }
        };
        match self.calls.begin(unique, &self.name) {
            Ok(()) => {
                let calls = Arc::clone(&self.calls);
                (self.ask)(Job { calls, unique, place, wanted: Some(wanted) });
            }
            Err(error) => self.refuse(unique, error),
        }
    }

    fn change(&mut self, changed: Changed) {
        let attributes = &mut self.attributes;
        attributes.mode = changed.mode.unwrap_or(attributes.mode);
        attributes.user = changed.user.unwrap_or(attributes.user);
        attributes.group = changed.group.unwrap_or(attributes.group);
    }

    fn answer(&self, unique: u64, body: &[u8]) {
        self.calls.write(&protocol::answer(unique, body));
    }

    fn refuse(&self, unique: u64, error: Errno) {
        self.calls.write(&protocol::refusal(unique, error));
    }
}
