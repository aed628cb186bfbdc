//! Objects of routines, and calls of routines in the kernel.

use moonhook_install::{LoadOptions, LogDetail, Program, load};
use moonhook_ir as ir;
use moonhook_ir::{Block, CompareOp, Condition, FunctionId, MapId, Op, Size, Target, Terminator, Value};
use moonhook_runtime::layout::SCRATCH_SIZE;
use moonhook_runtime::simulate::Simulator;
use moonhook_runtime::{Host, compile};
use std::collections::HashMap;

const ARENA: MapId = MapId(0);
const IO: MapId = MapId(1);
/// In the section `.data.io`: the number of the routine, five arguments, the result.
const IO_WORDS: usize = 7;
const RESULT: usize = 6;

/// Whether programs can be loaded here. Says why not; fails if `MOONHOOK_REQUIRE_KERNEL=1` demands it.
pub fn available() -> bool {
    let object = Builder::new(Texts::Somewhere, true).finish(&[]);
    let Err(error) = load(&object.elf, &LoadOptions::default()) else { return true };
    let required = std::env::var("MOONHOOK_REQUIRE_KERNEL").is_ok_and(|value| value == "1");
    assert!(!required, "MOONHOOK_REQUIRE_KERNEL=1, but bpf() does not work here: {error}");
    println!("skipped: bpf() does not work here: {error}");
    false
}

/// Where constant texts are.
pub enum Texts<'a> {
    Simulator(&'a Simulator),
    Somewhere,
}

/// A module under construction: function 0 is the program.
pub struct Builder<'a> {
    texts: Texts<'a>,
    /// Routines that others call are empty functions.
    alone: bool,
    names: Vec<String>,
    ids: HashMap<String, FunctionId>,
}

impl Host for Builder<'_> {
    fn text(&mut self, text: &[u8]) -> u64 {
        match self.texts {
            Texts::Simulator(simulator) => simulator.intern(text) as u64,
            Texts::Somewhere => SCRATCH_SIZE as u64 | (text.len() as u64) << 32,
        }
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        self.names.push(name.to_owned());
        let id = FunctionId(self.names.len() as u32);
        self.ids.insert(name.to_owned(), id);
        id
    }
}

impl<'a> Builder<'a> {
    pub fn new(texts: Texts<'a>, alone: bool) -> Self {
        Builder { texts, alone, names: Vec::new(), ids: HashMap::new() }
    }

    /// The object of a program that calls `wanted`, and the routines that those call.
    pub fn finish(mut self, wanted: &[&str]) -> moonhook_emit::Object {
        for name in wanted {
            self.routine(name);
        }
        let mut functions = Vec::new();
        while let Some(name) = self.names.get(functions.len()).cloned() {
            let mut function = compile(&name, &mut self).unwrap_or_else(|error| panic!("{error}"));
            if self.alone && functions.len() >= wanted.len() {
                function = empty(&function);
            }
            functions.push(function);
        }
        functions.insert(0, program(&functions, wanted.len()));
        let image = match self.texts {
            Texts::Simulator(simulator) => simulator.bytes(0, simulator.size()),
            Texts::Somewhere => Vec::new(),
        };
        let pages = (image.len().div_ceil(ir::PAGE) as u32).max(2);
        let arena = ir::Map { name: "arena".into(), kind: ir::MapKind::Arena { pages, image } };
        let io = ir::Map { name: "io".into(), kind: ir::MapKind::Data(vec![0; 8 * IO_WORDS]) };
        let mut module = ir::Module { maps: vec![arena, io], functions, ..ir::Module::default() };
        moonhook_passes::optimise(&mut module);
        moonhook_emit::emit(&module, &moonhook_emit::Options::default()).unwrap()
    }
}

/// A function with the same name and parameters that does nothing.
fn empty(like: &ir::Function) -> ir::Function {
    let mut function = ir::Function::new(like.name.clone(), like.kind.clone(), like.params.len() as u32);
    function.block_mut(Block(0)).terminator = Some((Terminator::Return(0.into()), ir::Loc::default()));
    function
}

