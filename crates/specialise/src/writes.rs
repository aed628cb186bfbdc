//! What a write to the packet changes: what was parsed of headers no longer holds, and strings of packet bytes that are still needed are
//! copied first, since a string never changes (Lua manual § 2.1).

use crate::cases::{has_case, is_text_in};
use crate::context::{Context, Result, Stop};
use crate::events::Message;
use crate::state::{Slot, State};
use crate::value::{Abs, Space};
use moonhook_ir::words::Branches;
use moonhook_packet::Access;

impl Context<'_> {
    /// Must stand before every write to the packet. Strings that the current function goes on using are copied to the
    /// scratch region; where a calling function holds one, the script is refused, since its variables are out of reach.
    pub fn before_packet_write(&mut self) -> Result<()> {
        let innermost = self.execution.calls.len().saturating_sub(1);
        for index in 0..innermost {
            let live = self.execution.live_registers(index);
            let Some(registers) = self.execution.callers.get(index + 1) else { continue };
            let held = |(register, slot): (usize, &Slot)| {
                live.contains(register) && matches!(slot, Slot::Direct(value) if is_packet_text(value))
            };
            if registers.iter().enumerate().any(held) {
                let case = |slot: &Slot| matches!(slot, Slot::Direct(value) if has_case(value));
                if !self.known.writes_cases && self.around.learns() && registers.iter().any(case) {
                    // Where they are written at once, none of them stands in the way.
                    self.known.writes_cases = true;
                    return Err(Stop::Restart);
                }
                return self.unsupported(
                    "writing the packet while a calling function holds a string of packet bytes",
                    "write the packet first, or read the string again afterwards",
                    None,
                );
            }
        }
        let live = self.execution.live_registers(innermost);
        for register in 0..self.state.registers.len() {
            let value = match &self.state.registers[register] {
                Slot::Direct(value) if live.contains(register) && is_packet_text(value) => value.clone(),
                _ => continue,
            };
            let copy = self.outlasting(&value)?;
            self.state.registers[register] = Slot::Direct(copy);
        }
        let cells: Vec<u32> = self.state.cells.keys().copied().collect();
        for cell in cells {
            if let Some(value) = self.state.cells.get(&cell).filter(|value| is_packet_text(value)).cloned() {
                let copy = self.outlasting(&value)?;
                self.state.cells.insert(cell, copy);
            }
        }
        Ok(())
    }

    /// Must stand behind every write to the packet.
    pub fn packet_written(&mut self) {
        self.note_packet_written();
        self.forget_keys();
    }

    /// Raises the error that the kernel does not change the packet's length.
    pub fn fail_length(&mut self, refused: Vec<State>, grows: bool) -> Result<()> {
        self.fail_in(refused, |context| {
            let how = if grows { "longer" } else { "shorter" };
            context.fail(Message::new(format!("packet cannot be made {how}")));
            Ok(())
        })
    }

    /// The packet was written: what was looked up may have had another key.
    pub fn forget_keys(&mut self) {
        self.known.shared.additions.forget_keys();
        self.state.facts.forget_keys();
    }

    /// The same value, with packet bytes copied.
    fn outlasting(&mut self, value: &Abs) -> Result<Abs> {
        self.dispatch_one(value, &mut |context, value| match value {
            Abs::Str(text) if is_packet_text(&Abs::Str(text.clone())) => Ok(Abs::Str(context.copied(text)?)),
            other => Ok(other),
        })
    }
}

fn is_packet_text(value: &Abs) -> bool {
    is_text_in(value, Space::Packet)
}
