//! `socket`: sockets of any family (Lunatik's `lib/luasocket.c`). The descriptors never block; waiting is this module's, so that a stop ends it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{IntoLuaMulti, Lua, MultiValue, Table, Value};
use nix::errno::Errno;
use nix::libc;
use nix::poll::PollFlags;

use crate::arguments::{Arguments, Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::share::shared;
use crate::system::{self, Address};
use crate::task::Task;
use crate::wait::{Waited, wait};

pub(crate) const MODULE: Module = Module { name: "socket", open, shared: Some(shared::<Socket>) };

/// A socket; without descriptor once it is closed.
pub(crate) struct Socket {
    descriptor: Mutex<Option<Arc<OwnedFd>>>,
    family: i32,
    is_stream: bool,
}

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    add(lua, &module, "new", |_, arguments| {
        let number = |at| arguments.integer(at).map(|value| value as i32);
        let (family, kind, protocol) = (number(1)?, number(2)?, number(3)?);
        // The kernel's own function has a packet socket's protocol in the machine's order, as `socket(2)` has not.
        let protocol =
            if family == libc::AF_PACKET { i32::from((protocol as u16).to_be()) } else { protocol };
        let descriptor = system::socket(family, kind, protocol)?;
        Ok(Object(Socket::of(descriptor, family, kind & 0xf == libc::SOCK_STREAM)))
    })?;
    Ok(module)
}

/// The most that one call receives.
const LARGEST: i64 = 64 << 20;

impl Socket {
    fn of(descriptor: OwnedFd, family: i32, is_stream: bool) -> Arc<Socket> {
        Arc::new(Socket { descriptor: Mutex::new(Some(Arc::new(descriptor))), family, is_stream })
    }

    fn descriptor(&self, arguments: &Arguments) -> Result<Arc<OwnedFd>, Raise> {
        let descriptor = self.descriptor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        descriptor.ok_or_else(|| arguments.error(1, "null pointer dereference"))
    }

    /// As `luasocket_release` does; who waits at the socket gets to an end.
    fn close(&self) {
        if let Some(descriptor) = self.descriptor.lock().unwrap_or_else(PoisonError::into_inner).take() {
            system::shutdown(descriptor.as_fd());
        }
    }

    /// The address at these arguments.
    fn address(&self, arguments: &Arguments, number: usize) -> Result<Address, Raise> {
        let mut address = (self.family as u16).to_ne_bytes().to_vec();
        match self.family {
            libc::AF_INET => {
                let host = arguments.integer(number)? as u32;
                let port = arguments.integer_within(number + 1, 0, i64::from(u16::MAX))? as u16;
                address.extend(port.to_be_bytes());
                address.extend(host.to_be_bytes());
                address.resize(size_of::<libc::sockaddr_in>(), 0);
            }
            libc::AF_UNIX => {
                let path = arguments.bytes(number)?;
                let room = size_of::<libc::sockaddr_un>() - address.len();
                if path.len() + 1 > room {
                    return Err(arguments.error(number, "out of bounds"));
                }
                address.extend(path);
                address.resize(size_of::<libc::sockaddr_un>(), 0);
            }
            libc::AF_PACKET => {
                let protocol = arguments.integer_within(number, 0, i64::from(u16::MAX))? as u16;
                let index = arguments.integer_within(number + 1, 0, i64::from(i32::MAX))? as i32;
                address.extend(protocol.to_be_bytes());
                address.extend(index.to_ne_bytes());
                address.resize(size_of::<libc::sockaddr_ll>(), 0);
            }
            libc::AF_NETLINK => {
                let (port, groups) = (arguments.integer_or(number, 0)?, arguments.integer_or(number + 1, 0)?);
                address.extend([0; 2]);
                address.extend((port as u32).to_ne_bytes());
                address.extend((groups as u32).to_ne_bytes());
            }
            _ => {
                let packed = arguments.bytes(number)?;
                if packed.len() > ROOM {
                    return Err(arguments.error(number, "out of bounds"));
                }
                address.extend(packed);
                address.resize(size_of::<libc::sockaddr_storage>(), 0);
            }
        }
        Ok(address)
    }

