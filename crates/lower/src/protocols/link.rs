//! The link layer: Ethernet and up to two VLAN tags (IEEE 802.3, 802.1Q, 802.1ad).

use super::header::absent;
use crate::context::{Context, Result};
use crate::state::State;
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{CompareOp, Size};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET: u32 = 14;

/// Ethertypes as they are loaded.
pub const IPV4: i64 = 0x0800_u16.swap_bytes() as i64;
pub const IPV6: i64 = 0x86dd_u16.swap_bytes() as i64;

/// Words of the header `link`: is there an Ethernet header, the ethertype after the tags (as loaded, big-endian; 0 if a tag
/// is truncated), where the next header starts.
pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    let arm = |state: State, words: [Word; 3]| Arm { state, values: words.map(Abs::Int).to_vec() };
    let (address, outside) = context.locate(Word::Imm(12), 2);
    arms.extend(absent(outside));
    let mut ethertype = context.load_at(address, Size::B2, false);
    let mut next = i64::from(ETHERNET);
    // Most frames are IP and have no tag: one or two comparisons tell, after which what the next header is may be known.
    for known in [IPV4, IPV6] {
        let is = context.compare(CompareOp::Eq, ethertype, known);
        let (is, other) = context.split(is);
        arms.push(arm(is, [Word::Imm(1), ethertype, Word::Imm(next)]));
        context.state = other;
    }
    for _tag in 0..2 {
        let (tagged, plain) = split_tagged(context, ethertype);
        arms.push(arm(plain, [Word::Imm(1), ethertype, Word::Imm(next)]));
        context.enter(tagged)?;
        let Some(block) = context.state.block else { return Ok(arms) };
        context.code.function.block_mut(block).cold = true;
        let (address, outside) = context.locate(Word::Imm(next), 4);
        arms.extend(
            outside.into_iter().map(|state| arm(state, [Word::Imm(1), Word::Imm(0), Word::Imm(next)])),
        );
        ethertype = context.load_at(address.plus(2), Size::B2, false);
        next += 4;
    }
    let state = context.take_state();
    arms.push(arm(state, [Word::Imm(1), ethertype, Word::Imm(next)]));
    Ok(arms)
}

/// Splits on whether an ethertype (as loaded) announces a VLAN tag.
pub fn split_tagged(context: &mut Context<'_>, ethertype: Word) -> (Vec<State>, State) {
    let customer = context.compare(CompareOp::Eq, ethertype, i64::from(0x8100_u16.swap_bytes()));
    let (customer, other) = context.split(customer);
    context.state = other;
    let service = context.compare(CompareOp::Eq, ethertype, i64::from(0x88a8_u16.swap_bytes()));
    let (service, plain) = context.split(service);
    (vec![customer, service], plain)
}
