//! `pkt.http`: an HTTP/1 message at the start of a TCP payload (RFC 9112): its first line, and fields behind it.

use super::header::{Field, Headers, Parsing, Protocol, Values, absent, nothing};
use super::{http_fields, lines, network, tcp};
use crate::{Access, Machine, Value, ValuePaths};
use moonhook_ir::words::{Cond, Iteration, Path, Word, WordPaths};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// The shortest first lines: `A / HTTP/1.1` and `HTTP/1.1 200`, each with a line feed.
const SHORTEST: i64 = 13;

/// Letters of a method at most.
const METHOD: i64 = 32;

/// A space and `HTTP/1.1`, at the end of a request's first line.
const VERSION: i64 = 9;

/// The first seven bytes of a version, as the upper ones of a word.
const PREFIX: i64 = i64::from_le_bytes(*b"\0HTTP/1.");

/// Where a header is found: the place of its first byte and of the fields' first line, and where the payload ends.
struct Places {
    start: Word,
    end: Word,
    fields: Word,
}

pub fn protocol<M: Machine>() -> Protocol<M> {
    Protocol::header(
        "http",
        |machine| machine.header_paths("http", parse),
        vec![
            Field::new("method", |c| of_request(c, |_, start, space, _| (start, space))).of_text(),
            Field::new("path", |c: &mut M| {
                of_request(c, |machine, _, space, end| (machine.add(space, 1), end))
            })
            .of_text(),
            Field::new("version", version).of_text(),
            Field::new("status", status),
            Field::new("host", |c| field(c, "http.host", b"host")).of_text(),
            Field::new("user_agent", |c| field(c, "http.user_agent", b"user-agent")).of_text(),
        ],
    )
}

/// Words: is it there, where it starts, where the payload ends, where the line behind the first one starts.
fn parse<M: Machine>(machine: &mut M) -> Parsing<M> {
    machine.shared("http", parse_here, |machine, _| machine.give_packed(parse_here))
}

fn parse_here<M: Machine>(machine: &mut M) -> Parsing<M> {
    let (state, words, others) = machine.found("tcp", tcp::parse)?;
    let mut paths: WordPaths<M> = absent(others).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    let start = words[2];
    let words = machine.known_header("ip", network::parse)?;
    let end = network::end(machine, &words)?;
    // Each path through the headers gives them other bounds; the verifier would walk what follows for each.
    let (start, end) = (machine.unknown(start), machine.unknown(end));
    let size = machine.sub(end, start);
    let short = machine.compare(CompareOp::SLt, size, SHORTEST);
    let (short, enough) = machine.split(short);
    paths.extend(absent([short]));
    machine.resume(enough);
    let (address, outside) = machine.locate(start, SHORTEST as u32)?;
    paths.extend(absent(outside));
    let first = machine.load_at(address, Size::B8, false);
    let is_response = is_version(machine, first);
    let (response, other) = machine.split(is_response);
    machine.resume(response);
    let status = machine.load_at(address.plus(8), Size::B4, false);
    let wrong = not_status(machine, status);
    let (wrong, right) = machine.split(wrong);
    paths.extend(absent([wrong]));
    machine.resume(right);
    let behind = machine.add(start, 12);
    let mut ends = vec![machine.take_path(vec![behind])];
    machine.resume(other);
    if let Some(feed) = request(machine, start, end, &mut paths)? {
        ends.push(machine.take_path(vec![feed]));
    }
    let Some(&[position]) = machine.meet(ends)?.as_deref() else { return Ok(paths) };
    let lines = lines::next_line(machine, position, end)?;
    if let Some(next) = only_found(machine, lines, &mut paths)? {
        paths.push(machine.take_path(vec![Word::Imm(1), start, end, next]));
    }
    Ok(paths)
}

/// Whether the eight bytes are `HTTP/1.` and a digit.
fn is_version<M: Machine>(machine: &mut M, bytes: Word) -> Cond {
    let prefix = machine.shl(bytes, 8);
    let other = machine.binary(BinaryOp::Xor, prefix, PREFIX);
    let minor = machine.shr(bytes, 56);
    let digit = machine.sub(minor, i64::from(b'0'));
    // Both at once: 0 … 9 without any bit of the other.
    let other = machine.compare(CompareOp::Ne, other, 0);
    let other = machine.condition_word(other);
    let other = machine.shl(other, 8);
    let both = machine.binary(BinaryOp::Or, digit, other);
    machine.compare_apart(CompareOp::ULt, both, 10)
}

