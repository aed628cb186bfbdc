//! `require "ip"`: addresses out of texts, which are numbers from then on, and their prefixes.

use super::call::{Call, Row, row};
use super::ip_texts::{self, Parsed};
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};

pub const ROWS: &[Row] = &[row("ip.parse", parse), row("ip.prefix", prefix)];

fn parse(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let Parsed { mut addresses, others } = ip_texts::parse(context, &text)?;
    context.enter(others)?;
    addresses.push(Arm { state: context.take_state(), values: vec![Abs::Nil] });
    Ok(addresses)
}

/// `prefix(address, length)`: the address with the bits behind its first `length` ones cleared.
fn prefix(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Some(text) = call.string(context, 1)? else { return Ok(vec![]) };
    let length = call.integer(context, 2)?;
    let Parsed { addresses, others } = ip_texts::parse(context, &text)?;
    context.enter(others)?;
    if context.state.alive() {
        call.argument_error(context, 1, "IP address expected");
    }
    let mut arms = Vec::new();
    for arm in addresses {
        context.state = arm.state;
        let address = match arm.values.first() {
            Some(Abs::Str(Str::Ipv4(address))) => {
                check_length(context, call, length, 32);
                Str::Ipv4(prefix_of_ipv4(context, *address, length))
            }
            Some(Abs::Str(Str::Ipv6(high, low))) => {
                check_length(context, call, length, 128);
                let [high, low] = prefix_of_ipv6(context, [*high, *low], length);
                Str::Ipv6(high, low)
            }
            _ => continue,
        };
        arms.push(Arm { state: context.take_state(), values: vec![Abs::Str(address)] });
    }
    Ok(arms)
}

fn check_length(context: &mut Context<'_>, call: &Call, length: Word, bits: i64) {
    let wrong = context.compare(CompareOp::UGt, length, bits);
    let problem = format!("integer from 0 to {bits} expected");
    context.fail_if(wrong, |context| call.argument_error(context, 2, &problem));
}

fn prefix_of_ipv4(context: &mut Context<'_>, address: Word, length: Word) -> Word {
    let host = context.sub(32, length);
    let mask = context.shl(0xffff_ffff, host);
    context.and(address, mask)
}

/// The first `length` bits, 0 to 128, of both halves of an address.
pub fn prefix_of_ipv6(context: &mut Context<'_>, [high, low]: [Word; 2], length: Word) -> [Word; 2] {
    let in_high = context.smaller(length, Word::Imm(64));
    let in_low = context.sub(length, in_high);
    [(high, in_high), (low, in_low)].map(|(half, length)| {
        let mask = mask(context, length);
        context.and(half, mask)
    })
}

/// As many ones as that, 0 to 64, and zeros: in two steps, because no shift goes by 64 bits.
fn mask(context: &mut Context<'_>, length: Word) -> Word {
    let zeros = context.sub(64, length);
    let some = context.shr(zeros, 1);
    let others = context.sub(zeros, some);
    let mask = context.binary(BinaryOp::Shl, -1, some);
    context.shl(mask, others)
}
