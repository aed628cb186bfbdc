//! `probe`: functions of a script for what the kernel does (Lunatik's `lib/luaprobe.c`): system calls, and functions where it has kprobes.
//!
//! Handlers are called as often as what they are for has happened, up to some 30 ms later, in the state that has made the probe. What this process does itself
//! is not counted, for handlers make system calls, too. `post` is for what returns, where Lunatik's is for what has just begun.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::{Function, Lua, Table, Value};
use nix::errno::Errno;

use crate::arguments::{Arguments, Counts, Raise, add, pcall};
use crate::class::{Class, Methods, Object};
use crate::endings::Ending;
use crate::host::{Host, Module};
use crate::modules::syscall;
use crate::probes::{Agenda, Counted, HANDLERS, Probe, Surroundings, Uncounted};
use crate::runtime::Context;
use crate::share::shared;
use crate::state::{Local, text};

pub(crate) const MODULE: Module = Module { name: "probe", open, shared: Some(shared::<Probed>) };

/// A probe of a script.
pub(crate) struct Probed {
    probe: Arc<Probe>,
    host: Arc<Host>,
}

/// What a state with probes has.
struct Own {
    agenda: Arc<Agenda>,
    /// Makes what calls handlers.
    make: Function,
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let own = Arc::clone(host);
    add(lua, &module, "new", move |lua, arguments| new(lua, &own, arguments))?;
    Ok(module)
}

fn new(lua: &Lua, host: &Arc<Host>, arguments: &Arguments) -> Result<Object<Probed>, Raise> {
    if Local::of(lua).context() != Context::Hardirq {
        return Err(Raise::At("runtime context mismatch".to_string()));
    }
    let failed = |error: Uncounted| {
        host.warn(&format!("[probe] {}", error.reason));
        Raise::At(format!("failed to register probe (-{})", error.errno))
    };
    let (place, counted) = place(lua, arguments)?;
    let Value::Table(handlers) = arguments.value(2) else { return Err(arguments.type_error(2, "table")) };
    let counted = counted.map_err(failed)?;
    let mut wanted = Vec::new();
    for (handler, counted) in HANDLERS.into_iter().zip(counted) {
        if handlers.get::<Value>(handler)?.is_function() {
            wanted.push((handler, counted));
        }
    }
    let (local, own) = (Local::of(lua), own(lua, host)?);
    let is_stopped = Arc::<AtomicBool>::default();
    let caller = calls(lua, host, &own, (handlers, place), Arc::clone(&is_stopped))?;
    let caller = local.keep(Value::Function(caller));
    let make = |sides| Arc::new(Probe::new(sides, &own.agenda, caller, is_stopped));
    let probe = host.watch().begin(wanted, make).map_err(|error| {
        local.forget(caller);
        failed(error)
    })?;
    own.agenda.add(&probe);
    // It goes on when the script has let go of it, as long as the state.
    local.hold(Arc::clone(&probe) as Arc<_>);
    let ending: Arc<dyn Ending> = probe.clone();
    local.endings().add(Arc::downgrade(&ending));
    Ok(Object(Arc::new(Probed { probe, host: Arc::clone(host) })))
}

/// What each handler of a probe is for: a count, and its number there.
type Wanted = [(Counted, u32); 2];

/// What the first argument is for handlers, and what they are for.
fn place(lua: &Lua, arguments: &Arguments) -> Result<(Value, Result<Wanted, Uncounted>), Raise> {
    let value = arguments.value(1);
    if let Value::LightUserData(address) = value {
        let unknown = || {
            let reason = "the address is none of syscall.address; functions of the kernel go by their names";
            Uncounted { errno: Errno::EINVAL as i32, reason: reason.to_string() }
        };
        let number = syscall::number(address).ok_or_else(unknown);
        return Ok((value, number.map(|number| [(Counted::Calls, number), (Counted::Returns, number)])));
    }
    let name = arguments.text(1)?;
    let place = Value::String(lua.create_string(&name)?);
    let counted = [(Counted::Function(name.clone()), 0), (Counted::FunctionReturns(name), 0)];
    Ok((place, Ok(counted)))
}

/// What the state has for its probes.
fn own(lua: &Lua, host: &Arc<Host>) -> Result<Rc<Own>, Raise> {
    crate::extension::own(lua, || {
        let caller = Local::of(lua).caller();
        let caller = caller.ok_or_else(|| Raise::At("the state has no thread".to_string()))?;
        let globals = lua.globals();
        let basic = |name: &str| globals.get::<Function>(name);
        let made = lua.load(include_str!("../lua/probe.lua")).set_name("=probe");
        let make = made.call((pcall(lua)?, basic("error")?, basic("tostring")?, basic("type")?))?;
        let kept = |lua: &Lua, number| Local::of(lua).kept(number)?.as_function().cloned();
        let own = Arc::clone(host);
        let warn = Box::new(move |error| own.warn(&text(&Value::Error(Box::new(error)))));
        Ok(Own { agenda: Agenda::new(Surroundings { caller, kept, warn }), make })
    })
}

/// A function that calls the handlers of a probe at that place.
fn calls(
    lua: &Lua,
    host: &Arc<Host>,
    own: &Own,
    (handlers, place): (Table, Value),
    is_stopped: Arc<AtomicBool>,
) -> mlua::Result<Function> {
    let (agenda, host) = (Arc::clone(&own.agenda), Arc::clone(host));
    let goes_on =
        lua.create_function(move |_, ()| Ok(!is_stopped.load(Ordering::Relaxed) && !agenda.is_over()))?;
    let tell = lua.create_function(move |_, problem: Value| {
        host.warn(&text(&problem));
        Ok(())
    })?;
    own.make.call((handlers, place, goes_on, tell))
}

impl Class for Probed {
    const NAME: &'static str = "probe";
    const COUNTS: Counts = Counts::BehindObject;
    const META: &'static [&'static str] = &["__index"];

    fn is_single(&self) -> bool {
        true
    }

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Probed>::new(lua)?;
        methods.add("stop", |lua, probed, _| {
            let Probed { probe, host } = &**probed;
            if !probe.is_stopped() {
                host.watch().look(probe);
                probe.agenda.finish(lua, probe);
                probe.end();
                let local = Local::of(lua);
                local.forget(probe.caller);
                local.let_go(probe);
                host.watch().forget_unused();
            }
            Ok(())
        })?;
        methods.add("enable", |lua, probed, arguments| {
            let Probed { probe, host } = &**probed;
            if probe.is_stopped() {
                return Err(arguments.error(1, "null pointer dereference"));
            }
            let is_enabled = arguments.boolean(2);
            host.watch().enable(probe, is_enabled);
            if !is_enabled {
                probe.agenda.finish(lua, probe);
            }
            Ok(())
        })?;
        methods.metatable()
    }
}
