//! `device`: files in /dev that a script reads and writes for others (Lunatik's `lib/luadevice.c`).
//!
//! Callbacks run in the state that has made the device, one after another, when nothing else does. Each is a thread's function as far as stopping goes:
//! where whoever reads or writes is interrupted, or the device stops, what it waits for ends, and it is ended itself where it goes on.

use std::path::Path;
use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};
use nix::errno::Errno;

use crate::arguments::{Counts, Raise, add, protected, type_name};
use crate::class::{Class, Methods, Object};
use crate::device::{Device, Done, Wanted};
use crate::endings::Ending;
use crate::host::{Host, Module};
use crate::state::{Local, text};

pub(crate) const MODULE: Module = Module { name: "device", open, shared: None };

/// Where devices are.
const FOLDER: &str = "/dev";

/// Permissions of a device whose driver has none: those that the kernel gives (`devtmpfs`).
const MODE: u32 = 0o600;

/// A device of a script.
pub(crate) struct Driven {
    device: Arc<Device>,
    /// The number of its driver, among what the state keeps.
    driver: u64,
}

impl Ending for Driven {
    fn end(&self) {
        self.device.stop();
    }
}

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let own = Arc::clone(host);
    add(lua, &module, "new", move |lua, arguments| {
        let Value::Table(driver) = arguments.value(1) else { return Err(arguments.type_error(1, "table")) };
        let name = match driver.get::<Value>("name")? {
            Value::String(name) => name.as_bytes().to_vec(),
            other => {
                let got = type_name(&other);
                return Err(Raise::At(format!("bad field 'name' (string expected, got {got})")));
            }
        };
        // Where it is no number it is 0, which means the same as none (`lua_tointeger`).
        let mode = lua.coerce_integer(driver.get::<Value>("mode")?)?.unwrap_or(0) as u32;
        let mode = if mode & 0o7777 == 0 { MODE } else { mode };
        let local = Local::of(lua);
        let failed = |error: Errno| Raise::At(format!("failed to create a new device (-{})", error as i32));
        let caller = local.caller().ok_or_else(|| failed(Errno::ENXIO))?;
        let number = local.keep(Value::Table(driver));
        let (host, shown) = (Arc::clone(&own), String::from_utf8_lossy(&name).into_owned());
        let ask = Box::new(move |job: crate::device::Job| {
            let (host, shown) = (Arc::clone(&host), shown.clone());
            // Where the state is over, the job is dropped, which answers.
            caller(Box::new(move |lua| job.run(|wanted| called(lua, &host, (&shown, number), wanted))));
        });
        let device = Device::new(Path::new(FOLDER), &name, mode, ask).map_err(|error| {
            local.forget(number);
            failed(error)
        })?;
        let driven = Arc::new(Driven { device, driver: number });
        // It goes on when the script has let go of it, as long as the state.
        local.hold(Arc::clone(&driven) as Arc<_>);
        let ending: Arc<dyn Ending> = driven.clone();
        local.endings().add(Arc::downgrade(&ending));
        Ok(Object(driven))
    })?;
    Ok(module)
}

/// Calls the driver's function; errors are told, and are `ECANCELED` for who has called.
fn called(lua: &Lua, host: &Host, (name, driver): (&str, u64), wanted: Wanted) -> Result<Done, Errno> {
    let Some(Value::Table(driver)) = Local::of(lua).kept(driver) else { return Err(Errno::ENXIO) };
    let function = match wanted {
        Wanted::Open => "open",
        Wanted::Read { .. } => "read",
        Wanted::Write { .. } => "write",
        Wanted::Release => "release",
    };
    made(lua, &driver, function, wanted).map_err(|error| {
        host.warn(&format!("[{name}] {function}: {}", text(&Value::Error(Box::new(error)))));
        Errno::ECANCELED
    })
}

fn made(lua: &Lua, driver: &Table, function: &str, wanted: Wanted) -> mlua::Result<Done> {
    let call = |arguments: MultiValue| match driver.get::<Value>(function)? {
        Value::Function(function) => {
            let mut all = arguments;
            all.push_front(Value::Table(driver.clone()));
            let mut results =
                protected(lua, &function, all)?.map_err(|error| mlua::Error::runtime(text(&error)))?;
            let mut next = || results.pop_front().unwrap_or(Value::Nil);
            Ok((next(), next()))
        }
        // What is no function does nothing.
        _ => Ok((Value::Nil, Value::Nil)),
    };
    let integer = |value: &Value| match lua.coerce_integer(value.clone()) {
        Ok(Some(number)) => Ok(number),
        _ => Err(mlua::Error::runtime(format!("number expected, got {}", type_name(value)))),
    };
    let optional = |value: &Value, default| if value.is_nil() { Ok(default) } else { integer(value) };
    match wanted {
        Wanted::Open | Wanted::Release => call(MultiValue::new()).map(|_| Done::Nothing),
        Wanted::Read { length, offset } => {
            let given = MultiValue::from_iter([Value::Integer(length as i64), Value::Integer(offset)]);
            let (text, next) = call(given)?;
            // Strings and numbers; others are none (`lua_tolstring`).
            let text = lua.coerce_string(text)?.map(|text| text.as_bytes().to_vec());
            let mut bytes = text.unwrap_or_default();
            bytes.truncate(length);
            let next = optional(&next, offset.wrapping_add(bytes.len() as i64))?;
            Ok(Done::Read(bytes, next))
        }
        Wanted::Write { bytes, offset } => {
            let length = bytes.len();
            let given =
                MultiValue::from_iter([Value::String(lua.create_string(bytes)?), Value::Integer(offset)]);
            let (count, next) = call(given)?;
            // More than there are, or less than none, are all of them.
            let count = usize::try_from(optional(&count, length as i64)?).unwrap_or(length).min(length);
            Ok(Done::Written(count, optional(&next, offset.wrapping_add(count as i64))?))
        }
    }
}

impl Class for Driven {
    const NAME: &'static str = "device";
    const COUNTS: Counts = Counts::BehindObject;
    const META: &'static [&'static str] = &["__index", "__close"];

    fn is_single(&self) -> bool {
        true
    }

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Driven>::new(lua)?;
        for name in ["stop", "__close"] {
            methods.add(name, |lua, driven, _| {
                driven.device.stop();
                let local = Local::of(lua);
                local.forget(driven.driver);
                local.let_go(driven);
                Ok(())
            })?;
        }
        methods.metatable()
    }
}
