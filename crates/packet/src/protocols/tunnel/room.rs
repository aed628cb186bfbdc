//! Room for headers behind that of the link, and that header.

use super::super::link::{ETHERNET, TAG};
use super::Failed;
use crate::lengths::ChangeLength;
use crate::{Access, Machine};
use moonhook_hook::Lengths;
use moonhook_hook::lengths::AFTER_LINK;
use moonhook_ir::Size;
use moonhook_ir::words::Word;

/// Makes the frame longer by so many bytes at `start`, in front of an IP header.
pub fn make<M: Machine>(
    machine: &mut M,
    start: u32,
    (bytes, flags): (u32, i64),
    failed: &mut Failed<M::State>,
) -> Result<(), M::Stop> {
    match machine.hook().lengths {
        Some(Lengths::Ends { head, .. }) => {
            let link = read_link(machine, start)?;
            machine.ask(head, &[Word::Imm(-i64::from(bytes))], &mut failed.refused)?;
            write_link(machine, 0, start, &link)
        }
        Some(Lengths::Stack { room, .. }) if start == ETHERNET => {
            let arguments = [i64::from(bytes), AFTER_LINK, flags].map(Word::Imm);
            machine.ask(room, &arguments, &mut failed.refused)
        }
        _ => {
            failed.refused.push(machine.take_state());
            Ok(())
        }
    }
}

/// Parts of a link's header of so many bytes that can be read at once.
fn parts(bytes: u32) -> Vec<(i64, Size)> {
    let tags = (ETHERNET..bytes).step_by(TAG as usize).map(|at| (i64::from(at), Size::B4));
    [(0, Size::B8), (8, Size::B4), (12, Size::B2)].into_iter().chain(tags).collect()
}

/// The parts of the link's header of so many bytes.
pub fn read_link<M: Machine>(machine: &mut M, bytes: u32) -> Result<Vec<Word>, M::Stop> {
    read_link_at(machine, Word::Imm(0), bytes)
}

/// The same of one that stands elsewhere in the frame.
pub fn read_link_at<M: Machine>(machine: &mut M, start: Word, bytes: u32) -> Result<Vec<Word>, M::Stop> {
    let address = machine.known_address(start, bytes)?;
    let parts = parts(bytes).into_iter();
    Ok(parts.map(|(at, size)| machine.load_at(address.plus(at as i16), size, false)).collect())
}

/// Writes such parts at `start`.
pub fn write_link<M: Machine>(
    machine: &mut M,
    start: u32,
    bytes: u32,
    words: &[Word],
) -> Result<(), M::Stop> {
    if machine.alive() {
        let first = i64::from(start);
        let address = machine.known_address(Word::Imm(first), bytes)?;
        for ((at, size), word) in parts(bytes).into_iter().zip(words) {
            machine.write_word(address.plus(at as i16), Word::Imm(first + at), size, *word);
        }
    }
    Ok(())
}

/// Says what is behind the link's header of so many bytes.
pub fn write_kind<M: Machine>(machine: &mut M, bytes: u32, kind: i64) -> Result<(), M::Stop> {
    let at = i64::from(bytes) - 2;
    let address = machine.known_address(Word::Imm(0), bytes)?.plus(at as i16);
    machine.write_word(address, Word::Imm(at), Size::B2, Word::Imm(kind));
    Ok(())
}