    /// What scripts see of an address.
    fn shown(&self, lua: &Lua, mut address: Address) -> mlua::Result<MultiValue> {
        address.resize(size_of::<libc::sockaddr_storage>(), 0);
        let short = |at: usize| u16::from_be_bytes([address[at], address[at + 1]]);
        let long = |at: usize| [address[at], address[at + 1], address[at + 2], address[at + 3]];
        match self.family {
            libc::AF_INET => (u32::from_be_bytes(long(4)), short(2)).into_lua_multi(lua),
            libc::AF_UNIX => {
                let end = address[2..].iter().position(|byte| *byte == 0).unwrap_or(0);
                lua.create_string(&address[2..2 + end])?.into_lua_multi(lua)
            }
            libc::AF_NETLINK => {
                (u32::from_ne_bytes(long(4)), u32::from_ne_bytes(long(8))).into_lua_multi(lua)
            }
            _ => lua.create_string(&address[2..])?.into_lua_multi(lua),
        }
    }
}

/// Bytes of an address behind its family (`sockaddr_storage.__data`).
const ROOM: usize = size_of::<libc::sockaddr_storage>() - 2;

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}

/// Tries until it does not have to wait, which `may_wait` allows.
fn blocking<R>(
    descriptor: &OwnedFd,
    events: PollFlags,
    may_wait: bool,
    mut attempt: impl FnMut() -> nix::Result<R>,
) -> Result<R, Raise> {
    let task = Task::current();
    loop {
        match attempt() {
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) if may_wait => {
                let limit = if events == PollFlags::POLLOUT { libc::SO_SNDTIMEO } else { libc::SO_RCVTIMEO };
                let limit = system::time_limit(descriptor.as_fd(), limit);
                match wait(Some((descriptor.as_fd(), events)), task.as_deref().map(Task::stop_event), limit) {
                    Waited::Ready => {}
                    Waited::Timeout => return Err(Errno::EAGAIN.into()),
                    Waited::Stopped => return Err(Errno::EINTR.into()),
                }
            }
            result => return Ok(result?),
        }
    }
}

fn send(socket: &Socket, arguments: &Arguments) -> Result<usize, Raise> {
    let descriptor = socket.descriptor(arguments)?;
    let bytes = arguments.bytes(2)?;
    let has_address = arguments.count() >= 3 || socket.family == libc::AF_NETLINK;
    let address = if has_address { Some(socket.address(arguments, 3)?) } else { None };
    let mut sent = 0;
    loop {
        let attempt = || system::send(descriptor.as_fd(), &bytes[sent..], address.as_ref());
        match blocking(&descriptor, PollFlags::POLLOUT, true, attempt) {
            Ok(more) => sent += more,
            // As the kernel does it: what is on its way counts.
            Err(_) if sent > 0 => return Ok(sent),
            Err(error) => return Err(error),
        }
        if sent >= bytes.len() || !socket.is_stream {
            return Ok(sent);
        }
    }
}

fn receive(lua: &Lua, socket: &Socket, arguments: &Arguments) -> Result<MultiValue, Raise> {
    let descriptor = socket.descriptor(arguments)?;
    let length = arguments.integer(2)?;
    let flags = arguments.integer_or(3, 0)? as i32;
    let size = usize::try_from(length).ok().filter(|_| length <= LARGEST);
    let mut buffer = vec![0; size.ok_or_else(|| arguments.error(2, "out of bounds"))?];
    let may_wait = flags & libc::MSG_DONTWAIT == 0;
    let (mut filled, mut address) = (0, Address::new());
    loop {
        let attempt = || system::receive(descriptor.as_fd(), &mut buffer[filled..], flags);
        let received = blocking(&descriptor, PollFlags::POLLIN, may_wait, attempt);
        match received {
            Ok((more, from)) => {
                filled += more;
                address = from;
                let waits = flags & libc::MSG_WAITALL != 0 && socket.is_stream && flags & libc::MSG_PEEK == 0;
                if !waits || more == 0 || filled == buffer.len() {
                    break;
                }
            }
            Err(_) if filled > 0 => break,
            Err(error) => return Err(error),
        }
    }
    let mut results = match arguments.boolean(4) {
        true => socket.shown(lua, address)?,
        false => MultiValue::new(),
    };
    results.push_front(Value::String(lua.create_string(&buffer[..filled])?));
    Ok(results)
}

