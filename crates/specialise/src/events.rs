//! Events: run-time errors and `print`, sent through the ring buffer to whoever watches.
//!
//! A record is built in the region (or, without arguments, on the stack) in the layout that [`moonhook_ir::Event`]
//! documents ([`crate::arguments`]), and handed to `bpf_ringbuf_output`. Where the ring is full the record is dropped and counted.

pub use crate::message::Message;

use crate::arguments::End;
use crate::context::{Context, Result};
use crate::output::Output;
use crate::region::{RECORD_HEADER, RECORD_SIZE, RECORD_START};
use crate::value::{Abs, Space, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, EventKind, Op, Piece, Size, helper};

const RING_BYTES: u32 = 1 << 20;

/// Bytes of the two counters before the per-event counters: records dropped.
const DROPPED: u32 = 0;
const FIRST_COUNTER: u32 = 8;

/// The message of errors where strings or tables find no room.
pub const NO_MEMORY: &str = "not enough memory";

/// Gives the counters their final size, when all events are known.
pub fn finish_counters(module: &mut ir::Module) {
    let bytes = FIRST_COUNTER as usize + module.events.len() * 8;
    if let Some(map) = module.maps.iter_mut().find(|map| map.name == ir::maps::COUNTERS) {
        map.kind = ir::MapKind::Data(vec![0; bytes]);
    }
}

