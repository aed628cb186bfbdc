//! Fields of HTTP/1 messages (RFC 9112 § 5): lines with a name, a colon and a value.

use super::header::{Parsing, absent};
use super::lines;
use crate::{Access, Machine};
use moonhook_ir::words::{Branches, Iteration, Word, WordPaths};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Splits the current state: where the line that starts there has the name and a colon, and where not.
pub type Matches<'m, M> = dyn FnMut(&mut M, Word) -> Split<M> + 'm;

pub type Split<M> = Result<(Vec<<M as Branches>::State>, Vec<<M as Branches>::State>), <M as Branches>::Stop>;

/// Looks for the first field whose line `matches`, from the line at `first` on to an empty one. Words: is there one with a whole line, where its
/// value starts, how long that is, without blanks at either end. The name has so many bytes.
pub fn find<M: Machine>(
    machine: &mut M,
    (first, end): (Word, Word),
    name: Word,
    matches: &mut Matches<'_, M>,
) -> Parsing<M> {
    let lines = machine.iterate(&[first], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let line = variables[0];
        let mut missing = Vec::new();
        let over = machine.compare(CompareOp::SGe, line, end);
        machine.leave_if(over, &mut missing);
        let (address, outside) = machine.locate(line, 1)?;
        missing.extend(outside);
        let byte = machine.load_at(address, Size::B1, false);
        for empty in [b'\r', b'\n'] {
            let is = machine.compare_apart(CompareOp::Eq, byte, i64::from(empty));
            machine.leave_if(is, &mut missing);
        }
        let (same, others) = matches(machine, line)?;
        machine.enter(same)?;
        iteration.leave(machine, vec![line]);
        machine.enter(others)?;
        let mut found = Vec::new();
        for path in lines::next_line(machine, line, end)? {
            if path.values.is_empty() { missing.push(path.state) } else { found.push(path) }
        }
        if let Some(next) = machine.meet(found)?.and_then(|words| words.first().copied()) {
            iteration.again(machine, vec![next]);
        }
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })?;
    let (found, missing): (Vec<_>, Vec<_>) = lines.into_iter().partition(|path| !path.values.is_empty());
    let mut paths: WordPaths<M> = absent(missing.into_iter().map(|path| path.state)).collect();
    if let Some(&[line]) = machine.meet(found)?.as_deref() {
        let behind = machine.add(line, name);
        let behind = machine.add(behind, 1);
        value(machine, behind, end, &mut paths)?;
    }
    Ok(paths)
}

/// The value behind a colon, in a line that has to end before `end`.
fn value<M: Machine>(
    machine: &mut M,
    position: Word,
    end: Word,
    paths: &mut WordPaths<M>,
) -> Result<(), M::Stop> {
    let mut starts = Vec::new();
    for path in lines::behind_blanks(machine, position, end)? {
        if path.values.is_empty() { paths.extend(absent([path.state])) } else { starts.push(path) }
    }
    let Some(&[start]) = machine.meet(starts)?.as_deref() else { return Ok(()) };
    let mut found = Vec::new();
    for path in lines::next_line(machine, start, end)? {
        if path.values.is_empty() { paths.extend(absent([path.state])) } else { found.push(path) }
    }
    let Some(&[next]) = machine.meet(found)?.as_deref() else { return Ok(()) };
    let feed = machine.sub(next, 1);
    let last = lines::without_blanks(machine, start, feed)?;
    let length = machine.sub(last, start);
    paths.push(machine.take_path(vec![Word::Imm(1), start, length]));
    Ok(())
}

/// Whether the line starts with a name, which is known and in lower case, and a colon.
pub fn has_name<M: Machine>(machine: &mut M, line: Word, name: &[u8]) -> Split<M> {
    let wanted = [name, b":"].concat();
    let (address, mut others) = machine.locate(line, wanted.len() as u32)?;
    let mut at = 0;
    while at < wanted.len() {
        let size = match wanted.len() - at {
            8.. => Size::B8,
            4..8 => Size::B4,
            2..4 => Size::B2,
            _ => Size::B1,
        };
        let part = &wanted[at..at + size as usize];
        let word = machine.load_at(address.plus(at as i16), size, false);
        // The bit that tells upper case from lower, of letters only.
        let case = number(part.iter().map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 }));
        let word = machine.binary(BinaryOp::Or, word, case);
        let other = machine.compare_apart(CompareOp::Ne, word, number(part.iter().copied()));
        machine.leave_if(other, &mut others);
        at += size as usize;
    }
    Ok((vec![machine.take_state()], others))
}

/// Bytes as a word that is loaded of them.
fn number(bytes: impl Iterator<Item = u8>) -> i64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    i64::from_le_bytes(word)
}
