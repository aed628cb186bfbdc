//! Runs a function over simulated memory, for tests of what passes must not change.
//!
//! Reads the IR as `function.rs` documents it. Pointers are `region << 32 | offset`, so a pointer that leaves its region
//! faults as the kernel's verifier would have it; region 0 is the arena, outside of which loads give 0. In XDP's context, 4-byte loads at 0 and 4 give the packet's start and
//! end, as the kernel rewrites them. Maps have entries ([`maps`]); other helpers have no effect: each call is logged and gives 0.
//! It does not model concurrency or the stack limit.

mod maps;

use crate::*;

pub use maps::Entry;

/// Memory that outlives the run, and what the run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    pub packet: Vec<u8>,
    /// The bytes of each of the module's maps that is a data section.
    pub data: Vec<Vec<u8>>,
    /// The bytes of the module's arena, if it has one.
    pub arena: Option<Vec<u8>>,
    /// The entries of maps that are no data sections, in the order in which they were made; what was deleted stays, for those who hold it.
    pub entries: Vec<Entry>,
    /// Helper calls in order, with their arguments.
    pub helpers: Vec<(u32, Vec<u64>)>,
    /// How often a `may_goto` may still go on.
    pub may_goto: u64,
    /// How many instructions may still run.
    pub fuel: u64,
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    #[error("{0}: access outside its region")]
    Address(String),
    #[error("out of fuel")]
    Fuel,
    #[error("malformed function: {0}")]
    Malformed(String),
}

const CONTEXT: u64 = 1 << 32;
const PACKET: u64 = 2 << 32;
const FIRST_DATA: u64 = 16;
/// The region of the first entry of a map.
const FIRST_ENTRY: u64 = 1 << 20;
/// How far a displacement can lead out of the arena's 4 GiB.
const ARENA_GUARD: u64 = 1 << 15;

impl Machine {
    /// A machine with the module's data sections in their initial state.
    pub fn new(module: &Module, packet: Vec<u8>) -> Self {
        let bytes = |map: &Map| match &map.kind {
            MapKind::ReadOnlyData(bytes) | MapKind::Data(bytes) => bytes.clone(),
            MapKind::Zeros(size) => vec![0; *size as usize],
            MapKind::Map(_) | MapKind::Arena { .. } => Vec::new(),
        };
        let data = module.maps.iter().map(bytes).collect();
        let arena = module.maps.iter().find_map(|map| match &map.kind {
            MapKind::Arena { pages, image } => {
                let mut bytes = image.clone();
                bytes.resize(*pages as usize * PAGE, 0);
                Some(bytes)
            }
            _ => None,
        });
        Machine { packet, data, arena, may_goto: 1000, fuel: 1_000_000, ..Machine::default() }
    }

    /// Calls a program with its context as parameter.
    pub fn run(&mut self, module: &Module, function: FunctionId) -> Result<u64, Trap> {
        self.call(module, function, &[CONTEXT], 0)
    }

    fn call(&mut self, module: &Module, function: FunctionId, args: &[u64], depth: u64) -> Result<u64, Trap> {
        let function =
            module.functions.get(function.0 as usize).ok_or(Trap::Malformed("no such function".into()))?;
        let mut frame = Frame {
            values: vec![0; function.value_count as usize],
            slots: function.slots.iter().map(|size| vec![0; *size as usize]).collect(),
            region: (FIRST_DATA + self.data.len() as u64 + 64 * depth) << 32,
            depth,
        };
        frame.assign(&function.params, args)?;
        let mut block = Block(0);
        loop {
            let Some(data) = function.blocks.get(block.index()) else {
                return Err(Trap::Malformed(format!("no {block}")));
            };
            for inst in &data.insts {
                self.fuel = self.fuel.checked_sub(1).ok_or(Trap::Fuel)?;
                let result = self.step(module, &mut frame, &inst.op)?;
                if let Some(value) = inst.result {
                    frame.values[value.index()] = result;
                }
            }
            self.fuel = self.fuel.checked_sub(1).ok_or(Trap::Fuel)?;
            let target =
                match &data.terminator {
                    None => return Err(Trap::Malformed(format!("{block} has no terminator"))),
                    Some((Terminator::Return(operand), _)) => return Ok(frame.operand(*operand)),
                    Some((Terminator::Jump(target), _)) => target,
                    Some((Terminator::Branch { condition, then, otherwise }, _)) => {
                        if frame.holds(condition) { then } else { otherwise }
                    }
                    Some((Terminator::MayGoto { go, stop }, _)) => {
                        let left = self.may_goto;
                        self.may_goto = left.saturating_sub(1);
                        if left > 0 { go } else { stop }
                    }
                };
            let args: Vec<u64> = target.args.iter().map(|arg| frame.values[arg.index()]).collect();
            block = target.block;
            frame.assign(&function.block(block).params, &args)?;
        }
    }

