//! `lunatik`: states on threads of their own, and the table that all have in common (`lunatik_core.c`).

use std::sync::Arc;

use mlua::{Lua, Table};

use crate::arguments::{Arguments, Counts, Raise, add};
use crate::class::{Class, Methods, Object};
use crate::host::{Host, Module};
use crate::runtime::{Context, Runtime};
use crate::share::{SINGLE, Shared, shared};

pub(crate) const MODULE: Module = Module { name: "lunatik", open, shared: Some(shared::<Runtime>) };

fn open(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let of_runtime = Arc::clone(host);
    add(lua, &module, "runtime", move |lua, arguments| {
        let script = arguments.text(1)?;
        let context = match arguments.option(2, 0, &["process", "softirq", "hardirq"])? {
            0 => Context::Process,
            1 => Context::Softirq,
            _ => Context::Hardirq,
        };
        Runtime::start(lua, &of_runtime, &script, context).map(Object).map_err(Raise::Bare)
    })?;
    module.raw_set("_ENV", Object(Arc::clone(host.environment())))?;
    Ok(module)
}

/// The arguments behind the first as objects for another state.
fn objects(lua: &Lua, arguments: &Arguments) -> Result<Vec<Shared>, Raise> {
    let shared = |number: usize| {
        let object = Shared::of(lua, &arguments.value(number));
        let object = object
            .ok_or_else(|| Raise::Bare(format!("bad argument #{} to '?' (invalid object)\n", number - 1)))?;
        match object.is_single() {
            true => Err(Raise::Bare(format!("'{}': {SINGLE}\n", object.name()))),
            false => Ok(object),
        }
    };
    (2..=arguments.count()).map(shared).collect()
}

impl Class for Runtime {
    const NAME: &'static str = "lunatik";
    const COUNTS: Counts = Counts::All;
    const META: &'static [&'static str] = &["__index", "__close"];

    fn metatable(lua: &Lua) -> mlua::Result<Table> {
        let methods = Methods::<Runtime>::new(lua)?;
        methods.add("resume", |lua, runtime, arguments| {
            let over = || arguments.error(1, "null pointer dereference");
            if runtime.is_over() {
                return Err(over());
            }
            let outcome = runtime.resume(objects(lua, arguments)?).ok_or_else(over)?;
            outcome.map_err(|text| Raise::Bare(format!("{text}\n")))
        })?;
        for name in ["stop", "__close"] {
            methods.add(name, |_, runtime, arguments| match runtime.stop() {
                true => Ok(()),
                false => Err(arguments.error(1, "null pointer dereference")),
            })?;
        }
        methods.metatable()
    }
}
