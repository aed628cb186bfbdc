//! `pkt:route()` and `route(pkt)`: where the kernel would send a packet on.

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::names;
use crate::paths::Arm;
use crate::value::{Abs, Object, Str};
use moonhook_hook::targets::NO_ROUTES;
use moonhook_ir::Op;
use moonhook_library::own::data::ROUTE;
use moonhook_library::own::globals;
use moonhook_packet::protocols::{ROUTE_PARAMETERS, Routed, route};

pub const ROWS: &[Row] = &[row(ROUTE, emit), row(globals::ROUTE, emit)];

/// Names the slot with the helper's structure.
const SLOT: u32 = 4;

fn emit(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match call.arg(1) {
        Abs::Object(Object::Packet) => {}
        Abs::Object(Object::Argument) => {
            call.argument_error(context, 1, "packet expected");
            return Ok(vec![]);
        }
        _ => {
            call.wrong_type(context, 1, "data");
            return Ok(vec![]);
        }
    }
    let Some(helper) = context.target.hook.forward(ROUTE) else {
        let help = "packets can be routed at `xdp` and at `tc.ingress`";
        context.certain_error(NO_ROUTES, names::text(&call.called), help);
        return Ok(vec![]);
    };
    let slot = context.known.shared.slot(SLOT, ROUTE_PARAMETERS, &mut context.code.function);
    let at = moonhook_ir::words::Words::emit(context, Op::SlotAddress(slot));
    let paths = route(context, (!context.options.any_interface).then_some(helper), at)?;
    let arm = |values: Routed| match values {
        Routed::Found { interface, to, from } => {
            vec![Abs::Int(interface), Abs::Str(Str::Mac(to)), Abs::Str(Str::Mac(from))]
        }
        // Behind the addresses: a value that is an address or another text would be a text only.
        Routed::Not(why) => vec![Abs::Nil, Abs::Nil, Abs::Nil, Abs::text(why)],
    };
    Ok(paths.into_iter().map(|path| Arm { state: path.state, values: arm(path.values) }).collect())
}
