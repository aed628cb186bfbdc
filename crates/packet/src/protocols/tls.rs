//! `pkt.tls`: a TLS ClientHello at the start of a TCP payload, and its server name (RFC 8446 § 4.1.2, RFC 6066 § 3).

use super::header::{Field, Headers, Parsing, Protocol, Values, absent, nothing};
use super::{network, tcp};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Address, Iteration, Path, Word, WordPaths};
use moonhook_ir::{CompareOp, Size};

/// Record header (5), handshake header (4), version (2), random (32): the session id's length follows.
const SESSION: i64 = 43;

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "tls",
        |machine| machine.header_paths("tls", parse),
        vec![Field::new("sni", sni).of_text()],
    )
}

/// Words: is it a ClientHello, where the payload starts, where it ends.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, others) = machine.found("tcp", tcp::parse)?;
    let mut paths: WordPaths<M> = absent(others).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    let start = words[2];
    let (record, outside) = machine.locate(start, 6)?;
    paths.extend(absent(outside));
    // Content type 22 (handshake) and major version 3; handshake type 1 (ClientHello).
    let head = machine.load_at(record, Size::B2, false);
    let other = machine.compare(CompareOp::Ne, head, 0x0316);
    let (other, handshake) = machine.split(other);
    paths.extend(absent([other]));
    machine.resume(handshake);
    let kind = machine.load_at(record.plus(5), Size::B1, false);
    let other = machine.compare(CompareOp::Ne, kind, 1);
    let (other, hello) = machine.split(other);
    paths.extend(absent([other]));
    machine.resume(hello);
    let words = machine.known_header("ip", network::parse)?;
    let end = network::end(machine, &words)?;
    let size = machine.sub(end, start);
    let short = machine.compare(CompareOp::SLt, size, 6);
    let (short, whole) = machine.split(short);
    paths.extend(absent([short]));
    machine.resume(whole);
    paths.push(machine.take_path(vec![Word::Imm(1), start, end]));
    Ok(paths)
}

/// Reads while parsing are checked against the frame's end only: positions never go back, so one comparison of the last
/// position with the payload's end tells whether all of them were within it.
struct Reader<'w, S> {
    missing: &'w mut Vec<S>,
}

impl<S> Reader<'_, S> {
    /// The address of `size` bytes; parsing ends where they are not in the frame.
    fn at<M: Machine<State = S>>(
        &mut self,
        machine: &mut M,
        position: Word,
        size: u32,
    ) -> Result<Address, M::Stop> {
        let (address, outside) = machine.locate(position, size)?;
        self.missing.extend(outside);
        Ok(address)
    }

    fn number<M: Machine<State = S>>(
        &mut self,
        machine: &mut M,
        position: Word,
        size: Size,
    ) -> Result<Word, M::Stop> {
        let address = self.at(machine, position, size as u32)?;
        let word = machine.load_at(address, size, false);
        Ok(machine.host_order(word, size))
    }
}

fn sni<M: Machine>(machine: &mut M) -> Values<M> {
    let (state, words, none) = machine.found("sni", server_name)?;
    let mut paths: ValuePaths<M> = nothing(none).collect();
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(Value::Bytes { start: words[1], length: words[2] }));
    }
    Ok(paths)
}

/// Words: is there a server name, where it starts, how long it is.
fn server_name<M: Machine>(machine: &mut M) -> Parsing<M> {
    let words = machine.known_header("tls", parse)?;
    let (start, end) = (words[1], words[2]);
    let mut missing = Vec::new();
    let mut reader = Reader { missing: &mut missing };
    let position = machine.add(start, SESSION);
    let session = reader.number(machine, position, Size::B1)?;
    let position = machine.add(position, session);
    let position = machine.add(position, 1);
    let ciphers = reader.number(machine, position, Size::B2)?;
    let position = machine.add(position, ciphers);
    let position = machine.add(position, 2);
    let compressions = reader.number(machine, position, Size::B1)?;
    let position = machine.add(position, compressions);
    let position = machine.add(position, 1);
    let extensions = reader.number(machine, position, Size::B2)?;
    let position = machine.add(position, 2);
    let limit = machine.add(position, extensions);
    let found = find_server_name(machine, position, limit)?;
    let mut paths = Vec::new();
    for path in found {
        let &[name, length] = path.values.as_slice() else {
            missing.push(path.state);
            continue;
        };
        machine.resume(path.state);
        let last = machine.add(name, length);
        let beyond = machine.compare(CompareOp::SGt, last, end);
        let (beyond, whole) = machine.split(beyond);
        missing.push(beyond);
        paths.push(Path { state: whole, values: vec![Word::Imm(1), name, length] });
    }
    paths.extend(absent(missing));
    Ok(paths)
}

/// Extensions that are looked at in one round of the loop, which is what a step of the budget pays for.
const EXTENSIONS_PER_ROUND: usize = 4;

/// Walks the extensions from `position`; paths that find a name carry its position and length, the others nothing.
fn find_server_name<M: Machine>(machine: &mut M, position: Word, limit: Word) -> Parsing<M> {
    machine.iterate(&[position], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let mut position = variables[0];
        let (mut missing, mut named) = (Vec::new(), Vec::new());
        for _ in 0..EXTENSIONS_PER_ROUND {
            position = pass_extension(machine, position, limit, &mut missing, &mut named)?;
        }
        iteration.again(machine, vec![position]);
        if let Some(&[position]) = machine.meet(named)?.as_deref() {
            read_server_name(machine, position, &mut missing, &mut iteration)?;
        }
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

/// Looks at one extension: goes on behind it, or, to `named`, with its position if it is the server name.
fn pass_extension<M: Machine>(
    machine: &mut M,
    position: Word,
    limit: Word,
    missing: &mut Vec<M::State>,
    named: &mut WordPaths<M>,
) -> Result<Word, M::Stop> {
    let over = machine.compare(CompareOp::SGe, position, limit);
    let (over, within) = machine.split(over);
    missing.push(over);
    machine.resume(within);
    let extension = Reader { missing }.at(machine, position, 4)?;
    let kind = machine.load_at(extension, Size::B2, false);
    let server_name = machine.compare(CompareOp::Eq, kind, 0);
    let (server_name, other) = machine.split(server_name);
    named.push(Path { state: server_name, values: vec![position] });
    machine.resume(other);
    let length = machine.load_at(extension.plus(2), Size::B2, false);
    let length = machine.host_order(length, Size::B2);
    let next = machine.add(length, 4);
    Ok(machine.add(position, next))
}

/// The first entry of the list in the extension at `position`: list length (2 bytes), entry type (0: host name), name
/// length (2 bytes), name.
fn read_server_name<M: Machine>(
    machine: &mut M,
    position: Word,
    missing: &mut Vec<M::State>,
    iteration: &mut Iteration<M::State, Vec<Word>>,
) -> Result<(), M::Stop> {
    let list = Reader { missing }.at(machine, position, 9)?;
    let kind = machine.load_at(list.plus(6), Size::B1, false);
    let length = machine.load_at(list.plus(7), Size::B2, false);
    let length = machine.host_order(length, Size::B2);
    for wrong in [machine.compare(CompareOp::Ne, kind, 0), machine.compare(CompareOp::Eq, length, 0)] {
        let (wrong, right) = machine.split(wrong);
        missing.push(wrong);
        machine.resume(right);
    }
    let name = machine.add(position, 9);
    iteration.leave(machine, vec![name, length]);
    Ok(())
}