fn connect(socket: &Socket, arguments: &Arguments) -> Result<(), Raise> {
    let descriptor = socket.descriptor(arguments)?;
    let address = socket.address(arguments, 2)?;
    let flags = arguments.integer_or(if arguments.count() >= 4 { 4 } else { 3 }, 0);
    // With three arguments the third may be a port.
    let flags = if socket.family == libc::AF_INET && arguments.count() < 4 { 0 } else { flags? };
    let may_wait = flags as i32 & libc::O_NONBLOCK == 0;
    match system::connect(descriptor.as_fd(), &address) {
        Err(Errno::EINPROGRESS) if may_wait => {
            let task = Task::current();
            let stop = task.as_deref().map(Task::stop_event);
            let limit = system::time_limit(descriptor.as_fd(), libc::SO_SNDTIMEO);
            match wait(Some((descriptor.as_fd(), PollFlags::POLLOUT)), stop, limit) {
                Waited::Ready => Ok(system::take_error(descriptor.as_fd())?),
                Waited::Timeout => Err(Errno::EINPROGRESS.into()),
                Waited::Stopped => Err(Errno::EINTR.into()),
            }
        }
        // A listener of the family UNIX whose queue is full.
        Err(Errno::EAGAIN) if may_wait && socket.family == libc::AF_UNIX => {
            blocking(&descriptor, PollFlags::POLLOUT, true, || {
                std::thread::sleep(std::time::Duration::from_millis(1));
                system::connect(descriptor.as_fd(), &address)
            })
        }
        result => Ok(result?),
    }
}

impl Class for Socket {
    const NAME: &'static str = "socket";
    const COUNTS: Counts = Counts::All;
    const META: &'static [&'static str] = &["__index", "__close"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Socket>::new(lua)?;
        methods.add("send", |_, socket, arguments| send(socket, arguments))?;
        methods.add("receive", |lua, socket, arguments| receive(lua, socket, arguments))?;
        methods.add("connect", |_, socket, arguments| connect(socket, arguments))?;
        methods.add("bind", |_, socket, arguments| {
            let descriptor = socket.descriptor(arguments)?;
            Ok(system::bind(descriptor.as_fd(), &socket.address(arguments, 2)?)?)
        })?;
        methods.add("listen", |_, socket, arguments| {
            let backlog = arguments.integer_or(2, i64::from(libc::SOMAXCONN))? as i32;
            Ok(system::listen(socket.descriptor(arguments)?.as_fd(), backlog)?)
        })?;
        methods.add("accept", |_, socket, arguments| {
            let descriptor = socket.descriptor(arguments)?;
            let may_wait = arguments.integer_or(2, 0)? as i32 & libc::O_NONBLOCK == 0;
            let attempt = || system::accept(descriptor.as_fd());
            let accepted = blocking(&descriptor, PollFlags::POLLIN, may_wait, attempt)?;
            Ok(Object(Socket::of(accepted, socket.family, socket.is_stream)))
        })?;
        methods.add("setsockopt", |_, socket, arguments| {
            let descriptor = socket.descriptor(arguments)?;
            let (level, name) = (arguments.integer(2)? as i32, arguments.integer(3)? as i32);
            let value = match arguments.value(4) {
                Value::String(text) => text.as_bytes().to_vec(),
                _ => (arguments.integer(4)? as i32).to_ne_bytes().to_vec(),
            };
            Ok(system::set_option(descriptor.as_fd(), level, name, &value)?)
        })?;
        for (name, of_peer) in [("getsockname", false), ("getpeername", true)] {
            methods.add(name, move |lua, socket, arguments| {
                let address = system::name(socket.descriptor(arguments)?.as_fd(), of_peer)?;
                Ok(socket.shown(lua, address)?)
            })?;
        }
        for name in ["close", "__close"] {
            methods.add(name, |_, socket, _| {
                socket.close();
                Ok(())
            })?;
        }
        methods.metatable()
    }
}
