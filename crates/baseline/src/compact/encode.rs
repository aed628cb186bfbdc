//! Bytecode as records. Semantics as in `lvm.c`, and as in the code of [`super::super::ops`].

use super::record::{Goal, RECORD_SIZE, Record, Step, register};
use crate::General;
use crate::counts::Sites;
use crate::known::Known;
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Value};

mod access;
mod arithmetic;
mod control;

/// A function being encoded.
struct Encoder<'g, 'a> {
    general: &'g mut General<'a>,
    index: usize,
    prototype: &'a Prototype,
    pc: usize,
    sites: Sites,
    records: Vec<Record>,
    /// By record, its instruction.
    places: Vec<usize>,
    /// By instruction, the first of its records.
    starts: Vec<usize>,
    /// Sites with the record where execution goes on.
    resumed: Vec<(u32, usize)>,
}

/// Puts a function's records into the image; gives the site of its entry.
pub fn encode(general: &mut General<'_>, index: usize) -> u32 {
    let prototype = general.functions.get(index);
    let counts = general.counts.get(&index).cloned().unwrap_or_default();
    let (sites, starts) = (Sites::new(counts), vec![0; prototype.code.len()]);
    let (records, places, resumed) = (Vec::new(), Vec::new(), Vec::new());
    let mut encoder = Encoder { general, index, prototype, pc: 0, sites, records, places, starts, resumed };
    let entry = encoder.site();
    encoder.resumed.push((entry, 0));
    for pc in 0..prototype.code.len() {
        encoder.pc = pc;
        encoder.starts[pc] = encoder.records.len();
        encoder.instruction(encoder.at(pc));
    }
    encoder.loop_backwards();
    encoder.write();
    entry
}

impl Encoder<'_, '_> {
    fn at(&self, pc: usize) -> Instruction {
        Instruction(self.prototype.code.get(pc).copied().unwrap_or(0))
    }

    fn instruction(&mut self, i: Instruction) {
        use Opcode::*;
        let Some(opcode) = i.opcode() else { return };
        match opcode {
            Move | LoadI | LoadF | LoadK | LoadKX | LoadFalse | LFalseSkip | LoadTrue | LoadNil => {
                self.load(opcode, i);
            }
            GetUpval | SetUpval | Closure | GetTabUp | GetTable | GetI | GetField | SetTabUp | SetTable
            | SetI | SetField | NewTable | Self_ | SetList => self.access(opcode, i),
            AddI | AddK | SubK | MulK | ModK | PowK | DivK | IDivK | BAndK | BOrK | BXorK | ShlI | ShrI
            | Add | Sub | Mul | Mod | Pow | Div | IDiv | BAnd | BOr | BXor | Shl | Shr | Unm | BNot | Not
            | Len | Concat => self.arithmetic(opcode, i),
            Eq | Lt | Le | EqK | EqI | LtI | LeI | GtI | GeI | Test | TestSet => self.comparison(opcode, i),
            Call | TailCall | Return | Return0 | Return1 | VarArg | GetVArg | VarArgPrep => {
                self.call(opcode, i);
            }
            Close | Tbc | Jmp | ForLoop | ForPrep | TForPrep | TForCall | TForLoop | ErrNNil => {
                self.control(opcode, i);
            }
            // What they say belongs to the instruction before.
            MmBin | MmBinI | MmBinK | ExtraArg => {}
        }
    }

    fn push(&mut self, step: Step, operands: [u32; 3]) -> &mut Record {
        let [a, b, c] = operands;
        let (then, next) = (Goal::Behind, Goal::Behind);
        self.places.push(self.pc);
        self.records.push(Record { step, site: 0, operands: [a, b, c, 0], then, next });
        let last = self.records.len() - 1;
        &mut self.records[last]
    }

    /// A record that may fail.
    fn push_failing(&mut self, step: Step, operands: [u32; 3]) -> &mut Record {
        let site = self.site();
        let record = self.push(step, operands);
        record.site = site;
        record
    }

    /// A record that may call something; execution then goes on at the record behind it.
    fn push_calling(&mut self, step: Step, operands: [u32; 3]) -> &mut Record {
        let (site, behind) = (self.site(), self.records.len() + 1);
        self.resumed.push((site, behind));
        let record = self.push(step, operands);
        record.site = site;
        record
    }

