//! `notifier`: what becomes of interfaces (Lunatik's `lib/luanotifier.c`, the kernel's chain `netdev_chain`), as rtnetlink(7) tells it.
//!
//! Events that rtnetlink has nothing about do not come: those before something happens, and vetoes have no effect.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use mlua::{Function, IntoLuaMulti, Lua, Table, Value};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc;
use nix::poll::PollFlags;

use crate::arguments::{Counts, Raise, add, protected};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::state::{Local, text};
use crate::system;
use crate::wait::{Event, Waited, wait};

pub(crate) const MODULE: Module = Module { name: "notifier", open, shared: None };

/// Numbers of events (`enum netdev_cmd`, include/linux/netdevice.h).
const UP: i64 = 1;
const DOWN: i64 = 2;
const CHANGE: i64 = 4;
const REGISTER: i64 = 5;
const UNREGISTER: i64 = 6;
const CHANGEMTU: i64 = 7;
const CHANGEADDR: i64 = 8;
const GOING_DOWN: i64 = 10;
const CHANGENAME: i64 = 11;

/// A callback of a script. Dropped, nothing is told any more.
pub(crate) struct Notifier {
    callback: u64,
    over: Arc<Event>,
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.over.set();
    }
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let own = Arc::clone(host);
    add(lua, &module, "netdevice", move |lua, arguments| {
        let callback = arguments.function(1)?;
        let failed = |_| Raise::At("couldn't create notifier".to_string());
        let over = Arc::new(Event::lasting().map_err(failed)?);
        let mut links = Links::new().map_err(failed)?;
        for (event, name) in links.first().map_err(failed)? {
            call(lua, &own, &callback, (event, &name));
        }
        let local = Local::of(lua);
        let caller = local.caller().ok_or_else(|| failed(nix::errno::Errno::ENXIO))?;
        let number = local.keep(Value::Function(callback));
        let (ended, host) = (Arc::clone(&over), Arc::clone(&own));
        let follow = move || {
            links.follow(&ended, |event, name| {
                let (host, name) = (Arc::clone(&host), name.to_string());
                caller(Box::new(move |lua| {
                    if let Some(Value::Function(callback)) = Local::of(lua).kept(number) {
                        call(lua, &host, &callback, (event, &name));
                    }
                }))
            });
        };
        let thread = std::thread::Builder::new().name("notifier".to_string()).spawn(follow);
        if thread.is_err() {
            local.forget(number);
            return Err(Raise::At("couldn't create notifier".to_string()));
        }
        let notifier = Arc::new(Notifier { callback: number, over });
        // It goes on when the script has let go of it.
        local.hold(Arc::clone(&notifier) as Arc<_>);
        Ok(Object(notifier))
    })?;
    Ok(module)
}

/// Calls a script's function, whose errors are told.
fn call(lua: &Lua, host: &Host, callback: &Function, event: (i64, &str)) {
    let outcome = event.into_lua_multi(lua).and_then(|arguments| protected(lua, callback, arguments));
    match outcome {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => host.warn(&text(&error)),
        Err(error) => host.warn(&error.to_string()),
    }
}

/// What is known of an interface.
#[derive(Clone, Default, PartialEq, Eq)]
struct Link {
    name: String,
    is_up: bool,
    flags: u32,
    mtu: u32,
    address: Vec<u8>,
}

/// Interfaces as rtnetlink tells of them.
struct Links {
    socket: OwnedFd,
    known: BTreeMap<u32, Link>,
}

/// A datagram of rtnetlink has no more.
const ROOM: usize = 1 << 16;

impl Links {
    fn new() -> nix::Result<Links> {
        let socket = system::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        let mut address = (libc::AF_NETLINK as u16).to_ne_bytes().to_vec();
        address.extend([0; 6]);
        address.extend((libc::RTMGRP_LINK as u32).to_ne_bytes());
        system::bind(socket.as_fd(), &address)?;
        Ok(Links { socket, known: BTreeMap::new() })
    }