    fn step(&mut self, module: &Module, frame: &mut Frame, op: &Op) -> Result<u64, Trap> {
        Ok(match op {
            Op::Const(value) => *value as u64,
            Op::Binary(op, lhs, rhs) => binary(*op, frame.value(*lhs), frame.operand(*rhs)),
            Op::Unary(op, value) => unary(*op, frame.value(*value)),
            Op::Compare(condition) => frame.holds(condition) as u64,
            Op::Load { size, signed, base, disp } => {
                let address = frame.value(*base).wrapping_add(*disp as i64 as u64);
                let word = self.load(frame, address, *size)?;
                if *signed { sign_extend(*size, word) } else { word }
            }
            // The kernel's structures are not simulated.
            Op::KernelField { .. } => 0,
            Op::FieldFact { field, fact } => field.fact_in_object(*fact) as u64,
            Op::Store { size, base, disp, value } => {
                let address = frame.value(*base).wrapping_add(*disp as i64 as u64);
                let value = frame.operand(*value);
                self.store(frame, address, *size, value)?;
                0
            }
            Op::Atomic { op, size, base, disp, value } => {
                let address = frame.value(*base).wrapping_add(*disp as i64 as u64);
                let old = self.load(frame, address, *size)?;
                self.store(frame, address, *size, op.apply(old, frame.value(*value)))?;
                old
            }
            Op::DataAddress { map, offset } => ((FIRST_DATA + map.0 as u64) << 32) + *offset as u64,
            Op::MapReference(map) => ((FIRST_DATA + map.0 as u64) << 32) | 0xffff_0000,
            Op::FunctionReference(function) => ((FIRST_DATA - 1) << 32) | u64::from(function.0),
            Op::SlotAddress(slot) => frame.region + ((slot.0 as u64) << 32),
            Op::Helper { id, args } => {
                let args: Vec<u64> = args.iter().map(|arg| frame.value(*arg)).collect();
                let result = self.map_helper(module, frame, *id, &args)?;
                self.helpers.push((*id, args));
                result
            }
            Op::Call { function, args } => {
                let args: Vec<u64> = args.iter().map(|arg| frame.value(*arg)).collect();
                self.call(module, *function, &args, frame.depth + 1)?
            }
        })
    }

    fn load(&mut self, frame: &mut Frame, address: u64, size: Size) -> Result<u64, Trap> {
        match (address.wrapping_sub(CONTEXT), size) {
            (0, Size::B4) => return Ok(PACKET),
            (4, Size::B4) => return Ok(PACKET + self.packet.len() as u64),
            _ if self.is_beyond_arena(address, size) => return Ok(0),
            _ => {}
        }
        let mut word = [0; 8];
        let bytes = self.bytes(frame, address, size as usize)?;
        word[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(word))
    }

    fn store(&mut self, frame: &mut Frame, address: u64, size: Size, value: u64) -> Result<(), Trap> {
        if !self.is_beyond_arena(address, size) {
            let bytes = self.bytes(frame, address, size as usize)?;
            bytes.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        }
        Ok(())
    }

    /// Near the arena's offsets (a displacement may lead out of their 32 bits), but not in its pages.
    fn is_beyond_arena(&self, address: u64, size: Size) -> bool {
        let Some(arena) = &self.arena else { return false };
        let near = address.wrapping_add(ARENA_GUARD) < (1 << 32) + 2 * ARENA_GUARD;
        near && address.checked_add(size as u64).is_none_or(|end| end > arena.len() as u64)
    }

