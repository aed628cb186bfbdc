//! A program that calls one stub, which its section `io` names, and the arena around it.

use moonhook_install::{LoadOptions, LogDetail, Program, load};
use moonhook_ir::{Function, FunctionId, MapKind, Module, parse, parse_function};
use moonhook_runtime::layout::TAG_BUILTIN;
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Options;
use moonhook_specialise::stubs::{self, Host, Stubs};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where things are in the arena.
pub const STATE: u64 = 0x1000;
pub const OUT: u64 = 0x2000;
pub const ARGUMENTS: u64 = 0x2100;
/// Where the stand-in for `tag_name` has a text: five bytes.
pub const TYPE_NAME: u64 = 0x3000;
const TEXTS: u64 = 0x4000;
pub const HEAP: u64 = 0x1_0000;
const PAGES: u32 = 48;
const END: u64 = PAGES as u64 * 4096;

pub const NIL: u64 = 0;
pub const FALSE: u64 = 1;
pub const TRUE: u64 = 2;
pub const INT: u64 = 3;
pub const STRING: u64 = 5;
pub const TABLE: u64 = 6;
pub const BUILTIN: u64 = 8;
pub const OBJECT: u64 = 9;

pub const FAIL: u64 = u64::MAX;
/// What the stand-ins for the runtime's routines leave as the tag of the error: the routine, and the argument's number.
pub const RAISED: u64 = 11;
pub const ARGUMENT_ERROR: u64 = 100;
pub const TYPE_ERROR: u64 = 200;
pub const NO_INTEGER: u64 = 300;
pub const NO_STRING: u64 = 400;
pub const OUT_OF_MEMORY: u64 = 99;

/// The routines, as simple as can be: an error is kept with its text, a string becomes the integer 7 and an integer the string
/// of its 8 bytes.
const ROUTINES: &str = include_str!("routines.ir");

/// How a stub is called.
#[derive(Clone, Copy)]
pub enum Shape {
    /// With the context and the runtime's state before its parameters.
    Context(u32),
    /// With the runtime's state before its parameters.
    State(u32),
}

/// The module that is being made, and the constant part of its arena.
struct Parts {
    module: Module,
    functions: Vec<Function>,
    texts: Vec<u8>,
    known: BTreeMap<Vec<u8>, u64>,
    builtins: Vec<&'static str>,
}

impl Host for Parts {
    fn module(&mut self) -> &mut Module {
        &mut self.module
    }

    fn placed(&self, name: &str) -> Option<FunctionId> {
        let index = self.functions.iter().position(|function| function.name == name);
        index.map(|index| FunctionId(index as u32))
    }

    fn place(&mut self, function: Function) -> FunctionId {
        self.functions.push(function);
        FunctionId(self.functions.len() as u32 - 1)
    }

    fn text(&mut self, text: &[u8]) -> u64 {
        let start = TEXTS + self.texts.len() as u64;
        *self.known.entry(text.to_vec()).or_insert_with(|| {
            self.texts.extend(text);
            start | (text.len() as u64) << 32
        })
    }

    fn routine(&mut self, name: &str) -> FunctionId {
        self.placed(name).unwrap_or_else(|| panic!("no routine {name}"))
    }

    /// What is inside of packets is read by cases: all of its fields at once are too much for the verifier.
    fn is_spelled(&self, name: &[u8]) -> bool {
        name != b"inner"
    }

    fn builtin(&mut self, name: &'static str) -> (i64, u64) {
        let known = self.builtins.iter().position(|builtin| *builtin == name);
        let number = known.unwrap_or_else(|| {
            self.builtins.push(name);
            self.builtins.len() - 1
        });
        (TAG_BUILTIN, number as u64)
    }
}

/// Makes a module of stubs.
pub struct Maker<'a> {
    snapshot: &'a Snapshot,
    options: &'a Options,
    parts: Parts,
    functions: BTreeMap<String, (FunctionId, Shape)>,
}

impl<'a> Maker<'a> {
    pub fn new(snapshot: &'a Snapshot, options: &'a Options) -> Self {
        let mut module = parse(ROUTINES).unwrap();
        let functions = std::mem::take(&mut module.functions);
        let parts = Parts { module, functions, texts: vec![], known: BTreeMap::new(), builtins: vec![] };
        Maker { snapshot, options, parts, functions: BTreeMap::new() }
    }

