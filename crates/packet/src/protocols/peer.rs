//! `pkt.peer`: whom a socket is about to be connected with, where programs are asked about that (`struct bpf_sock_addr`).

use super::header::{Field, Headers, Protocol, RefusedBy, Values};
use crate::assign::{Takes, word_of};
use crate::{Access, Machine, Value};
use moonhook_hook::Peer;
use moonhook_ir::Size;
use moonhook_ir::words::Word;

pub fn protocol<M: Machine>() -> Protocol<M> {
    let fields = vec![
        Field::new("address", address).assigned(Takes::Address, write_address),
        Field::new("port", |c: &mut M| {
            let Some(peer) = peer(c) else { return c.only(Value::Nothing) };
            let word = load(c, peer.port, Size::B4);
            // The first two bytes, whatever the machine's byte order.
            let port = c.host_order(word, Size::B4);
            let port = c.shr(port, 16);
            c.only(Value::Number(port))
        })
        .assigned(Takes::Number(16), write_port),
        Field::new("proto", |c: &mut M| {
            let Some(peer) = peer(c) else { return c.only(Value::Nothing) };
            let word = load(c, peer.protocol, Size::B4);
            c.only(Value::Number(word))
        }),
    ];
    Protocol::header("peer", find, fields).beside_packets()
}

fn peer<M: Machine>(machine: &M) -> Option<Peer> {
    machine.hook().context.peer
}

fn find<M: Machine>(machine: &mut M) -> Values<M> {
    let found = if peer(machine).is_some() { Value::Header("peer") } else { Value::Nothing };
    machine.only(found)
}

fn load<M: Machine>(machine: &mut M, at: i16, size: Size) -> Word {
    let context = machine.program_context();
    let context = machine.value(context);
    machine.load(context, at, size, false)
}

fn store<M: Machine>(machine: &mut M, at: i16, size: Size, word: Word) {
    let context = machine.program_context();
    let context = machine.value(context);
    machine.store(context, at, size, word);
}

fn address<M: Machine>(machine: &mut M) -> Values<M> {
    let Some(Peer { version, address, .. }) = peer(machine) else { return machine.only(Value::Nothing) };
    if version == 4 {
        let word = load(machine, address, Size::B4);
        let word = machine.host_order(word, Size::B4);
        return machine.only(Value::Ipv4(word));
    }
    let [high, low] = [address, address + 8].map(|at| {
        let word = load(machine, at, Size::B8);
        machine.host_order(word, Size::B8)
    });
    machine.only(Value::Ipv6(high, low))
}

/// An address of the other version is unfit.
fn write_address<M: Machine>(
    machine: &mut M,
    value: Value,
    refused: &mut RefusedBy<M>,
) -> Result<(), M::Stop> {
    match (peer(machine), value) {
        (Some(Peer { version: 4, address, .. }), Value::Ipv4(word)) => {
            let word = machine.host_order(word, Size::B4);
            store(machine, address, Size::B4, word);
        }
        (Some(Peer { version: 6, address, .. }), Value::Ipv6(high, low)) => {
            for (at, word) in [(address, high), (address + 8, low)] {
                let word = machine.host_order(word, Size::B8);
                store(machine, at, Size::B8, word);
            }
        }
        _ => refused.unfit.push(machine.take_state()),
    }
    Ok(())
}

fn write_port<M: Machine>(machine: &mut M, value: Value, refused: &mut RefusedBy<M>) -> Result<(), M::Stop> {
    let (Some(Peer { port, .. }), Some(word)) = (peer(machine), word_of(value)) else {
        refused.absent.push(machine.take_state());
        return Ok(());
    };
    let word = machine.shl(word, 16);
    let word = machine.host_order(word, Size::B4);
    store(machine, port, Size::B4, word);
    Ok(())
}
