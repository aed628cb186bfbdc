//! `pkt.vlan`: the outer VLAN tag (IEEE 802.1Q: 3 bits priority, 1 bit DEI, 12 bits id, then the ethertype).

use super::header::{Field, Protocol, bit};
use super::link;
use crate::context::{Context, Result};
use crate::value::{Abs, Object, Word};
use crate::ways::Arm;
use moonhook_ir::Size;
use moonhook_ir::words::Words;

/// Ethernet header and one tag.
const WHOLE: u32 = link::ETHERNET + 4;

pub const PROTOCOL: Protocol = Protocol {
    name: "vlan",
    find: |context| {
        let nil = |state| Arm { state, values: vec![Abs::Nil] };
        let (address, outside) = context.locate(Word::Imm(12), 2);
        let mut arms: Vec<Arm> = outside.into_iter().map(nil).collect();
        let ethertype = context.load_at(address, Size::B2, false);
        let (tagged, plain) = link::split_tagged(context, ethertype);
        arms.push(nil(plain));
        context.enter(tagged)?;
        let (_, outside) = context.locate(Word::Imm(0), WHOLE);
        arms.extend(outside.into_iter().map(nil));
        let state = context.take_state();
        arms.push(Arm { state, values: vec![Abs::Object(Object::Header("vlan"))] });
        Ok(arms)
    },
    fields: &[
        Field {
            name: "id",
            read: |context| {
                let tag = tag(context)?;
                let id = context.and(tag, 0xfff);
                context.only(Abs::Int(id))
            },
        },
        Field {
            name: "priority",
            read: |context| {
                let tag = tag(context)?;
                let priority = context.shr(tag, 13);
                context.only(Abs::Int(priority))
            },
        },
        Field {
            name: "dei",
            read: |context| {
                let tag = tag(context)?;
                let dei = bit(context, tag, 12);
                context.only(dei)
            },
        },
        Field {
            name: "type",
            read: |context| {
                let word = context.header_field(Word::Imm(0), 16, Size::B2, WHOLE)?;
                context.only(Abs::Int(word))
            },
        },
        Field { name: "inner_id", read: inner_id },
    ],
};

fn tag(context: &mut Context<'_>) -> Result<Word> {
    context.header_field(Word::Imm(0), 14, Size::B2, WHOLE)
}

fn inner_id(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let address = context.address(crate::value::Space::Packet, Word::Imm(0), WHOLE)?;
    let ethertype = context.load_at(address.plus(16), Size::B2, false);
    let (tagged, plain) = link::split_tagged(context, ethertype);
    let mut arms = vec![Arm { state: plain, values: vec![Abs::Nil] }];
    context.enter(tagged)?;
    let (address, outside) = context.locate(Word::Imm(i64::from(WHOLE)), 4);
    arms.extend(outside.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
    let word = context.load_at(address, Size::B2, false);
    let word = context.host_order(word, Size::B2);
    let id = context.and(word, 0xfff);
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(id)] });
    Ok(arms)
}
