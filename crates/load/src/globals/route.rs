//! `route(pkt)`: what `pkt:route()` gives.

use moonhook_hook::targets::NO_ROUTES;
use moonhook_library::own::data;
use moonhook_library::own::globals::ROUTE;

use mlua::{Lua, MultiValue, ObjectLike, Value};

use crate::modules::module::{Context, Global, packet_argument};
use crate::packet_time;

pub(super) const GLOBAL: Global = Global { name: ROUTE, open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    context.values_function(ROUTE, route).map(Value::Function)
}

fn route(lua: &Lua, arguments: &[Value]) -> Result<MultiValue, String> {
    let packet = packet_argument(lua, arguments, ROUTE, "packet expected")?;
    let hook = packet_time::hook().ok_or("only handlers route packets")?;
    hook.forward(data::ROUTE).ok_or(NO_ROUTES)?;
    packet.call_method(ROUTE, ()).map_err(|error| error.to_string())
}
