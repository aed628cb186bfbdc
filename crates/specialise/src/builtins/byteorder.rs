//! `require "byteorder"`: conversions between host, network, little and big endian, each as its row says. eBPF runs in the
//! host's byte order; programs are made for little-endian hosts.

use super::call::{Call, Row, refuse, rows};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::Abs;
use moonhook_ir::UnaryOp;
use moonhook_ir::words::Words;
use moonhook_library::own::Width;
use moonhook_library::own::byteorder::{CONVERSIONS, Conversion, conversion};

pub const ROWS: &[Row] = &rows(CONVERSIONS, convert);

fn convert(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(Conversion { width, big }) = conversion(call.name) else { return refuse(context, call) };
    let value = call.integer(context, 1)?;
    let value = match (width, big) {
        (Width::B1, _) => context.and(value, 0xff),
        (Width::B2, true) => context.unary(UnaryOp::Swap16, value),
        (Width::B2, false) => context.and(value, 0xffff),
        (Width::B4, true) => context.unary(UnaryOp::Swap32, value),
        (Width::B4, false) => context.unary(UnaryOp::ZeroExtend32, value),
        (Width::B8, true) => context.unary(UnaryOp::Swap64, value),
        (Width::B8, false) => value,
    };
    context.only(Abs::Int(value))
}
