//! Memory that handlers read and write: the frame, the constant pool and the per-CPU region.
//!
//! Guarantees that every access carries the check that the kernel's verifier wants, next to the use and on the same
//! value (KERNEL: `find_good_pkt_pointers` in kernel/bpf/verifier.c tracks a comparison with the packet's end by the
//! pointer's id), and that facts already proved are not proved again.

use crate::context::{Context, Result, TAIL};
use crate::events::Message;
use crate::region::{
    COMMON_REACH, COPY_SIZE, MARGIN, MAX_DISPLACEMENT, MAX_FRAME, MAX_LENGTH, READABLE, REGION_SIZE,
    STRINGS_END,
};
use crate::state::{Pointer, State};
use crate::value::{Abs, Space, Word};
use moonhook_ir as ir;
use moonhook_ir::helper;
use moonhook_ir::words::{Address, Cond, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};

/// The stack slot of the region's key, by the name that [`crate::shared::known::SharedTables::slot`] takes.
const REGION_KEY: u32 = 2;

/// Stands for the mask of an offset into the pool until the pool's size is known (`program.rs`).
pub const POOL_MASK: ir::Operand = ir::Operand::Imm(0);

impl Context<'_> {
    /// The frame's length in bytes.
    pub fn packet_length(&mut self) -> Word {
        if let Some(copy) = self.copy {
            return copy.length;
        }
        let (start, end) = (self.packet_start, self.packet_end);
        let length = self.binary(BinaryOp::Sub, end, start);
        let length = self.and(length, MAX_LENGTH);
        self.note_read("#", Word::Imm(0), &Abs::Int(length));
        length
    }

    /// Bytes of the frame, from its start, that can be read.
    pub fn readable(&self) -> i64 {
        if self.copy.is_some() { MAX_FRAME } else { READABLE }
    }

    /// Raises an error where bytes up to `end` are wanted, which lies within the frame, and not all of them can be read.
    pub fn check_readable(&mut self, end: Word) {
        let beyond = self.compare(CompareOp::UGt, end, self.readable());
        self.fail_if(beyond, Context::fail_unreadable);
    }

    /// Goes on, where [`Context::locate`] has not found `size` bytes at `offset`, if they do not lie within the frame; raises an error
    /// if it is only that they cannot be read.
    pub fn check_outside(&mut self, offset: Word, size: u32) {
        if self.range(offset).within(i64::MIN, MAX_DISPLACEMENT) {
            return;
        }
        // No frame is shorter than what is read at once.
        let length = self.packet_length();
        let last = self.sub(length, i64::from(size));
        let within = self.compare(CompareOp::ULe, offset, last);
        self.fail_if(within, Context::fail_unreadable);
    }

    fn fail_unreadable(&mut self) {
        self.fail(Message::new(format!("only the first {READABLE} bytes of a frame can be read")));
    }

    /// The address of `size` bytes at `offset` of the frame, in the current state; and the states in which they do not
    /// lie within the frame.
    pub fn locate(&mut self, offset: Word, size: u32) -> (Address, Vec<State>) {
        if let Some(copy) = self.copy {
            return self.locate_in_copy(copy, offset, size);
        }
        let mut outside = Vec::new();
        let limit = MAX_FRAME - i64::from(size);
        match offset {
            Word::Imm(imm) if (0..=MAX_DISPLACEMENT).contains(&imm) => {
                let needed = imm as u32 + size;
                let address = Address { base: self.packet_start, disp: imm as i16 };
                if self.state.facts.length < needed {
                    self.check_end(self.packet_start, needed, &mut outside);
                    self.state.facts.length = needed;
                }
                (address, outside)
            }
            Word::Imm(imm) if imm < 0 || imm > limit => {
                outside.push(self.take_state());
                (Address { base: self.packet_start, disp: 0 }, outside)
            }
            // Nothing is accessed, so no pointer has to be proved: the place itself must lie within the frame.
            offset if size == 0 => {
                let length = self.packet_length();
                let beyond = self.compare(CompareOp::UGt, offset, length);
                self.leave_if(beyond, &mut outside);
                (Address { base: self.packet_start, disp: 0 }, outside)
            }
            offset => {
                let (root, disp) = self.root_of(offset);
                let needed = disp as u32 + size;
                let pointer = self.pointer_to(root, needed, &mut outside);
                if pointer.proved < needed {
                    self.check_end(pointer.address, needed, &mut outside);
                    if let Some(pointer) = self.state.facts.pointer(root) {
                        pointer.proved = needed;
                    }
                }
                (Address { base: pointer.address, disp: disp as i16 }, outside)
            }
        }
    }

    /// The pointer to offset `root`, bounded so that `needed` bytes behind it can be proved: beyond `MAX_PACKET_OFF` the
    /// verifier takes no comparison with the packet's end for a proof.
    fn pointer_to(&mut self, root: ir::Value, needed: u32, outside: &mut Vec<State>) -> Pointer {
        let most = MAX_FRAME - i64::from(needed.max(COMMON_REACH));
        let known = self.state.facts.pointer(root).copied();
        if let Some(pointer) = known
            && pointer.most <= most
        {
            return pointer;
        }
        let within = self.range(Word::Value(root)).within(0, most);
        let bounded = if known.is_none() { self.with_bounds(Word::Value(root), most) } else { None };
        // An address cannot be bounded later on: the same offset is added again, as a value of its own. So is one from
        // outside of a loop, which the allocator may have put on the stack, where the verifier forgets, coming round, that
        // what is compared and what is added are the same (`widen_imprecise_scalars`). A copy is compared whatever is known here.
        let offset = match bounded {
            Some(bounded) => self.value(bounded),
            None if known.is_none() && root.0 >= self.code.loop_start && !within => root,
            None => self.emit(Op::Unary(ir::UnaryOp::Unlink, root)),
        };
        let cond = self.compare(CompareOp::UGt, offset, most);
        self.leave_if(cond, outside);
        let address = self.emit(Op::Binary(BinaryOp::Add, self.packet_start, offset.into()));
        let most = most.min(self.range(Word::Value(root)).max);
        let pointer = Pointer { offset: root, address, most, proved: 0 };
        self.state.facts.pointers.retain(|other| other.offset != root);
        self.state.facts.pointers.push(pointer);
        pointer
    }

    /// Splits an offset into a value that is known not to be negative and a small constant.
    fn root_of(&mut self, offset: Word) -> (ir::Value, i64) {
        if let Word::Value(value) = offset
            && let Some(&(root, constant)) = self.code.sums.get(&value)
            && (0..=MAX_DISPLACEMENT).contains(&constant)
            && (self.range(Word::Value(root)).min >= 0 || self.state.facts.pointer(root).is_some())
        {
            return (root, constant);
        }
        (self.value(offset), 0)
    }

    /// Leaves, to `outside`, where fewer than `needed` bytes lie behind `base`.
    fn check_end(&mut self, base: ir::Value, needed: u32, outside: &mut Vec<State>) {
        let behind = self.emit(Op::Binary(BinaryOp::Add, base, ir::Operand::Imm(needed as i32)));
        let condition = ir::Condition::new(CompareOp::UGt, behind, self.packet_end);
        self.leave_if(Cond::Test(condition), outside);
    }

    pub fn leave_if(&mut self, cond: Cond, outside: &mut Vec<State>) {
        let (then, otherwise) = self.split(cond);
        if then.alive() {
            outside.push(then);
        }
        self.state = otherwise;
    }

    /// Enters the join of `states` (dead if there are none), all of which carry nothing else.
    pub fn enter(&mut self, states: Vec<State>) -> Result<()> {
        let arms = states.into_iter().map(|state| crate::ways::Arm { state, values: vec![] }).collect();
        self.join(arms)?;
        Ok(())
    }

    /// Runs `fail` in the join of `states` and comes back to the current state.
    pub fn fail_in(&mut self, states: Vec<State>, fail: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if states.is_empty() {
            return Ok(());
        }
        let inside = self.take_state();
        for state in &states {
            if let (Some(block), true) = (state.block, inside.alive()) {
                self.code.function.block_mut(block).cold = true;
            }
        }
        self.enter(states)?;
        fail(self)?;
        self.state = inside;
        Ok(())
    }

    /// The address of `size` bytes at `offset` of a space, which are known to be there. The verifier is given the proof
    /// that it needs; where that proof is a branch, its other side cannot be taken.
    pub fn address(&mut self, space: Space, offset: Word, size: u32) -> Result<Address> {
        match space {
            Space::Packet => {
                let known = matches!(offset, Word::Value(v) if self.state.facts.pointer(v).is_some());
                let bounded = self.range(offset).within(0, MAX_FRAME - i64::from(size));
                let affine = matches!(offset, Word::Value(v) if self.code.sums.contains_key(&v));
                let offset = if known || bounded || affine { offset } else { self.and(offset, MAX_FRAME) };
                let (address, outside) = self.locate(offset, size);
                self.fail_in(outside, |context| {
                    context.fail(Message::bare("access outside of the frame (a fault of Moonhook)"));
                    Ok(())
                })?;
                Ok(address)
            }
            Space::Pool => match offset {
                Word::Imm(offset) => {
                    // A constant position behind all strings is never read, but the verifier may not know that.
                    let end = self.pool.bytes.len() as i64 + TAIL;
                    let offset = if (0..=end - i64::from(size)).contains(&offset) { offset } else { 0 };
                    let base = self.emit(Op::DataAddress { map: self.pool_map, offset: offset as u32 });
                    Ok(Address { base, disp: 0 })
                }
                offset => {
                    let base = self.emit(Op::DataAddress { map: self.pool_map, offset: 0 });
                    let offset = self.value(offset);
                    self.pool.reach = self.pool.reach.max(size);
                    let masked = self.emit(Op::Binary(BinaryOp::And, offset, POOL_MASK));
                    let base = self.emit(Op::Binary(BinaryOp::Add, base, masked.into()));
                    Ok(Address { base, disp: 0 })
                }
            },
            Space::Scratch if self.stub.is_some() => Ok(self.arena(offset)),
            Space::Scratch => {
                let region = self.region()?;
                match offset {
                    Word::Imm(offset) if (0..=MAX_DISPLACEMENT).contains(&offset) => {
                        Ok(Address { base: region, disp: offset as i16 })
                    }
                    offset => self.masked(region, offset, self.scratch_mask()),
                }
            }
        }
    }

    /// `base + (offset & mask)`.
    pub fn masked(&mut self, base: ir::Value, offset: Word, mask: i64) -> Result<Address> {
        let offset = self.kept_within(offset, mask);
        let offset = self.value(offset);
        let base = self.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        Ok(Address { base, disp: 0 })
    }

    /// The word, if it is known to be at most `most` (and not negative), so that the verifier knows that too: with a mask where that may
    /// have been hidden from it.
    pub fn with_bounds(&mut self, word: Word, most: i64) -> Option<Word> {
        let range = self.range(word);
        if !range.within(0, most) {
            return None;
        }
        if range.is_seen_in(self.code.loop_start) {
            return Some(word);
        }
        let mask = range.mask();
        (mask <= most).then(|| self.kept_within(word, mask))
    }

    /// The offset, of which the verifier has to know that no bits are set but those of the mask. That it is known here is not enough: a
    /// loop that compares the offset gets a copy of which nothing is known (`invariants.rs`).
    pub fn kept_within(&mut self, offset: Word, mask: i64) -> Word {
        if matches!(offset, Word::Imm(imm) if (0..=mask).contains(&imm)) {
            return offset;
        }
        let value = self.value(offset);
        let bounded = self.emit(Op::Binary(BinaryOp::And, value, ir::Operand::Imm(mask as i32)));
        self.set_range(bounded, moonhook_ir::words::Range::up_to(mask));
        Word::Value(bounded)
    }

    pub fn load_at(&mut self, address: Address, size: Size, signed: bool) -> Word {
        self.load(address.base, address.disp, size, signed)
    }

    /// Bytes of the region; keys of shared tables that are traversed follow in programs that do that.
    pub fn region_size(&self) -> i64 {
        match (self.known.stored.is_used(), self.options.frags) {
            (true, _) => self.tables_end() + MARGIN,
            (false, true) => REGION_SIZE + COPY_SIZE,
            (false, false) => REGION_SIZE,
        }
    }

    /// The address of this CPU's region, which has at least so many bytes.
    pub fn region_of(&mut self, bytes: i64) -> Result<ir::Value> {
        let region = self.region()?;
        if let Some(map) = self.known_map("region")
            && let ir::MapKind::Map(definition) = &mut self.module.maps[map.0 as usize].kind
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
        let entries = self.options.cpus;
        let definition = ir::MapDefinition {
            map_type: ir::MapType::Array,
            key_size: 4,
            value_size: self.region_size() as u32,
            max_entries: entries,
            flags: 0,
        };
        let map = self.map("region", || ir::MapKind::Map(definition));
        let cpu = self.helper(helper::GET_SMP_PROCESSOR_ID, &[]);
        // One slot for all: in a loop the verifier tells ways apart by which slots they have written.
        let slot = self.known.shared.slot(REGION_KEY, 8, &mut self.code.function);
        let key = self.emit(Op::SlotAddress(slot));
        self.store(key, 0, Size::B4, cpu);
        let map = self.emit(Op::MapReference(map));
        let region = self.helper(helper::MAP_LOOKUP_ELEM, &[map.into(), key.into()]);
        let missing = self.compare(CompareOp::Eq, region, 0);
        self.fail_if(missing, |context| context.fail(Message::bare("not enough memory")));
        let region = self.value(region);
        self.state.facts.region = Some(region);
        Ok(region)
    }

    /// Reserves `length` bytes of the scratch region; gives their offset. `length` must not be negative.
    pub fn allocate(&mut self, length: Word) -> Result<Word> {
        if self.stub.is_some() {
            return Ok(self.allocate_in_arena(length));
        }
        let start = self.unknown(self.state.scratch);
        let too_long = self.compare(CompareOp::UGt, length, MAX_FRAME);
        self.fail_if(too_long, |context| context.fail(Message::bare("not enough memory")));
        let end = self.add(start, length);
        let full = self.compare(CompareOp::UGt, end, STRINGS_END - 8);
        self.fail_if(full, |context| context.fail(Message::bare("not enough memory")));
        self.state.scratch = end;
        Ok(start)
    }
}