    fn bytes<'a>(
        &'a mut self,
        frame: &'a mut Frame,
        address: u64,
        size: usize,
    ) -> Result<&'a mut [u8], Trap> {
        let region = (address & !0xffff_ffff).wrapping_sub(frame.region) >> 32;
        let data = (address >> 32).wrapping_sub(FIRST_DATA);
        let bytes = if address >> 32 == 0 {
            self.arena.as_mut()
        } else if address >> 32 == PACKET >> 32 {
            Some(&mut self.packet)
        } else if let Some(entry) = (address >> 32).checked_sub(FIRST_ENTRY) {
            self.entries.get_mut(entry as usize).map(|entry| &mut entry.value)
        } else if (data as usize) < self.data.len() {
            self.data.get_mut(data as usize)
        } else {
            frame.slots.get_mut(region as usize)
        };
        let from = (address & 0xffff_ffff) as usize;
        let range = from..from + size;
        bytes.and_then(|bytes| bytes.get_mut(range)).ok_or_else(|| Trap::Address(format!("{address:#x}")))
    }
}

struct Frame {
    values: Vec<u64>,
    slots: Vec<Vec<u8>>,
    /// The first slot's address; each slot is a region of its own.
    region: u64,
    depth: u64,
}

impl Frame {
    fn value(&self, value: Value) -> u64 {
        self.values[value.index()]
    }

    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Value(value) => self.value(value),
            Operand::Imm(imm) => imm as i64 as u64,
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        compare(condition.op, self.value(condition.lhs), self.operand(condition.rhs))
    }

    fn assign(&mut self, params: &[Value], args: &[u64]) -> Result<(), Trap> {
        if params.len() != args.len() {
            return Err(Trap::Malformed("the wrong number of arguments".into()));
        }
        params.iter().zip(args).for_each(|(param, arg)| self.values[param.index()] = *arg);
        Ok(())
    }
}

/// What the operation gives for these words.
pub fn binary(op: BinaryOp, lhs: u64, rhs: u64) -> u64 {
    let (signed, by) = (lhs as i64, rhs as i64);
    match op {
        BinaryOp::Add => lhs.wrapping_add(rhs),
        BinaryOp::Sub => lhs.wrapping_sub(rhs),
        BinaryOp::Mul => lhs.wrapping_mul(rhs),
        BinaryOp::UDiv => lhs.checked_div(rhs).unwrap_or(0),
        BinaryOp::UMod => lhs.checked_rem(rhs).unwrap_or(lhs),
        BinaryOp::SDiv if by == 0 => 0,
        BinaryOp::SDiv => signed.wrapping_div(by) as u64,
        BinaryOp::SMod if by == 0 => lhs,
        BinaryOp::SMod => signed.wrapping_rem(by) as u64,
        BinaryOp::And => lhs & rhs,
        BinaryOp::Or => lhs | rhs,
        BinaryOp::Xor => lhs ^ rhs,
        BinaryOp::Shl => lhs << (rhs & 63),
        BinaryOp::LShr => lhs >> (rhs & 63),
        BinaryOp::AShr => (signed >> (rhs & 63)) as u64,
    }
}

/// What the operation gives for this word.
pub fn unary(op: UnaryOp, word: u64) -> u64 {
    match op {
        UnaryOp::Neg => word.wrapping_neg(),
        UnaryOp::Swap16 => (word as u16).swap_bytes() as u64,
        UnaryOp::Swap32 => (word as u32).swap_bytes() as u64,
        UnaryOp::Swap64 => word.swap_bytes(),
        UnaryOp::SignExtend8 => sign_extend(Size::B1, word),
        UnaryOp::SignExtend16 => sign_extend(Size::B2, word),
        UnaryOp::SignExtend32 => sign_extend(Size::B4, word),
        UnaryOp::ZeroExtend32 | UnaryOp::Arena => word as u32 as u64,
        UnaryOp::Unlink => word,
    }
}

fn sign_extend(size: Size, word: u64) -> u64 {
    match size {
        Size::B1 => word as i8 as u64,
        Size::B2 => word as i16 as u64,
        Size::B4 => word as i32 as u64,
        Size::B8 => word,
    }
}

/// Whether the comparison holds for these words.
pub fn compare(op: CompareOp, lhs: u64, rhs: u64) -> bool {
    let (signed, by) = (lhs as i64, rhs as i64);
    match op {
        CompareOp::Eq => lhs == rhs,
        CompareOp::Ne => lhs != rhs,
        CompareOp::ULt => lhs < rhs,
        CompareOp::ULe => lhs <= rhs,
        CompareOp::UGt => lhs > rhs,
        CompareOp::UGe => lhs >= rhs,
        CompareOp::SLt => signed < by,
        CompareOp::SLe => signed <= by,
        CompareOp::SGt => signed > by,
        CompareOp::SGe => signed >= by,
        CompareOp::Test => lhs & rhs != 0,
    }
}
