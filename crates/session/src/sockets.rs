//! The sockets that handlers send frames to: one for each queue that the scripts have functions for, of each interface with XDP programs.

use crate::frames::Frames;
use crate::inbox::Inbox;
use crate::{Options, SessionError};
use moonhook_engine::Kernel;
use moonhook_hook::{Place, Point, XDP};
use moonhook_install::{InstallError, Interface, InterfaceName, RequestedMode, XskMode, XskSocket, netns};
use moonhook_records::Queue;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

#[derive(Default)]
pub struct Sockets {
    /// By their queues; readers have the sockets themselves.
    open: Vec<(Queue, OwnedFd)>,
}

impl Sockets {
    /// Makes the sockets that a program wants and that there are not yet, and has it find all of them. `frames` reads what comes.
    ///
    /// # Errors
    /// `Install` for a queue that there is not, or is not to be had; `NotPinned` for scripts that are to be pinned.
    pub fn connect(
        &mut self,
        kernel: &Kernel,
        options: &Options,
        frames: &mut Frames,
        inbox: &Arc<Inbox>,
    ) -> Result<(), SessionError> {
        let wanted = wanted(kernel, options)?;
        if options.pin && !wanted.is_empty() {
            return Err(InstallError::NotPinned.into());
        }
        let copies = options.mode == RequestedMode::Generic;
        let mode = XskMode { copies, frags: options.settings.frags };
        for (interface, number) in wanted {
            let queue = Queue { interface: interface.index, number };
            if !self.open.iter().any(|(known, _)| *known == queue) {
                let socket = XskSocket::open(&interface, number, mode, options.netns.as_deref())?;
                self.open.push((queue, socket.descriptor()?));
                frames.add_queue(queue, socket, inbox)?;
            }
            let known = self.open.iter().find(|(known, _)| *known == queue);
            known.map_or(Ok(()), |(_, socket)| {
                kernel.connect_socket(interface.index, number, socket.as_fd())
            })?;
        }
        Ok(())
    }

    /// Lets go of those that the program has no use for.
    pub fn keep(&mut self, kernel: &Kernel, options: &Options, frames: &mut Frames) {
        let wanted: Vec<Queue> = wanted(kernel, options)
            .unwrap_or_default()
            .into_iter()
            .map(|(interface, number)| Queue { interface: interface.index, number })
            .collect();
        self.open.retain(|(queue, _)| wanted.contains(queue));
        frames.keep_queues(|queue| wanted.contains(&queue));
    }
}

/// The queues of all interfaces with XDP programs. Of interfaces that are gone others tell.
fn wanted(kernel: &Kernel, options: &Options) -> Result<Vec<(Interface, u32)>, SessionError> {
    let receivers = kernel.receivers();
    let mut all = Vec::new();
    if receivers.is_empty() {
        return Ok(all);
    }
    for point in kernel.points().filter(|point| point.hook == &XDP) {
        let Some(name) = interface_of(point, options) else { continue };
        match netns::interface(&name, options.netns.as_deref()) {
            Ok(interface) => all.extend(receivers.iter().map(|number| (interface.clone(), *number))),
            Err(InstallError::UnknownInterface { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

fn interface_of(point: &Point, options: &Options) -> Option<InterfaceName> {
    match &point.place {
        Place::Named(name) => Some(InterfaceName::from(&**name)),
        _ => options.target().interface,
    }
}