/// Whether four bytes are no space and three digits.
fn not_status<M: Machine>(machine: &mut M, bytes: Word) -> Cond {
    let first = machine.and(bytes, 0xff);
    let mut wrong = machine.binary(BinaryOp::Xor, first, i64::from(b' '));
    for shift in [8, 16, 24] {
        let digit = machine.shr(bytes, shift);
        let digit = machine.and(digit, 0xff);
        let digit = machine.sub(digit, i64::from(b'0'));
        let other = machine.compare(CompareOp::UGt, digit, 9);
        let other = machine.condition_word(other);
        wrong = machine.binary(BinaryOp::Or, wrong, other);
    }
    machine.compare(CompareOp::Ne, wrong, 0)
}

/// A method, a space, a target, a space and a version: where the line feed behind it is looked for.
fn request<M: Machine>(
    machine: &mut M,
    start: Word,
    end: Word,
    paths: &mut WordPaths<M>,
) -> Result<Option<Word>, M::Stop> {
    if !machine.alive() {
        return Ok(None);
    }
    let methods = method(machine, start)?;
    let Some(space) = only_found(machine, methods, paths)? else { return Ok(None) };
    let lines = lines::next_line(machine, space, end)?;
    let Some(next) = only_found(machine, lines, paths)? else { return Ok(None) };
    let target_end = target_end(machine, start, next)?;
    // Behind the method's space there is at least one byte of a target.
    let least = machine.add(space, 2);
    let short = machine.compare(CompareOp::SLt, target_end, least);
    let (short, enough) = machine.split(short);
    paths.extend(absent([short]));
    machine.resume(enough);
    let (address, outside) = machine.locate(target_end, VERSION as u32)?;
    paths.extend(absent(outside));
    let between = machine.load_at(address, Size::B1, false);
    let other = machine.compare(CompareOp::Ne, between, i64::from(b' '));
    let (other, spaced) = machine.split(other);
    paths.extend(absent([other]));
    machine.resume(spaced);
    let bytes = machine.load_at(address.plus(1), Size::B8, false);
    let right = is_version(machine, bytes);
    let (right, wrong) = machine.split(right);
    paths.extend(absent([wrong]));
    machine.resume(right);
    let feed = machine.sub(next, 1);
    Ok(machine.alive().then_some(feed))
}

/// Where the target of a request ends whose next line starts there.
fn target_end<M: Machine>(machine: &mut M, start: Word, next: Word) -> Result<Word, M::Stop> {
    let feed = machine.sub(next, 1);
    let line = lines::without_return(machine, start, feed)?;
    Ok(machine.sub(line, VERSION))
}

/// Goes on where a line was found, with where the next one starts.
fn only_found<M: Machine>(
    machine: &mut M,
    all: WordPaths<M>,
    paths: &mut WordPaths<M>,
) -> Result<Option<Word>, M::Stop> {
    let (found, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| !path.values.is_empty());
    paths.extend(absent(missing.into_iter().map(|path| path.state)));
    Ok(machine.meet(found)?.and_then(|words| words.first().copied()))
}

