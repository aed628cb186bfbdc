//! Memory that handlers read and write: the frame, the constant pool and the per-CPU region.
//!
//! Guarantees that every access carries the check that the kernel's verifier wants, next to the use and on the same
//! value (KERNEL: `find_good_pkt_pointers` in kernel/bpf/verifier.c tracks a comparison with the packet's end by the
//! pointer's id), and that facts already proved are not proved again.

use crate::Options;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::exported;
use crate::nesting::{self, Parts};
use crate::pool::{POOL_MASK, TAIL};
use crate::region::{COPY_SIZE, MARGIN, REGION_SIZE, STRINGS_END};
use crate::stored::known::Stored;
use crate::subprograms::of_program;
use crate::target::Taken;
use crate::value::{Space, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Path, Words};
use moonhook_ir::{AtomicOp, BinaryOp, CompareOp, Op, Size, helper};
use moonhook_packet::{Access, MAX_DISPLACEMENT, MAX_FRAME};

/// The stack slot of the region's key, by the name that [`crate::shared::known::SharedTables::slot`] takes.
const REGION_KEY: u32 = 2;

impl Context<'_> {
    /// The address of `size` bytes at `offset` of a space, which are known to be there. The verifier is given the proof
    /// that it needs; where that proof is a branch, its other side cannot be taken.
    pub fn address(&mut self, space: Space, offset: Word, size: u32) -> Result<Address> {
        match space {
            Space::Packet => self.known_address(offset, size),
            Space::Pool => match offset {
                Word::Imm(offset) => {
                    // A constant position behind all strings is never read, but the verifier may not know that.
                    let end = self.output.pool.bytes.len() as i64 + TAIL;
                    let offset = if (0..=end - i64::from(size)).contains(&offset) { offset } else { 0 };
                    let base =
                        self.emit(Op::DataAddress { map: self.output.pool_map, offset: offset as u32 });
                    Ok(Address { base, disp: 0 })
                }
                offset => {
                    let base = self.emit(Op::DataAddress { map: self.output.pool_map, offset: 0 });
                    let offset = self.value(offset);
                    self.output.pool.reach = self.output.pool.reach.max(size);
                    let masked = self.emit(Op::Binary(BinaryOp::And, offset, POOL_MASK));
                    let base = self.emit(Op::Binary(BinaryOp::Add, base, masked.into()));
                    Ok(Address { base, disp: 0 })
                }
            },
            Space::Scratch => self.around.scratch_address(self, offset),
        }
    }

    /// The address of this CPU's region, which has at least so many bytes.
    pub fn region_of(&mut self, bytes: i64) -> Result<ir::Value> {
        let region = self.region()?;
        if let Some(map) = self.output.known_map(ir::maps::REGION)
            && let ir::MapKind::Map(definition) = &mut self.output.module.maps[map.0 as usize].kind
        {
            definition.value_size = definition.value_size.max(bytes as u32).next_multiple_of(8);
        }
        Ok(region)
    }

    /// The address of this CPU's region; an error where the machine has more CPUs than the program was made for.
    pub fn region(&mut self) -> Result<ir::Value> {
        if let Some(region) = self.state.facts.region {
            return Ok(region);
        }
        let (map, parts) = self.region_map();
        let cpu = match self.target.taken {
            Some(Taken { cpu, .. }) => cpu,
            None => self.helper(helper::GET_SMP_PROCESSOR_ID, &[]),
        };
        let number = self.binary(BinaryOp::Mul, cpu, i64::from(parts.all));
        let number = self.add(number, i64::from(parts.first));
        let level = self.around.level(self);
        let number = self.binary(BinaryOp::Add, number, level);
        // One slot for all: in a loop the verifier tells paths apart by which slots they have written.
        let slot = self.known.shared.slot(REGION_KEY, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        self.store(key, 0, Size::B4, number);
        let map = self.emit(Op::MapReference(map));
        let region = self.helper(helper::MAP_LOOKUP_ELEM, &[map.into(), key.into()]);
        let missing = self.compare(CompareOp::Eq, region, 0);
        self.fail_if(missing, |context| context.fail(Message::bare("not enough memory")));
        let region = self.value(region);
        self.state.facts.region = Some(region);
        Ok(region)
    }

    /// The map of regions, and which of them the program has.
    pub fn region_map(&mut self) -> (ir::MapId, Parts) {
        // Programs can interrupt one another on one CPU: each has its own.
        let parts = exported::memory(self.snapshot, self.options, self.target.program);
        let definition = ir::MapDefinition {
            map_type: ir::MapType::Array,
            key_size: 4,
            value_size: self.known.stored.region_size(self.options) as u32,
            max_entries: self.options.cpus * parts.all,
            flags: 0,
        };
        (self.output.map(ir::maps::REGION, || ir::MapKind::Map(definition)), parts)
    }

    /// Takes memory of this CPU for the program, where others of its hook can interrupt it; an error where there is none.
    pub fn take_level(&mut self) -> Result<()> {
        let (hook, program) = (self.target.hook, self.target.program);
        let levels = hook.levels(self.options.clones);
        if levels == 1 {
            return Ok(());
        }
        let cpu = self.helper(helper::GET_SMP_PROCESSOR_ID, &[]);
        let [place, level] = self.taken_level(cpu)?;
        let (map, _) = self.taken();
        let base = self.emit(Op::DataAddress { map, offset: program as u32 * self.options.cpus * 8 });
        let word = self.value(place);
        let word = self.emit(Op::Binary(BinaryOp::Add, base, word.into()));
        self.target.taken = Some(Taken { cpu, level, word });
        let none = self.compare(CompareOp::UGe, level, i64::from(levels));
        self.fail_if(none, |context| context.fail(Message::bare("not enough memory")));
        Ok(())
    }

    /// Takes a level of that CPU. Gives where the CPU's word is among those of the program, in bytes, and the level, or more than there are if
    /// there is none. The first level is nearly always free, and taken here: a call takes longer than all else of this.
    fn taken_level(&mut self, cpu: Word) -> Result<[Word; 2]> {
        let (hook, program) = (self.target.hook, self.target.program);
        let (map, cpus) = self.taken();
        let known = self.compare(CompareOp::ULt, cpu, i64::from(cpus));
        let (known, beyond) = self.split(known);
        self.resume(known);
        let place = self.shl(cpu, 3);
        let base = self.emit(Op::DataAddress { map, offset: program as u32 * cpus * 8 });
        let word = self.value(place);
        let base = self.emit(Op::Binary(BinaryOp::Add, base, word.into()));
        let value = self.value(Word::Imm(1));
        let before = self.emit(Op::Atomic { op: AtomicOp::Or, size: Size::B8, base, disp: 0, value });
        let before = self.and(Word::Value(before), 1);
        let free = self.compare(CompareOp::Eq, before, 0);
        let (free, busy) = self.split(free);
        self.resume(busy);
        self.make_cold();
        let take = nesting::take(&of_program("take_level", program), hook, program, (map, cpus));
        let take = self.placed_once(take);
        let level = self.call_function(take, &[cpu]);
        let busy = self.take_state();
        // Where there is no memory for the CPU, that of another one is left alone: its word has no such bit.
        let none = Word::Imm(hook.levels(true).into());
        let paths = [(free, [place, Word::Imm(0)]), (busy, [place, level]), (beyond, [Word::Imm(0), none])];
        let paths = paths.map(|(state, values)| Path { state, values: values.to_vec() });
        let met = self.meet(paths.into())?;
        Ok(met.and_then(|words| words.try_into().ok()).unwrap_or([Word::Imm(0), none]))
    }

    /// Gives back what [`Context::take_level`] has taken; nothing where there was none.
    pub fn give_back_level(&mut self) {
        let Some(Taken { level, word, .. }) = self.target.taken else { return };
        let one = self.value(Word::Imm(1));
        let level = self.value(level);
        let bit = self.emit(Op::Binary(BinaryOp::Shl, one, level.into()));
        let value = self.emit(Op::Binary(BinaryOp::Xor, bit, ir::Operand::Imm(-1)));
        self.emit(Op::Atomic { op: AtomicOp::And, size: Size::B8, base: word, disp: 0, value });
    }

    /// The section that says which levels are taken, and for how many CPUs.
    fn taken(&mut self) -> (ir::MapId, u32) {
        let (programs, cpus) = (self.snapshot.points().len(), self.options.cpus);
        (self.output.map(ir::maps::TAKEN, || nesting::taken(programs, cpus)), cpus)
    }

    fn placed_once(&mut self, function: ir::Function) -> ir::FunctionId {
        match self.known_subprogram(&function.name) {
            Some(known) => known,
            None => self.place_subprogram(function),
        }
    }

    /// The address of bytes of this CPU's region at an offset of its strings.
    pub fn address_in_region(&mut self, offset: Word) -> Result<Address> {
        let region = self.region()?;
        match offset {
            Word::Imm(offset) if (0..=MAX_DISPLACEMENT).contains(&offset) => {
                Ok(Address { base: region, disp: offset as i16 })
            }
            offset => Ok(self.masked(region, offset, self.known.stored.scratch_mask(self.options))),
        }
    }

    /// Reserves `length` bytes for a string; gives their offset in [`Space::Scratch`]. `length` must not be negative.
    pub fn allocate(&mut self, length: Word) -> Result<Word> {
        self.around.allocate(self, length)
    }

    /// Reserves `length` bytes of this CPU's region.
    pub fn allocate_in_region(&mut self, length: Word) -> Word {
        let start = self.unknown(self.state.scratch);
        let too_long = self.compare(CompareOp::UGt, length, MAX_FRAME);
        self.fail_if(too_long, |context| context.fail(Message::bare("not enough memory")));
        let end = self.add(start, length);
        let full = self.compare(CompareOp::UGt, end, STRINGS_END - 8);
        self.fail_if(full, |context| context.fail(Message::bare("not enough memory")));
        self.state.scratch = end;
        start
    }
}

impl Stored {
    /// Bytes of the region; keys of shared tables that are traversed follow in programs that do that.
    pub fn region_size(&self, options: &Options) -> i64 {
        match (self.is_used(), options.copies) {
            (true, _) => options.tables_end() + MARGIN,
            (false, true) => REGION_SIZE + COPY_SIZE,
            (false, false) => REGION_SIZE,
        }
    }
}
