//! Moonhook's own functions and packet objects, for general code: each is a *stub*, a global BPF subprogram.
//!
//! A stub is made by the same code that expands the function in place elsewhere ([`crate::builtins`],
//! [`moonhook_packet::protocols`]), with arena memory in the place of the per-CPU region: strings that it makes lie in the arena's heap,
//! and errors are raised by the runtime's routines. What is known of the packet is not kept from one stub to the next.
//!
//! All stubs return [`FAIL`] after an error that a routine has raised. None of them spends from the step budget: their
//! loops are bounded by the frame's length.

mod access;
mod arguments;
mod errors;
mod fields;
mod functions;
mod memory;
mod notes;
mod records;
pub mod shared;
mod surroundings;
mod traced;

pub use crate::builtins::own::is_own;
pub use crate::host::Host;

use self::surroundings::InStub;
use crate::Options;
use crate::context::{Context, Result};
use crate::host::Stub;
use crate::subprograms::of_program;
use crate::value::{Abs, Object, Word};
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_ir::FunctionId;
use moonhook_ir::words::{Code, Words};
use moonhook_library::own::{DATA, DNS_MESSAGE, HTTP};
use moonhook_library::{Function, General};
use moonhook_packet::protocols::inner::{is_inner, plain_name};
use moonhook_packet::{Access, Scattered};
use moonhook_runtime::layout::{FAIL, OBJECT_PACKET};
use moonhook_snapshot::{Snapshot, TableId};
use std::collections::BTreeSet;

/// Every object that general code can hold, with the payload of its `TAG_OBJECT`: the packet, the handler's second argument,
/// and headers.
pub fn objects() -> impl Iterator<Item = (i64, Object)> {
    let headers = crate::objects::headers().map(Object::Header);
    let objects = [Object::Packet, Object::Argument].into_iter().chain(headers).chain([crate::meta::OBJECT]);
    (OBJECT_PACKET..).zip(objects)
}

/// The field of packets by which scripts get at what is inside of them.
pub const INNER: &str = moonhook_packet::protocols::inner::NAME;

/// The field of packets by which scripts get at connections. It calls functions that not every kernel has.
const CONNECTION: &str = "ct";

/// Whether the field or method of that name is only in programs whose scripts spell it: it takes much code, or a kernel that has more.
fn is_large(name: &[u8]) -> bool {
    let is = |method: &&Function| method.general == General::Runtime && method.key().as_bytes() == name;
    [INNER, CONNECTION].iter().any(|field| field.as_bytes() == name)
        || [&DATA, &DNS_MESSAGE].iter().any(|of| of.functions.iter().any(|method| is(&method)))
}

/// The names of all fields and methods that objects have.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    let methods = [&DATA, &HTTP, &DNS_MESSAGE].into_iter().flat_map(|library| library.functions);
    crate::objects::field_names().chain(methods.map(|method| method.key()))
}

/// What error messages call the types of objects, by their numbers (`type` gives `userdata` for all): events are number 0, and stand in the
/// place of the packet in programs that have them.
pub fn object_names() -> Vec<&'static str> {
    let event = std::iter::once(Object::Packet.message_name());
    event.chain(objects().map(|(_, object)| object.message_name())).collect()
}

/// Makes stubs; each of them once.
pub struct Stubs<'t> {
    snapshot: &'t Snapshot,
    options: &'t Options,
    /// The hook whose program the stubs are for, and its number.
    program: (&'static Hook, usize),
    /// The script's place that is to blame where a stub cannot be made.
    loc: ir::Loc,
    host: &'t mut dyn Host,
}

/// What a stub's parameters are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signature {
    /// The program's context comes first.
    context: bool,
    /// Parameters after the runtime's state.
    more: u32,
}

/// `(ctx, L)` and so on.
const fn with_context(more: u32) -> Signature {
    Signature { context: true, more }
}

/// `(L)` and so on.
const fn without_context(more: u32) -> Signature {
    Signature { context: false, more }
}

/// Gives data sections their size. Must be called when all events of the module are known.
pub fn finish(module: &mut ir::Module) {
    crate::events::finish_counters(module);
}

