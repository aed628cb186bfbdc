//! `require "byteorder"`: conversions between host, network, little and big endian, with Lunatik's names. eBPF runs in the
//! host's byte order; programs are made for little-endian hosts.

use super::call::{Call, Row, row};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::Abs;
use moonhook_ir::UnaryOp;
use moonhook_ir::words::Words;

pub const ROWS: &[Row] = &[
    row("byteorder.hton16", |c, call| swapped(c, call, 2)),
    row("byteorder.hton32", |c, call| swapped(c, call, 4)),
    row("byteorder.hton64", |c, call| swapped(c, call, 8)),
    row("byteorder.ntoh16", |c, call| swapped(c, call, 2)),
    row("byteorder.ntoh32", |c, call| swapped(c, call, 4)),
    row("byteorder.ntoh64", |c, call| swapped(c, call, 8)),
    row("byteorder.htobe16", |c, call| swapped(c, call, 2)),
    row("byteorder.htobe32", |c, call| swapped(c, call, 4)),
    row("byteorder.htobe64", |c, call| swapped(c, call, 8)),
    row("byteorder.be16toh", |c, call| swapped(c, call, 2)),
    row("byteorder.be32toh", |c, call| swapped(c, call, 4)),
    row("byteorder.be64toh", |c, call| swapped(c, call, 8)),
    row("byteorder.htole16", |c, call| kept(c, call, 2)),
    row("byteorder.htole32", |c, call| kept(c, call, 4)),
    row("byteorder.htole64", |c, call| kept(c, call, 8)),
    row("byteorder.le16toh", |c, call| kept(c, call, 2)),
    row("byteorder.le32toh", |c, call| kept(c, call, 4)),
    row("byteorder.le64toh", |c, call| kept(c, call, 8)),
];

fn swapped(context: &mut Context<'_>, call: &Call, bytes: u32) -> Result<Vec<Arm>> {
    let value = call.integer(context, 1)?;
    let op = match bytes {
        2 => UnaryOp::Swap16,
        4 => UnaryOp::Swap32,
        _ => UnaryOp::Swap64,
    };
    let value = context.unary(op, value);
    context.only(Abs::Int(value))
}

fn kept(context: &mut Context<'_>, call: &Call, bytes: u32) -> Result<Vec<Arm>> {
    let value = call.integer(context, 1)?;
    let value = match bytes {
        2 => context.and(value, 0xffff),
        4 => context.unary(UnaryOp::ZeroExtend32, value),
        _ => value,
    };
    context.only(Abs::Int(value))
}
