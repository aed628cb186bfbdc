//! Chains of eCLAT in programs: what they ask of the packet, and what they call.

mod lower;
mod numbers;

use crate::context::{Context, Result};
use crate::linked;
use crate::message::Message;
use crate::value::Word;
use moonhook_eclat::token::At;
use moonhook_eclat::tree::Chains;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{Piece, Size, UnaryOp};
use moonhook_packet::Access;
use moonhook_snapshot::{LoadedCallee, LoadedChain, Snapshot};

pub use lower::lower;
pub use numbers::filled;

impl lower::Host for Context<'_> {
    fn at(&mut self, file: &str, at: At) -> Result<()> {
        self.known.work.lines += 1;
        self.check_growth()?;
        let source = self.snapshot.sources.iter().position(|source| source.name == file);
        if let Some(source) = source {
            (self.code.loc.source, self.code.loc.line) = (source as _, at.line);
        }
        Ok(())
    }

    fn read(&mut self, offset: Word, bits: u32) -> Result<Word> {
        let size = size_of_bits(bits);
        let (address, outside) = self.locate(offset, size as u32)?;
        self.fail_in(outside, |context| beyond(context, "readU", (offset, bits)))?;
        if !self.alive() {
            return Ok(Word::Imm(0));
        }
        let number = self.load_at(address, size, false);
        Ok(swapped(self, number, bits))
    }

    fn write(&mut self, offset: Word, bits: u32, number: Word) -> Result<()> {
        let size = size_of_bits(bits);
        if !self.target.hook.can_write() {
            fail(self, "packets are read only at this hook");
            return Ok(());
        }
        let (address, outside) = self.locate(offset, size as u32)?;
        self.fail_in(outside, |context| beyond(context, "writeU", (offset, bits)))?;
        if self.alive() {
            self.before_packet_write()?;
            let number = swapped(self, number, bits);
            self.write_word(address, offset, size, number);
            self.packet_written();
        }
        Ok(())
    }

    fn map(&mut self, chains: &Chains, read: usize, key: &[Word]) -> Result<Word> {
        let snapshot = self.snapshot;
        match loaded(snapshot, chains).and_then(|loaded| loaded.maps.get(read)) {
            Some(map) => linked::entry(self, map, key),
            None => self.internal_fault(format!("{} was loaded without a map that it reads", chains.file)),
        }
    }

    fn call(&mut self, chains: &Chains, program: usize, arguments: &[Word]) -> Result<Word> {
        let snapshot = self.snapshot;
        match loaded(snapshot, chains).and_then(|loaded| loaded.programs.get(program)) {
            Some(LoadedCallee::Object(program)) => linked::call_program(self, *program, arguments),
            // Chains that call functions in Lua are Lua themselves.
            Some(LoadedCallee::Lua { .. }) | None => {
                let name = &chains.programs[program].name;
                self.internal_fault(format!("{} was loaded without the program '{name}'", chains.file))
            }
        }
    }

    fn decide(&mut self, chains: &Chains, program: usize, verdict: Word) -> Result<()> {
        let name = &chains.programs[program].name;
        let message = Message {
            pieces: vec![
                Piece::Text(at_line(self, &format!("the function '{name}' gives a chain ")).into_bytes()),
                Piece::Argument("%d".into()),
                Piece::Text(b", expected a verdict".to_vec()),
            ],
            positioned: false,
        };
        self.check_verdict(verdict, &message)?;
        if self.alive() {
            self.around.decide(self, verdict);
        }
        Ok(())
    }
}

/// A chain of that script that load time has loaded.
fn loaded<'s>(snapshot: &'s Snapshot, chains: &Chains) -> Option<&'s LoadedChain> {
    snapshot.chains.iter().find(|loaded| std::ptr::eq(&*loaded.script, chains))
}

fn size_of_bits(bits: u32) -> Size {
    match bits {
        8 => Size::B1,
        16 => Size::B2,
        32 => Size::B4,
        _ => Size::B8,
    }
}

fn beyond(context: &mut Context<'_>, function: &str, (offset, bits): (Word, u32)) -> Result<()> {
    context.check_outside(offset, bits / 8);
    fail(context, &format!("`Packet.{function}{bits}`: the packet ends before"));
    Ok(())
}

/// Raises an error at the present line of the chain: what general code knows at packet time is the line of the script that has called it.
fn fail(context: &mut Context<'_>, message: &str) {
    context.fail(Message::bare(at_line(context, message)));
}

/// A message, with the present line of the chain in front.
fn at_line(context: &Context<'_>, message: &str) -> String {
    let moonhook_ir::Loc { source, line, .. } = context.code.loc;
    let file = context.snapshot.sources.get(source as usize).map_or("?", |source| source.name.as_str());
    format!("{file}:{line}: {message}")
}

/// A number of the packet's bytes, the first one highest, from one with the first one lowest, and the other way round.
fn swapped(context: &mut Context<'_>, number: Word, bits: u32) -> Word {
    match bits {
        16 => context.unary(UnaryOp::Swap16, number),
        32 => context.unary(UnaryOp::Swap32, number),
        64 => context.unary(UnaryOp::Swap64, number),
        _ => context.and(number, 0xff),
    }
}