impl<'t> Stubs<'t> {
    /// For the code of the program with that number.
    pub fn new(
        snapshot: &'t Snapshot,
        options: &'t Options,
        program: usize,
        host: &'t mut dyn Host,
    ) -> Stubs<'t> {
        Stubs {
            snapshot,
            options,
            program: (snapshot.points()[program].hook, program),
            loc: ir::Loc::default(),
            host,
        }
    }

    /// The same, for code that a place of the script asks for.
    pub fn at(self, loc: ir::Loc) -> Stubs<'t> {
        Stubs { loc, ..self }
    }

    /// Makes the stub `name`, unless it is there. `body` gets its parameters after the runtime's state.
    fn make(
        &mut self,
        name: &str,
        signature: Signature,
        body: impl FnOnce(&mut Context<'_>, &[Word]) -> Result<()>,
    ) -> Result<FunctionId> {
        let name = of_program(name, self.program.1);
        if let Some(known) = self.host.placed(&name) {
            return Ok(known);
        }
        let (function, ()) = self.compiled(&name, signature, body)?;
        Ok(self.host.place(function))
    }

    /// Makes the maps of tables that functions of flows may have ([`Context::make_declared_tables`]).
    pub fn make_declared_tables(&mut self, optional: &BTreeSet<TableId>) -> Result<()> {
        self.look(|context| context.make_declared_tables(optional))
    }

    /// What `body` finds out, whose code is of no use.
    fn look<T>(&mut self, body: impl FnOnce(&mut Context<'_>) -> Result<T>) -> Result<T> {
        let (_, found) = self.compiled("", without_context(0), |context, _| {
            let found = body(context);
            context.give(0);
            found
        })?;
        Ok(found)
    }

    fn compiled<T>(
        &mut self,
        name: &str,
        signature: Signature,
        body: impl FnOnce(&mut Context<'_>, &[Word]) -> Result<T>,
    ) -> Result<(ir::Function, T)> {
        let section = signature.context.then(|| self.program.0.section.to_string());
        let kind = ir::FunctionKind::Subprogram { global: true, context: section };
        let first = usize::from(signature.context);
        let function = ir::Function::new(name, kind, first as u32 + 1 + signature.more);
        let (state, rest) = (function.params[first], function.params[first + 1..].to_vec());
        let module = std::mem::take(self.host.module());
        let mut context = Context::of_function(self.snapshot, self.options, module, function, self.program);
        context.known.shared = self.host.shared().map(std::mem::take).unwrap_or_default();
        context.known.shared.start_function();
        context.known.targets = self.host.targets();
        context.known.notes = (*self.host.notes()).clone();
        context.code.loc = self.loc;
        context.around = &InStub;
        context.stub = Some(Stub { host: &mut *self.host, state, arguments: None, errors: Vec::new() });
        let parameters: Vec<Word> = rest.into_iter().map(Word::Value).collect();
        let outcome = body(&mut context, &parameters);
        context.close_unused_blocks();
        let Context { output, code: Code { mut function, opaque_map, .. }, known, .. } = context;
        *self.host.module() = output.module;
        if let Some(shared) = self.host.shared() {
            *shared = known.shared;
        }
        let outcome = outcome?;
        crate::invariants::make_unknown(&mut function, opaque_map);
        Ok((function, outcome))
    }
}

impl Context<'_> {
    /// The objects that the script can have.
    fn objects(&self) -> Vec<(i64, Object)> {
        let looks_inside = self.is_spelled(INNER.as_bytes());
        let is_inner = |object: &Object| matches!(object, Object::Header(name) if is_inner(name));
        let knows_connections = self.is_spelled(CONNECTION.as_bytes());
        let is_connection = |object: &Object| *object == Object::Header(CONNECTION);
        objects()
            .filter(|(_, object)| looks_inside || !is_inner(object))
            .filter(|(_, object)| knows_connections || !is_connection(object))
            .filter(|(_, object)| self.known.notes.is_used() || *object != crate::meta::OBJECT)
            .collect()
    }

    /// The same of those of which it can read the field of that name: of what is inside only headers and fields that it spells, since all of
    /// them are more than the verifier takes in a program for frames in several buffers.
    fn objects_with(&self, name: &[u8]) -> Vec<(i64, Object)> {
        let is_spelled = self.is_spelled(name);
        let is_there = |object: &Object| match object {
            Object::Header(header) if is_inner(header) => {
                is_spelled && self.is_spelled(plain_name(header).as_bytes())
            }
            _ => true,
        };
        self.objects().into_iter().filter(|(_, object)| is_there(object)).collect()
    }

    fn is_spelled(&self, name: &[u8]) -> bool {
        self.stub.as_ref().is_none_or(|stub| stub.host.is_spelled(name))
    }

    /// Makes the code of `body` for the frame: twice if frames in several buffers have to be taken too. `body` must end
    /// the state.
    fn on_frame(&mut self, body: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.load_bounds();
        if let Some(reader) = self.target.hook.copied() {
            self.use_copy(reader)?;
        }
        if let Some(buffers) = self.target.takes_scattered(self.options) {
            let scattered = self.split_scattered(buffers)?;
            body(self)?;
            self.state = scattered;
            self.use_copy(buffers.reader)?;
        }
        body(self)
    }

    /// Runs `body` for each concrete alternative of `value`; `body` must end the state.
    fn for_each_alternative(
        &mut self,
        value: &Abs,
        body: &mut dyn FnMut(&mut Self, &Abs) -> Result<()>,
    ) -> Result<()> {
        for (state, value) in self.alternatives(value)? {
            self.state = state;
            body(self, &value)?;
        }
        Ok(())
    }

    /// The blocks in which programs end; stubs have no use for them.
    fn close_unused_blocks(&mut self) {
        for block in [self.target.fail_block, self.target.exit_block] {
            let end = ir::Terminator::Return(ir::Operand::Imm(FAIL as i32));
            self.code.function.block_mut(block).terminator = Some((end, self.code.loc));
        }
    }
}