    /// What there is, as events: each interface is registered, and up if it is.
    fn first(&mut self) -> nix::Result<Vec<(i64, String)>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let asked = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(asked));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        system::send(self.socket.as_fd(), &bytes, None)?;
        let mut events = Vec::new();
        while !self.take(None, &mut |event, name| events.push((event, name.to_string())))? {}
        Ok(events)
    }

    /// Tells what happens until `over` is set or nobody listens.
    fn follow(&mut self, over: &Event, tell: impl Fn(i64, &str) -> bool) {
        loop {
            let mut is_heard = true;
            let taken = self.take(Some(over), &mut |event, name| is_heard &= tell(event, name));
            // A queue that ran over has lost events; those that come are told.
            let goes_on = matches!(taken, Ok(false) | Err(nix::errno::Errno::ENOBUFS));
            if !is_heard || !goes_on {
                return;
            }
        }
    }

    /// Takes a datagram; says whether it was the last one, or `over` is set.
    fn take(&mut self, over: Option<&Event>, tell: &mut dyn FnMut(i64, &str)) -> nix::Result<bool> {
        if wait(Some((self.socket.as_fd(), PollFlags::POLLIN)), over, None) == Waited::Stopped {
            return Ok(true);
        }
        let mut buffer = vec![0; ROOM];
        let (length, _) = match system::receive(self.socket.as_fd(), &mut buffer, 0) {
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => return Ok(false),
            received => received?,
        };
        let mut rest = &buffer[..length];
        while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(over.is_none()),
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    self.new_link(&link, tell)
                }
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(link)) => self.gone(&link, tell),
                _ => {}
            }
            let length = (message.header.length as usize).next_multiple_of(4);
            match rest.get(length..) {
                Some(more) if length > 0 && !more.is_empty() => rest = more,
                _ => break,
            }
        }
        Ok(false)
    }

    fn new_link(&mut self, message: &LinkMessage, tell: &mut dyn FnMut(i64, &str)) {
        // Bridges tell of their ports by messages of their own.
        if message.header.interface_family != AddressFamily::Unspec {
            return;
        }
        let is_up = message.header.flags.contains(LinkFlags::Up);
        let mut link = Link { is_up, flags: message.header.flags.bits(), ..Link::default() };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Address(address) => link.address.clone_from(address),
                _ => {}
            }
        }
        let name = link.name.clone();
        let before = self.known.insert(message.header.index, link.clone());
        let events: Vec<(bool, i64)> = match before {
            None => vec![(true, REGISTER), (link.is_up, UP)],
            Some(before) => vec![
                (before.name != link.name, CHANGENAME),
                (before.mtu != link.mtu, CHANGEMTU),
                (before.address != link.address, CHANGEADDR),
                (!before.is_up && link.is_up, UP),
                (before.is_up && !link.is_up, GOING_DOWN),
                (before.is_up && !link.is_up, DOWN),
                (before.is_up == link.is_up && before.flags != link.flags, CHANGE),
            ],
        };
        events.iter().filter(|(happened, _)| *happened).for_each(|(_, event)| tell(*event, &name));
    }

    fn gone(&mut self, message: &LinkMessage, tell: &mut dyn FnMut(i64, &str)) {
        if message.header.interface_family != AddressFamily::Unspec {
            return;
        }
        let Some(link) = self.known.remove(&message.header.index) else { return };
        if link.is_up {
            tell(GOING_DOWN, &link.name);
            tell(DOWN, &link.name);
        }
        tell(UNREGISTER, &link.name);
    }
}

impl Class for Notifier {
    const NAME: &'static str = "notifier";
    const COUNTS: Counts = Counts::BehindObject;
    const META: &'static [&'static str] = &["__index"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Notifier>::new(lua)?;
        methods.add("stop", |lua, notifier, _| {
            let local = Local::of(lua);
            local.forget(notifier.callback);
            notifier.over.set();
            local.let_go(notifier);
            Ok(())
        })?;
        methods.metatable()
    }
}