impl Context<'_> {
    /// Registers an event; equal ones share an id.
    pub fn event(&mut self, kind: EventKind, pieces: Vec<Piece>, positioned: bool) -> u32 {
        let traceback = match kind {
            EventKind::Print | EventKind::Raised | EventKind::Event => Vec::new(),
            EventKind::Error => self.execution.traceback(),
        };
        let line = if positioned || kind == EventKind::Print { self.code.loc.line } else { 0 };
        let event = ir::Event { kind, source: self.code.loc.source, line, format: pieces, traceback };
        self.output.event(event)
    }

    /// An error whose text is known: the current state ends. The script is warned of it if its instruction does nothing else.
    pub fn fail(&mut self, message: Message) {
        self.note_failed(&message);
        self.fail_unnoted(message);
    }

    /// The same without a warning: the script itself wants the error, or it is one of several types of a value that is wrong, or the
    /// warning says more.
    pub fn fail_unnoted(&mut self, message: Message) {
        if !self.state.alive() {
            return;
        }
        self.around.fail(self, message);
    }

    /// Raises an error with arguments that are known only when it happens.
    pub fn fail_with(&mut self, message: Message, arguments: &[Abs]) -> Result<()> {
        self.around.fail_with(self, message, arguments)
    }

    /// `print`: sends the pieces with their arguments.
    pub fn print(&mut self, pieces: Vec<Piece>, arguments: &[Abs]) -> Result<()> {
        let id = self.event(EventKind::Print, pieces, true);
        self.send(id, arguments)
    }

    /// `event`: sends a name and values, as many as there is room for.
    pub fn send_event(&mut self, values: &[Abs]) -> Result<()> {
        let id = self.event(EventKind::Event, Vec::new(), true);
        let base = self.start_record(id)?;
        let mut end = End::START;
        for value in values {
            end = self.put_sent(base, end, value, 0)?;
        }
        self.send_record(base, end.at)
    }

    pub fn count_event(&mut self, id: u32) {
        // Errors of functions of flows count for the flow.
        if self.options.of_flow.is_some() {
            return;
        }
        let map = self.output.counters();
        increment(self, map, FIRST_COUNTER + id * 8);
    }

    /// Hands `size` bytes at `data` to the ring; counts the record if it does not fit.
    fn output(&mut self, data: ir::Value, size: Word) -> Result<()> {
        let ring = self.output.ring();
        let ring = self.emit(Op::MapReference(ring));
        let result = self.helper(helper::RINGBUF_OUTPUT, &[ring.into(), data.into(), size, Word::Imm(0)]);
        let dropped = self.compare(CompareOp::SLt, result, 0);
        let (full, done) = self.split(dropped);
        self.state = full;
        if self.state.alive() {
            let map = self.output.counters();
            increment(self, map, DROPPED);
        }
        let full = self.take_state();
        self.enter(vec![full, done])
    }

    /// Builds a record in the region and sends it.
    pub fn send(&mut self, id: u32, arguments: &[Abs]) -> Result<()> {
        let base = self.start_record(id)?;
        let mut at = Word::Imm(RECORD_HEADER);
        for argument in arguments {
            at = self.put_argument(base, at, argument)?;
        }
        self.send_record(base, at)
    }

    /// The address of a new record in the region; its arguments start at [`RECORD_HEADER`].
    pub fn start_record(&mut self, id: u32) -> Result<ir::Value> {
        let region = self.region()?;
        let base = self.emit(Op::Binary(BinaryOp::Add, region, ir::Operand::Imm(RECORD_START as i32)));
        self.store(base, 0, Size::B4, i64::from(id) + self.options.first_event());
        Ok(base)
    }

    /// Sends the record at `base`, which ends at offset `at`.
    pub fn send_record(&mut self, base: ir::Value, at: Word) -> Result<()> {
        let payload = self.sub(at, RECORD_HEADER);
        self.store(base, 4, Size::B4, payload);
        let size = match self.with_bounds(at, RECORD_SIZE) {
            Some(size) => size,
            None => self.and(at, RECORD_SIZE - 1),
        };
        self.output(base, size)
    }

    /// Fills the block that [`Context::fail`] jumps to.
    pub fn finish_fail_block(&mut self) -> Result<()> {
        let block = self.target.fail_block;
        let id = self.code.function.block(block).params[0];
        self.state.block = Some(block);
        self.state.facts = crate::state::Facts::default();
        self.send_bare(id)?;
        self.end_failed()
    }

    /// Ends the program with the verdict for errors.
    pub fn end_failed(&mut self) -> Result<()> {
        self.tell_failure()?;
        let verdict = crate::exported::after_error(self.snapshot, self.options, self.target.program);
        let verdict = self.value(Word::Imm(verdict));
        self.terminate(ir::Terminator::Jump(ir::Target::new(self.target.exit_block, vec![verdict])));
        Ok(())
    }

    /// An error that was sent to people already is counted, and raised.
    pub fn fail_again(&mut self, message: &str) -> Result<()> {
        let id = self.event(EventKind::Error, vec![Piece::Text(message.as_bytes().to_vec())], false);
        self.count_event(id);
        self.around.fail_again(self, message)
    }

    /// Sends a record without arguments, which is made on the stack.
    pub fn send_bare(&mut self, id: ir::Value) -> Result<()> {
        let slot = self.code.function.new_slot(8);
        let record = self.emit(Op::SlotAddress(slot));
        // The id in the low half, a payload length of 0 in the high half.
        let id = self.add(id, self.options.first_event());
        self.store(record, 0, Size::B8, id);
        self.output(record, Word::Imm(8))
    }

    /// Fails with `message` where `cond` holds.
    pub fn check(&mut self, cond: Cond, message: impl FnOnce() -> Message) {
        self.fail_if(cond, |context| context.fail(message()));
    }

    /// A slice of any string: texts of addresses are written to the scratch region first.
    pub fn slice(&mut self, text: &Str) -> Result<(Space, Word, Word)> {
        Ok(match text {
            Str::Slice { space, start, length } => (*space, *start, *length),
            Str::Cased { .. } => return self.written_case(text),
            Str::Const(bytes) => self.around.constant(self, bytes),
            Str::Ipv4(_) | Str::Ipv6(..) | Str::Mac(_) => self.address_text(text)?,
        })
    }
}

fn increment(words: &mut impl Words, map: ir::MapId, offset: u32) {
    let base = words.emit(Op::DataAddress { map, offset });
    let one = words.value(Word::Imm(1));
    words.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base, disp: 0, value: one });
}

impl Output {
    pub fn counters(&mut self) -> ir::MapId {
        self.map(ir::maps::COUNTERS, || ir::MapKind::Data(Vec::new()))
    }

    pub fn ring(&mut self) -> ir::MapId {
        let definition = ir::MapDefinition {
            map_type: ir::MapType::RingBuf,
            key_size: 0,
            value_size: 0,
            max_entries: RING_BYTES,
            flags: 0,
        };
        self.map(ir::maps::EVENTS, || ir::MapKind::Map(definition))
    }
}
