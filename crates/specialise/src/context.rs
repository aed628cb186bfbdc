//! The specialiser's working state: what is known, where execution is, and the code that is made.

use crate::error::{LowerError, LowerErrorKind};
use crate::execution::Execution;
use crate::findings::Findings;
use crate::host::Stub;
use crate::knowledge::Knowledge;
use crate::numbering::Numbering;
use crate::output::Output;
use crate::state::State;
use crate::surroundings::Surroundings;
use crate::target::Target;
use crate::{Options, expanded};
use moonhook_diagnostic::Place;
use moonhook_hook::Hook;
use moonhook_ir as ir;
use moonhook_ir::words::Code;
use moonhook_packet::Access;
use moonhook_snapshot::Snapshot;

pub use crate::error::{Result, Stop};

pub struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub options: &'a Options,
    /// What earlier attempts have learned, and this one does.
    pub known: Knowledge,
    /// What this attempt finds out about the script.
    pub findings: Findings,
    pub output: Output,
    pub target: Target,
    /// The target's code, and what is known of its values.
    pub code: Code,
    pub state: State,
    pub execution: Execution<'a>,
    pub numbering: Numbering,
    /// What the code is made for.
    pub around: &'static dyn Surroundings,
    /// What a stub holds, for the code in [`crate::stubs`] and for placing functions that stubs call: all other code asks [`Context::around`].
    pub stub: Option<Stub<'a>>,
}

impl<'a> Context<'a> {
    /// A context whose current block is the entry of the script's first program.
    pub fn new(snapshot: &'a Snapshot, options: &'a Options, known: Knowledge) -> Self {
        let (hook, function) = crate::programs::empty(snapshot, options, 0);
        let module = Output::of_script(snapshot);
        let mut context = Context::of_function(snapshot, options, module, function, (hook, 0));
        context.known = known;
        context.output.pool_map =
            context.output.map(ir::maps::POOL, || ir::MapKind::ReadOnlyData(Vec::new()));
        context.load_bounds();
        context
    }

    /// Goes on with another function, of which there is no code yet, for a hook; gives the one that was being made.
    pub fn change_function(
        &mut self,
        mut function: ir::Function,
        program: (&'static Hook, usize),
    ) -> ir::Function {
        self.target = Target::new(&mut function, program);
        self.state = State::at_entry(self.options);
        let code = Code::new(function, self.code.opaque_map);
        self.known.start_function();
        std::mem::replace(&mut self.code, code).function
    }

    /// A context whose current block is the entry of `function`, which has no code yet and belongs to the program with that number, for
    /// that hook. There is no pool, and no pointer to the packet.
    pub fn of_function(
        snapshot: &'a Snapshot,
        options: &'a Options,
        module: ir::Module,
        mut function: ir::Function,
        program: (&'static Hook, usize),
    ) -> Self {
        let target = Target::new(&mut function, program);
        let mut output = Output::new(module);
        let opaque_map = output.map(ir::maps::OPAQUE, || ir::MapKind::Data(vec![0; 8]));
        Context {
            snapshot,
            options,
            known: Knowledge::default(),
            findings: Findings::default(),
            output,
            target,
            code: Code::new(function, opaque_map),
            state: State::at_entry(options),
            execution: Execution::new(snapshot),
            numbering: Numbering::default(),
            around: &expanded::PROGRAM,
            stub: None,
        }
    }

    // ---- places and refusals -----------------------------------------------------------------------------------

    /// The current line, with `name` underlined.
    pub fn place(&self, name: Option<&str>) -> Place {
        // What bytecode calls an iterator has no name in the script; it stands behind `in`.
        let name = if name == Some("for iterator") { Some("in") } else { name };
        let source = self.snapshot.sources.get(self.code.loc.source as usize);
        Place {
            file: source.map_or_else(|| self.snapshot.script.clone(), |s| s.name.clone()),
            line: self.code.loc.line,
            text: source.map_or_else(String::new, |s| s.line(self.code.loc.line).to_string()),
            name: name.map(str::to_string),
        }
    }

    /// Refuses the script at the current line.
    pub fn refuse<T>(&self, kind: LowerErrorKind, name: Option<&str>) -> Result<T> {
        Err(Stop::Error(Box::new(LowerError { kind, place: self.place(name).into() })))
    }

    /// Refuses the script because of what can only be a fault of the compiler.
    pub fn internal_fault<T>(&self, message: impl Into<String>) -> Result<T> {
        self.refuse(LowerErrorKind::Internal { message: message.into() }, None)
    }

    /// Refuses at the current line what there is no form for.
    pub fn or_refuse<T>(&self, result: std::result::Result<T, LowerErrorKind>) -> Result<T> {
        result.or_else(|kind| self.refuse(kind, None))
    }

    pub fn unsupported<T>(
        &self,
        what: impl Into<String>,
        help: impl Into<String>,
        name: Option<&str>,
    ) -> Result<T> {
        self.refuse(LowerErrorKind::unsupported(what, help), name)
    }

    /// Takes note of a discovery that code before should have known of. The attempt goes on, for what there is to learn further on,
    /// and specialisation starts again at its end: so there are not as many attempts as there are discoveries.
    pub fn learned(&mut self) -> Result<()> {
        self.around.learned(self)
    }

    /// The current instruction was executed without an error.
    pub fn note_passed(&mut self) {
        self.findings.note_passed(self.execution.site());
    }
}