    /// Makes a stub, to be called as `name`.
    pub fn add(&mut self, name: &str, shape: Shape, make: impl FnOnce(&mut Stubs<'_>) -> FunctionId) {
        let mut stubs = Stubs::new(self.snapshot, self.options, 0, &mut self.parts);
        self.functions.insert(name.to_string(), (make(&mut stubs), shape));
    }

    pub fn field(&mut self, name: &str) {
        self.add(&format!("field {name}"), Shape::Context(2), |stubs| {
            stubs.field(name.as_bytes()).unwrap().expect("a field")
        });
    }

    pub fn function(&mut self, name: &str) {
        assert!(stubs::is_own(name));
        self.add(name, Shape::Context(2), |stubs| stubs.function(name).unwrap().expect("a function"));
    }

    /// Everything, verified, optimised and loaded; `prepare` is called before each stub.
    pub fn load(mut self, section: &str, prepare: Option<FunctionId>) -> Harness {
        let main = parse_function(&main_text(section, prepare, self.functions.values())).unwrap();
        let mut module = std::mem::take(&mut self.parts.module);
        module.functions = std::mem::take(&mut self.parts.functions);
        module.functions.push(main);
        stubs::finish(&mut module);
        for map in &mut module.maps {
            if let MapKind::Arena { image, .. } = &mut map.kind {
                *image = vec![0; TEXTS as usize];
                image.append(&mut self.parts.texts);
            }
        }
        verify(&module, "lower");
        moonhook_passes::optimise(&mut module);
        verify(&module, "passes");
        let object = moonhook_emit::emit(&module, &Default::default()).unwrap();
        let options = LoadOptions { name: "stubs".into(), log: LogDetail::Nothing, ..LoadOptions::default() };
        let program = load(&object.elf, &options).unwrap_or_else(|error| panic!("{error}"));
        let index = |(index, name)| (name, index as u64);
        let functions = self.functions.into_keys().enumerate().map(index).collect();
        let Parts { builtins, known: constants, .. } = self.parts;
        Harness { program, module, functions, builtins, constants }
    }
}

fn verify(module: &Module, stage: &str) {
    for function in &module.functions {
        if let Err(error) = moonhook_ir::verify::verify(function) {
            panic!("after {stage}: {error}\n{function}");
        }
    }
}

/// The program: `io` holds the number of the stub and its parameters, and then what it returned.
fn main_text<'f>(
    section: &str,
    prepare: Option<FunctionId>,
    functions: impl Iterator<Item = &'f (FunctionId, Shape)>,
) -> String {
    let mut text = format!("function main(v0) program \"{section}\" {{\nb0():\n  v1 = data m0+0\n");
    for parameter in 0..4 {
        let _ = writeln!(text, "  v{} = load.u64 v1+{}", 2 + parameter, 8 * parameter);
    }
    let _ = writeln!(text, "  v6 = const {STATE}");
    if let Some(prepare) = prepare {
        let _ = writeln!(text, "  v7 = call f{}(v0, v6)", prepare.0);
    }
    let _ = writeln!(text, "  jump b1()");
    for (index, (id, shape)) in functions.enumerate() {
        let value = 8 + index;
        let (test, body) = (1 + 2 * index, 2 + 2 * index);
        let _ = writeln!(text, "b{test}():\n  branch eq v2, {index}, b{body}(), b{}()", test + 2);
        let (first, more) = match shape {
            Shape::Context(more) => ("v0, v6", *more),
            Shape::State(more) => ("v6", *more),
        };
        let rest: String = (0..more).map(|n| format!(", v{}", 3 + n)).collect();
        let _ = writeln!(text, "b{body}():\n  v{value} = call f{}({first}{rest})", id.0);
        let _ = writeln!(text, "  store.64 v1+64, v{value}\n  return 2");
    }
    let last = text.matches("\nb").count();
    let _ = writeln!(text, "b{last}():\n  return 0\n}}");
    text
}

/// A loaded module of stubs.
pub struct Harness {
    pub program: Program,
    pub module: Module,
    functions: BTreeMap<String, u64>,
    pub builtins: Vec<&'static str>,
    /// Payloads of the image's texts.
    pub constants: BTreeMap<Vec<u8>, u64>,
}

/// What a call did.
#[derive(Debug, PartialEq, Eq)]
pub struct Called {
    pub result: u64,
    pub frame: Vec<u8>,
}

impl Harness {
    pub fn store(&self, address: u64, word: u64) {
        assert!(self.program.data_section("arena").unwrap().store(address as usize, word));
    }

    pub fn load(&self, address: u64) -> u64 {
        self.program.data_section("arena").unwrap().load(address as usize).unwrap()
    }

    /// The bytes of a string's payload.
    pub fn text(&self, payload: u64) -> Vec<u8> {
        let (start, length) = ((payload & 0xffff_ffff) as usize, (payload >> 32) as usize);
        assert!(start + length <= END as usize, "{payload:#x}");
        self.program.data_section("arena").unwrap().part(start..start + length).unwrap()
    }

    /// Puts a string somewhere; gives its payload.
    pub fn put_text(&self, address: u64, text: &[u8]) -> u64 {
        for (index, chunk) in text.chunks(8).enumerate() {
            let mut word = [0xee; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.store(address + 8 * index as u64, u64::from_ne_bytes(word));
        }
        address | (text.len() as u64) << 32
    }

    /// Calls a stub with an empty heap.
    pub fn call(&self, name: &str, frame: &[u8], parameters: &[u64]) -> Called {
        self.store(STATE + 8, HEAP);
        self.store(STATE + 16, END);
        self.store(STATE + 40, 0);
        self.store(STATE + 48, 0);
        self.call_again(name, frame, parameters)
    }

    /// Calls a stub with the state that it finds.
    pub fn call_again(&self, name: &str, frame: &[u8], parameters: &[u64]) -> Called {
        let io = self.program.data_section(".data.io").unwrap();
        io.store(0, *self.functions.get(name).unwrap_or_else(|| panic!("no stub {name}")));
        for (index, parameter) in parameters.iter().enumerate() {
            io.store(8 + 8 * index, *parameter);
        }
        let run = self.program.test_run("main", frame, 1).unwrap();
        assert_eq!(run.verdict, 2, "{name}");
        Called { result: io.load(64).unwrap(), frame: run.data }
    }

    /// Tag and text (or payload) of the error that was raised.
    pub fn error(&self) -> (u64, String) {
        let payload = self.load(STATE + 48);
        let text = if payload == 0 { vec![] } else { self.text(payload) };
        (self.load(STATE + 40), String::from_utf8_lossy(&text).into_owned())
    }

    /// The value at an address: its tag, and its payload or its text.
    pub fn value(&self, address: u64) -> Value {
        let (tag, payload) = (self.load(address), self.load(address + 8));
        match tag {
            STRING => Value::Text(self.text(payload)),
            tag => Value::Word(tag, payload),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Word(u64, u64),
    Text(Vec<u8>),
}