    /// A record to which execution comes back until there is nothing left to call.
    fn push_repeated(&mut self, step: Step, operands: [u32; 3]) {
        let (site, own) = (self.site(), self.records.len());
        self.resumed.push((site, own));
        self.push(step, operands).site = site;
    }

    fn site(&mut self) -> u32 {
        let site = self.sites.make(self.general, self.index, self.pc);
        self.general.sites.push(site);
        self.general.sites.len() as u32 - 1
    }

    /// A constant as an operand.
    fn constant(&mut self, value: &Value) -> u32 {
        let value = self.general.constant(value);
        self.word(value)
    }

    fn integer(&mut self, value: i64) -> u32 {
        self.word((TAG_INT, value as u64))
    }

    fn word(&mut self, value: (i64, u64)) -> u32 {
        self.general.image.value(value) as u32 | 1
    }

    /// The function's constant with that number as an operand.
    fn known(&mut self, index: usize) -> u32 {
        let value = self.prototype.constants.get(index).cloned().unwrap_or(Value::Nil);
        self.constant(&value)
    }

    fn text(&self, index: usize) -> &[u8] {
        match self.prototype.constants.get(index) {
            Some(Value::String(text)) => text,
            _ => &[],
        }
    }

    fn load(&mut self, opcode: Opcode, i: Instruction) {
        let operand = match opcode {
            Opcode::Move => register(i.b()),
            Opcode::LoadI => self.integer(i.sbx()),
            Opcode::LoadF => self.word((TAG_FLOAT, (i.sbx() as f64).to_bits())),
            Opcode::LoadK => self.known(i.bx()),
            Opcode::LoadKX => self.known(self.at(self.pc + 1).ax()),
            Opcode::LoadTrue => self.word((TAG_TRUE, 0)),
            Opcode::LoadNil => {
                let nil = self.word((TAG_NIL, 0));
                for to in i.a()..=i.a() + i.b() {
                    self.push(Step::Move, [register(to), nil, 0]);
                }
                return;
            }
            _ => self.word((TAG_FALSE, 0)),
        };
        let skipped = if opcode == Opcode::LFalseSkip { Goal::Pc(self.pc + 2) } else { Goal::Behind };
        self.push(Step::Move, [register(i.a()), operand, 0]).next = skipped;
    }

    /// The value of a global variable or of another field that is known now.
    fn known_field(&mut self, table: Option<&Known>, name: usize) -> Option<u32> {
        match self.general.known_field(table, self.text(name))? {
            Known::Builtin(name) => {
                let value = self.general.builtin(&name);
                Some(self.word(value))
            }
            Known::Value(value) => Some(self.constant(&value)),
            Known::Library(_) | Known::Integer => None,
        }
    }

    /// Jumps backwards other than those of a numeric loop go through a record that takes a step of the budget.
    fn loop_backwards(&mut self) {
        for number in 0..self.records.len() {
            let pc = self.places[number];
            let record = self.records[number];
            if matches!(record.step, Step::ForLoop | Step::Loop) {
                continue;
            }
            for of_then in [true, false] {
                let goal = if of_then { record.then } else { record.next };
                let Goal::Pc(target) = goal else { continue };
                if target > pc {
                    continue;
                }
                self.pc = pc;
                let added = self.records.len();
                self.push_failing(Step::Loop, [0; 3]).next = goal;
                let record = &mut self.records[number];
                *(if of_then { &mut record.then } else { &mut record.next }) = Goal::Record(added);
            }
        }
    }

    fn write(self) {
        let start = self.general.image.reserve(self.records.len() * RECORD_SIZE);
        let at = |record: usize| (start as usize + record * RECORD_SIZE) as u32;
        for (number, record) in self.records.iter().enumerate() {
            let bytes = record.bytes(|goal| match goal {
                Goal::Behind => at(number + 1),
                Goal::Pc(pc) => at(self.starts.get(pc).copied().unwrap_or_default()),
                Goal::Record(record) => at(record),
            });
            let place = at(number) as usize;
            self.general.image.bytes[place..place + RECORD_SIZE].copy_from_slice(&bytes);
        }
        self.general.used_steps.extend(self.records.iter().map(|record| record.step));
        for (site, record) in self.resumed {
            self.general.sites[site as usize].code = at(record).into();
        }
    }
}
