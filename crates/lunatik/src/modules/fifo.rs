//! `fifo`: a queue of bytes (Lunatik's `lib/luafifo.c`, the kernel's kfifo).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Lua, Table};
use nix::errno::Errno;

use crate::arguments::{Arguments, Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::pool::{Part, with_room};
use crate::share::shared;

pub(crate) const MODULE: Module = Module { name: "fifo", open, shared: Some(shared::<Fifo>) };

/// A queue; `None` once it is closed.
pub(crate) struct Fifo {
    queue: Mutex<Option<(VecDeque<u8>, Part)>>,
    size: usize,
}

/// Beyond this the kernel does not allocate a queue's memory in one piece.
const LARGEST: u64 = 1 << 31;

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let pool = Arc::clone(host.pool());
    add(lua, &module, "new", move |lua, arguments| {
        let size = arguments.integer(1)? as u64;
        let failed = |error: Errno| Raise::At(format!("failed to allocate kfifo ({})", -(error as i32)));
        // As `__kfifo_alloc` has them: the size is one of 32 bits, rounded up to a power of two, 2 at least.
        let size = match size {
            0..2 => return Err(failed(Errno::EINVAL)),
            LARGEST.. => return Err(failed(Errno::ENOMEM)),
            size => size.next_power_of_two() as usize,
        };
        let part = with_room(lua, || Part::of(&pool, size)).ok_or_else(|| failed(Errno::ENOMEM))?;
        let mut queue = VecDeque::new();
        queue.try_reserve_exact(size).map_err(|_| failed(Errno::ENOMEM))?;
        Ok(Object(Arc::new(Fifo { queue: Mutex::new(Some((queue, part))), size })))
    })?;
    Ok(module)
}

impl Fifo {
    fn with<R>(
        &self,
        arguments: &Arguments,
        does: impl FnOnce(&mut VecDeque<u8>) -> Result<R, Raise>,
    ) -> Result<R, Raise> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        does(&mut queue.as_mut().ok_or_else(|| arguments.error(1, "null pointer dereference"))?.0)
    }

    fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Class for Fifo {
    const NAME: &'static str = "fifo";
    const COUNTS: Counts = Counts::All;
    const META: &'static [&'static str] = &["__index", "__close"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Fifo>::new(lua)?;
        methods.add("push", |_, fifo, arguments| {
            let bytes = arguments.bytes(2)?;
            fifo.with(arguments, |queue| {
                if bytes.len() > fifo.size - queue.len() {
                    return Err(arguments.error(2, "not enough space"));
                }
                queue.extend(bytes);
                Ok(())
            })
        })?;
        methods.add("pop", |lua, fifo, arguments| {
            let wanted = usize::try_from(arguments.integer(2)?).unwrap_or(usize::MAX);
            let bytes: Vec<u8> =
                fifo.with(arguments, |queue| Ok(queue.drain(..wanted.min(queue.len())).collect()))?;
            Ok((lua.create_string(&bytes)?, bytes.len()))
        })?;
        for name in ["close", "__close"] {
            methods.add(name, |_, fifo, _| {
                fifo.close();
                Ok(())
            })?;
        }
        methods.metatable()
    }
}
