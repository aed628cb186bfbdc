//! `require "updates"`: functions of flows that come in datagrams (docs/updates.md). A handler in Lua takes them out of the traffic, a
//! function of control code checks them and gives flows their functions.

mod options;
mod taking;

use mlua::{Function, Lua, Table, Value};
use moonhook_hook::{Hook, Point};

use self::options::Options;
pub(super) use self::options::{bytes, content};
use self::taking::Taking;
use super::flow::said;
use super::module::{Context, Module, type_error};
use crate::globals::{event, map};
use crate::registry::{Registration, Registry, Request};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "updates", open };

const LISTEN: &str = "updates.listen";

/// The event that a datagram for control code is. Nobody else is told of it.
pub const EVENT: &[u8] = b"moonhook update";

fn open(context: &mut Context) -> mlua::Result<Table> {
    context.registers = true;
    let table = context.lua.create_table()?;
    let own = [(map::GLOBAL.open)(context)?, (event::GLOBAL.open)(context)?];
    let monotonic: Function = (super::linux::MODULE.open)(context)?.raw_get("monotonic")?;
    let (registry, globals) = (context.registry.clone(), context.globals.clone());
    let listen = context.function(LISTEN, move |lua, arguments| {
        if registry.declared.is_closed() {
            return Err("updates are listened to from load time on, before packets arrive".to_string());
        }
        if registry.requests.listens_to(EVENT) {
            return Err("updates are listened to already: one listener serves all flow tables".to_string());
        }
        let Some(Value::Table(given)) = arguments.first() else {
            return Err(type_error(arguments, 1, key(LISTEN), "table"));
        };
        let options = Options::read(given, &globals)?;
        let points = points(lua, &registry, given)?;
        let earlier = registry.handlers.earlier;
        // With the names of its variables, which are those of the tables.
        let chunk = lua.load(include_str!("updates.lua")).set_name("=updates");
        let make: Function = chunk.call((&own[0], &own[1], &monotonic)).map_err(said)?;
        let taking = Taking::new(&options, registry.flows.clone());
        let take = lua.create_function(move |lua, payload| taking.take(lua, payload)).map_err(said)?;
        let (handler, receive, counts): (Function, Function, Table) =
            make.call((options.table(lua).map_err(said)?, take)).map_err(said)?;
        registry.requests.add(Request::Listen { event: EVENT.to_vec(), function: receive });
        for (number, point) in points.into_iter().enumerate() {
            let function: Function = handler.call(verdict(point.hook)?).map_err(said)?;
            registry.handlers.all.borrow_mut().insert(earlier + number, Registration::new(point, function));
        }
        Ok(Value::Table(counts))
    })?;
    table.raw_set(key(LISTEN), listen)?;
    Ok(table)
}

/// Where the handler is to stand: where the function `hook` registers another one, or a module's `attach`; else where `attach` does.
fn points(lua: &Lua, registry: &Registry, options: &Table) -> Result<Vec<Point>, String> {
    let attach = match options.raw_get::<Value>("hook").map_err(said)? {
        Value::Nil => return Ok(vec![Point::at_interface(registry.chosen)]),
        Value::Function(attach) => attach,
        Value::Table(module) => match module.get::<Value>("attach").map_err(said)? {
            Value::Function(attach) => attach,
            _ => {
                return Err(bad(
                    "field 'hook': a module with 'attach', or a function that registers, expected",
                ));
            }
        },
        _ => return Err(bad("field 'hook': a module with 'attach', or a function that registers, expected")),
    };
    let all = &registry.handlers.all;
    let before = all.borrow().len();
    let probe: Function = lua.load("return function() end").set_name("=updates").call(()).map_err(said)?;
    let called = attach.call::<()>(probe);
    let mut all = all.borrow_mut();
    let before = before.min(all.len());
    let added = all.split_off(before);
    called.map_err(said)?;
    match added.is_empty() {
        true => Err(bad("field 'hook': the function registers nothing")),
        false => Ok(added.into_iter().map(|registration| registration.point).collect()),
    }
}

/// What the hook drops packets with.
fn verdict(hook: &Hook) -> Result<i32, String> {
    hook.plain_verdict("DROP")
        .ok_or_else(|| bad(&format!("field 'hook': packets cannot be dropped at {}", hook.name)))
}

fn bad(problem: &str) -> String {
    format!("bad argument #1 to '{}' ({problem})", key(LISTEN))
}

#[cfg(test)]
mod tests {
    use crate::{Options, load};
    use moonhook_updates::SecretKey;
    use std::fs;

    /// What load time says of a script that has a public key beside it.
    fn outcome(script: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let key = SecretKey::of_seed(&[1; 32]).public().to_pem().unwrap();
        fs::write(folder.path().join("k.pub"), key).unwrap();
        let path = folder.path().join("x.lua");
        let begin = "local updates, xdp, tc = require 'updates', require 'xdp', require 'tc'\n";
        fs::write(&path, format!("{begin}{script}")).unwrap();
        let loaded = load(&[path], &Options::default()).map_err(|error| error.to_string())?;
        Ok(loaded.snapshot.handlers.iter().map(|handler| handler.point.hook.name.to_string()).collect())
    }

    #[test]
    fn the_handler_stands_in_front_where_it_is_wanted() {
        let own = "xdp.attach(function() return xdp.x end)";
        for (hook, expected) in [
            ("", vec!["xdp", "xdp"]),
            (", hook = xdp", vec!["xdp", "xdp"]),
            (", hook = tc.ingress", vec!["tc.ingress", "xdp"]),
        ] {
            let script = format!("{own} updates.listen{{port = 9, keys = {{'k.pub'}}{hook}}}");
            assert_eq!(outcome(&script).unwrap(), expected, "{hook}");
        }
    }

    #[test]
    fn wrong_options_are_refused_by_name() {
        for (options, part) in [
            ("()", "table expected, got no value"),
            ("{}", "field 'port': integer from 1 to 65535"),
            ("{port = 9}", "field 'keys': list of public keys"),
            ("{port = 0, keys = {'k.pub'}}", "field 'port'"),
            ("{port = 9, keys = {}}", "field 'keys'"),
            ("{port = 9, keys = {'none'}}", "none: No such file"),
            ("{port = 9, keys = {'x.lua'}}", "not a public key of Ed25519"),
            ("{port = 9, keys = {'k.pub', 'k.pub'}}", "twice"),
            ("{port = 9, keys = {'k.pub'}, hook = 7}", "field 'hook'"),
            ("{port = 9, keys = {'k.pub'}, hook = function() end}", "registers nothing"),
            ("{port = 9, keys = {'k.pub'}, sources = {'10.0.0.0/33'}}", "'10.0.0.0/33' is no IP address"),
            ("{port = 9, keys = {'k.pub'}, age = -1}", "field 'age'"),
            ("{port = 9, keys = {'k.pub'}, name = ''}", "field 'name'"),
            ("{port = 9, keys = {'k.pub'}, speed = 1}", "no option 'speed'"),
            ("{port = 9, keys = {'k.pub'}} updates.listen{port = 10, keys = {'k.pub'}}", "already"),
        ] {
            let error = outcome(&format!("updates.listen{options}")).unwrap_err();
            assert!(error.contains(part), "{options}: {error}");
        }
    }
}