/// Passes over upper-case letters and hyphens; paths that come to a space behind some carry where it is, the others nothing.
fn method<M: Machine>(machine: &mut M, start: Word) -> Parsing<M> {
    let most = machine.add(start, METHOD);
    machine.iterate(&[start], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let position = variables[0];
        let mut wrong = Vec::new();
        let (address, outside) = machine.locate(position, 1)?;
        wrong.extend(outside);
        let byte = machine.load_at(address, Size::B1, false);
        let letter = machine.sub(byte, i64::from(b'A'));
        let mut more = Vec::new();
        let letter = machine.compare_apart(CompareOp::ULt, letter, 26);
        machine.leave_if(letter, &mut more);
        let hyphen = machine.compare_apart(CompareOp::Eq, byte, i64::from(b'-'));
        machine.leave_if(hyphen, &mut more);
        let other = machine.compare_apart(CompareOp::Ne, byte, i64::from(b' '));
        machine.leave_if(other, &mut wrong);
        let none = machine.compare_apart(CompareOp::SLe, position, start);
        machine.leave_if(none, &mut wrong);
        iteration.leave(machine, vec![position]);
        machine.enter(more)?;
        let next = machine.add(position, 1);
        let many = machine.compare_apart(CompareOp::SGt, next, most);
        machine.leave_if(many, &mut wrong);
        iteration.again(machine, vec![next]);
        wrong.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

fn places<M: Machine>(machine: &mut M) -> Result<Places, M::Stop> {
    let words = machine.known_header("http", parse)?;
    Ok(Places { start: words[1], end: words[2], fields: words[3] })
}

/// The states in which the message is a request and in which it is a response.
fn by_kind<M: Machine>(machine: &mut M, start: Word) -> Result<[M::State; 2], M::Stop> {
    let first = machine.known_address(start, SHORTEST as u32)?;
    let first = machine.load_at(first, Size::B8, false);
    let response = is_version(machine, first);
    let (response, request) = machine.split(response);
    Ok([request, response])
}

/// A part of a request's first line: `part` says from where to where, of where the line starts, the space behind its method, and its target's
/// end.
fn of_request<M: Machine>(machine: &mut M, part: fn(&mut M, Word, Word, Word) -> (Word, Word)) -> Values<M> {
    let Places { start, fields, .. } = places(machine)?;
    let [request, response] = by_kind(machine, start)?;
    let mut paths: ValuePaths<M> = nothing([response]).collect();
    machine.resume(request);
    if !machine.alive() {
        return Ok(paths);
    }
    let mut none = Vec::new();
    let methods = method(machine, start)?;
    if let Some(space) = only_found(machine, methods, &mut none)? {
        let end = target_end(machine, start, fields)?;
        let (from, to) = part(machine, start, space, end);
        let length = machine.sub(to, from);
        paths.push(machine.take_path(Value::Bytes { start: from, length }));
    }
    paths.extend(nothing(none.into_iter().map(|path| path.state)));
    Ok(paths)
}

fn version<M: Machine>(machine: &mut M) -> Values<M> {
    let Places { start, fields, .. } = places(machine)?;
    let [request, response] = by_kind(machine, start)?;
    machine.resume(request);
    let end = target_end(machine, start, fields)?;
    let of_request = machine.add(end, 6);
    let request = machine.take_state();
    machine.resume(response);
    let of_response = machine.add(start, 5);
    let response = machine.take_state();
    let start = machine.either(request, of_request, response, of_response)?;
    machine.only(Value::Bytes { start, length: Word::Imm(3) })
}

fn status<M: Machine>(machine: &mut M) -> Values<M> {
    let Places { start, .. } = places(machine)?;
    let [request, response] = by_kind(machine, start)?;
    let mut paths: ValuePaths<M> = nothing([request]).collect();
    machine.resume(response);
    let mut status = Word::Imm(0);
    for at in [9, 10, 11] {
        let digit = machine.header_field(start, at, Size::B1, SHORTEST as u32)?;
        let digit = machine.sub(digit, i64::from(b'0'));
        status = machine.binary(BinaryOp::Mul, status, 10);
        status = machine.add(status, digit);
    }
    paths.push(machine.take_path(Value::Number(status)));
    Ok(paths)
}

/// The value of the first field of that name, which is in lower case.
fn field<M: Machine>(machine: &mut M, key: &'static str, name: &'static [u8]) -> Values<M> {
    let (state, words, none) = machine.found(key, |machine| {
        let Places { end, fields, .. } = places(machine)?;
        let mut matches = |machine: &mut M, line: Word| http_fields::has_name(machine, line, name);
        http_fields::find(machine, (fields, end), Word::Imm(name.len() as i64), &mut matches)
    })?;
    let mut paths: ValuePaths<M> = nothing(none).collect();
    machine.resume(state);
    if machine.alive() {
        paths.push(machine.take_path(Value::Bytes { start: words[1], length: words[2] }));
    }
    Ok(paths)
}

/// The value of the first field whose line `matches`, which has so many bytes before the colon; nothing also where a write has made the
/// message disappear.
pub fn find_field<M: Machine>(
    machine: &mut M,
    name: Word,
    matches: &mut http_fields::Matches<'_, M>,
) -> Values<M> {
    let (state, words, none) = machine.found("http", parse)?;
    let mut paths: ValuePaths<M> = nothing(none).collect();
    machine.resume(state);
    if !machine.alive() {
        return Ok(paths);
    }
    for path in http_fields::find(machine, (words[3], words[2]), name, matches)? {
        let value = match path.values[..] {
            [Word::Imm(1), start, length] => Value::Bytes { start, length },
            _ => Value::Nothing,
        };
        paths.push(Path { state: path.state, values: value });
    }
    Ok(paths)
}