/// Calls the routine whose number, from 1, stands in the section.
fn program(routines: &[ir::Function], wanted: usize) -> ir::Function {
    let kind = ir::FunctionKind::Program { section: "xdp".into() };
    let mut function = ir::Function::new("main", kind, 1);
    let loc = ir::Loc::default();
    let io = push(&mut function, Block(0), Op::DataAddress { map: IO, offset: 0 });
    let load = |function: &mut ir::Function, word: usize| {
        push(function, Block(0), Op::Load { size: Size::B8, signed: false, base: io, disp: 8 * word as i16 })
    };
    let number = load(&mut function, 0);
    let args: Vec<Value> = (1..RESULT).map(|word| load(&mut function, word)).collect();
    // A program with an arena has to mention it.
    push(&mut function, Block(0), Op::MapReference(ARENA));
    let mut block = Block(0);
    for (index, routine) in routines.iter().take(wanted).enumerate() {
        let (call, other) = (function.new_block(), function.new_block());
        let condition = Condition::new(CompareOp::Eq, number, index as i32 + 1);
        let then = Target::new(call, vec![]);
        let otherwise = Target::new(other, vec![]);
        function.block_mut(block).terminator = Some((Terminator::Branch { condition, then, otherwise }, loc));
        let id = FunctionId(index as u32 + 1);
        let args = args[..routine.params.len()].to_vec();
        let result = push(&mut function, call, Op::Call { function: id, args });
        let disp = 8 * RESULT as i16;
        function.push(call, Op::Store { size: Size::B8, base: io, disp, value: result.into() }, loc);
        function.block_mut(call).terminator = Some((Terminator::Return(2.into()), loc));
        block = other;
    }
    function.block_mut(block).terminator = Some((Terminator::Return(1.into()), loc));
    function
}

fn push(function: &mut ir::Function, block: Block, op: Op) -> Value {
    function.push(block, op, ir::Loc::default()).unwrap()
}

/// Routines in the kernel, with the memory of a simulator.
pub struct Machine<'a> {
    simulator: &'a Simulator,
    program: Program,
    routines: HashMap<String, u64>,
}

impl<'a> Machine<'a> {
    pub fn new(simulator: &'a Simulator, routines: &[&str]) -> Machine<'a> {
        let object = Builder::new(Texts::Simulator(simulator), false).finish(routines);
        let options =
            LoadOptions { name: "routines".into(), log: LogDetail::Nothing, ..LoadOptions::default() };
        let program = load(&object.elf, &options).unwrap_or_else(|error| panic!("{error}"));
        let routines = routines.iter().map(|name| name.to_string()).zip(1..).collect();
        Machine { simulator, program, routines }
    }

    /// Calls the routine in the kernel and in the simulator, on the same memory; gives its result.
    ///
    /// # Panics
    /// If result or memory differ.
    pub fn compare(&self, routine: &str, args: &[i64]) -> i64 {
        let arena = self.program.data_section("arena").unwrap();
        for (at, word) in self.words() {
            arena.store(at, word);
        }
        let result = self.call(routine, args);
        let expected =
            self.simulator.call(routine, args).unwrap_or_else(|error| panic!("{routine} {args:x?}: {error}"));
        assert_eq!(result, expected, "{routine} {args:x?}");
        for (at, expected) in self.words() {
            let found = arena.load(at).unwrap();
            assert_eq!(found, expected, "{routine} {args:x?}: at {at:#x} is {found:#x}, not {expected:#x}");
        }
        result
    }

    /// What the simulator's writable memory holds, by address.
    fn words(&self) -> Vec<(usize, u64)> {
        let mut words = Vec::new();
        for range in self.simulator.writable() {
            let bytes = self.simulator.bytes(range.start as i64, range.len());
            let chunks = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            words.extend(range.step_by(8).zip(chunks));
        }
        words
    }

    /// Calls the routine in the kernel, on the memory that is there.
    pub fn call(&self, routine: &str, args: &[i64]) -> i64 {
        let io = self.program.data_section(".data.io").unwrap();
        io.store(0, self.routines[routine]);
        for (arg, word) in args.iter().zip(1..) {
            assert!(io.store(8 * word, *arg as u64));
        }
        assert_eq!(self.program.test_run("main", &[0; 64], 1).unwrap().verdict, 2);
        io.load(8 * RESULT).unwrap() as i64
    }
}
