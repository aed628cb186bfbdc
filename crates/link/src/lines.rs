//! Lines of the source, from the section `.BTF.ext` (Documentation/bpf/btf.rst § 3.2, 4.2).

use crate::error::LinkErrorKind;
use crate::object::{Function, Line};
use moonhook_btf::Types;

/// `struct btf_ext_header`: 16 bits of magic number, version and flags, then words.
const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 4;

/// Words of a record of a line: offset of the instruction, file, text, line and column.
const RECORD: usize = 16;

/// Notes the lines of functions; refuses functions with fields that are to be placed for a kernel.
pub fn read(bytes: &[u8], types: &Types, functions: &mut [Function]) -> Result<(), LinkErrorKind> {
    let cut = || LinkErrorKind::Malformed { problem: "its section .BTF.ext ends too soon".into() };
    if bytes.get(..2) != Some(&MAGIC.to_le_bytes()) {
        return Err(LinkErrorKind::Malformed {
            problem: "its section .BTF.ext does not begin as it should".into(),
        });
    }
    let header = |number: usize| word(bytes, HEADER + 4 * number).map(|word| word as usize);
    let length = header(0).ok_or_else(cut)?;
    let part = |offset: usize, size: usize| {
        let (offset, size) = (header(offset)?, header(size)?);
        bytes.get(length.checked_add(offset)?..)?.get(..size)
    };
    let lines = part(3, 4).ok_or_else(cut)?;
    for (section, record) in Records::new(lines).ok_or_else(cut)? {
        let [offset, file, text, place] = [0, 4, 8, 12].map(|at| word(record, at).unwrap_or_default());
        let (offset, line) = (
            offset as usize / 8,
            Line {
                slot: 0,
                file: types.text(file).into(),
                number: place >> 10,
                text: types.text(text).into(),
            },
        );
        note(functions, types.text(section), offset, line);
    }
    // Older headers have no more.
    let has_fields = length >= HEADER + 4 * 7;
    let fields = if has_fields { part(5, 6).ok_or_else(cut)? } else { &[] };
    match Records::new(fields).ok_or_else(cut)?.next() {
        None => Ok(()),
        Some((section, _)) => {
            let section = types.text(section).to_string();
            let found = functions.iter().find(|function| function.section == section);
            let function = found.map_or(section, |function| function.name.clone());
            Err(LinkErrorKind::Relocatable { function })
        }
    }
}

/// Notes a line with the function of the section that has the instruction, which is counted from the section's start.
fn note(functions: &mut [Function], section: &str, slot: usize, line: Line) {
    let of_section = functions.iter_mut().filter(|function| function.section == section);
    for function in of_section {
        let Some(own) = slot.checked_sub(function.start) else { continue };
        if own < function.code.len() {
            return function.lines.push(Line { slot: own, ..line });
        }
    }
}

/// Records of all sections, each with where the section's name is.
struct Records<'a> {
    rest: &'a [u8],
    size: usize,
    section: u32,
    left: usize,
}

impl<'a> Records<'a> {
    /// `None` where records are shorter than they have to be.
    fn new(part: &'a [u8]) -> Option<Records<'a>> {
        if part.is_empty() {
            return Some(Records { rest: part, size: RECORD, section: 0, left: 0 });
        }
        let size = word(part, 0)? as usize;
        (size >= RECORD).then_some(Records { rest: &part[4..], size, section: 0, left: 0 })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        while self.left == 0 {
            (self.section, self.left) = (word(self.rest, 0)?, word(self.rest, 4)? as usize);
            self.rest = &self.rest[8..];
        }
        let (record, rest) = self.rest.split_at_checked(self.size)?;
        (self.rest, self.left) = (rest, self.left - 1);
        Some((self.section, record))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}
