//! The emit stage: a [`moonhook_ir::Module`] becomes an eBPF object file.
//!
//! Reads the IR; adds registers, a stack frame, an order of blocks, instructions of the eBPF ISA (`cpu=v4`), BTF and
//! line information. The result is a relocatable ELF object as `clang -target bpf` makes them: libbpf, bpftool and
//! others load it without help of this compiler. Pure: the same module gives the same bytes, and nothing is asked of
//! the running kernel. Knows nothing of Lua; does not optimise beyond the choice of instructions, but for what is left over where
//! functions of other compilers take the places of their calls ([`cleanup`]).

mod alike;
mod allocate;
mod arguments;
mod assemble;
mod btf;
mod caller_saves;
mod cleanup;
mod clobbered;
mod dead_spills;
mod describe;
mod elf;
mod entries;
mod error;
mod frame;
mod given;
mod inline;
mod isa;
mod jumps;
mod kernel_fields;
mod lines;
mod listing;
mod machine;
mod order;
mod packet;
mod program;
mod raw;
mod registers;
mod select;
mod shared_slots;
mod text;
mod values;

#[cfg(test)]
#[path = "../tests/common"]
#[allow(dead_code)]
mod common {
    pub mod build;
    pub mod random;
}

pub use error::EmitError;
pub use listing::{FunctionReport, ListedInstruction, dump};
pub use raw::{MapUse, Raw, RawProgram, raw};

use allocate::Allocator;
use caller_saves::CallerSaves;
use frame::SlotOffsets;
use moonhook_ir::kept::{self, Kept, References, Source};
use moonhook_ir::{Function, MapId, MapKind, Module, parallel};
use order::Layout;
use program::Code;
use std::collections::{HashMap, HashSet};

/// `BPF_COMPLEXITY_LIMIT_INSNS` (include/linux/bpf.h): what a privileged program may have.
const MAX_INSTRUCTIONS: usize = 1_000_000;

/// `MAX_USED_MAPS` (include/linux/bpf_verifier.h).
const MAX_MAPS: usize = 64;

/// What an object says besides its module.
#[derive(Clone, Debug)]
pub struct Options {
    /// The license that programs declare; some helpers need one compatible with the GPL.
    pub license: String,
    /// Whether listings have the instructions as text, which takes time to write.
    pub texts: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { license: "Dual MIT/GPL".to_string(), texts: true }
    }
}

/// An object file and what is in it.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file's bytes.
    pub elf: Vec<u8>,
    /// By function of the module.
    pub functions: Vec<FunctionReport>,
    /// Bytes of stack along the chain of calls that takes most.
    pub stack: u32,
}

/// Makes the object file of a module that satisfies [`moonhook_ir::verify`].
///
/// Where the frames of a chain of calls are too large together, all functions are compiled for small frames.
///
/// # Errors
/// A limit of the kernel that the module does not keep to, or a fault of the stages before.
pub fn emit(module: &Module, options: &Options) -> Result<Object, EmitError> {
    check(module)?;
    match emit_with(module, options, LARGE_FRAME) {
        Err(EmitError::ChainTooLarge { .. }) => emit_with(module, options, 0),
        outcome => outcome,
    }
}

/// The code of all functions, none of which has a place yet. What is in its callers now has no words.
fn compile_all(module: &Module, large_frame: u32) -> Result<Vec<Code>, EmitError> {
    let compiled = parallel::map(module.functions.iter(), Allocator::default, |allocator, function| {
        if let Some(given) = &function.given {
            return given::code(&function.name, given);
        }
        match module.arena().is_some() && kept::is_kept(function) {
            true => compile_kept(module, function, allocator, large_frame),
            false => compile(module, function, allocator, large_frame),
        }
    });
    let mut codes = compiled.into_iter().collect::<Result<Vec<Code>, EmitError>>()?;
    inline::run(module, &mut codes);
    Ok(codes)
}

fn emit_with(module: &Module, options: &Options, large_frame: u32) -> Result<Object, EmitError> {
    let mut codes = compile_all(module, large_frame)?;
    let mut section_sizes: HashMap<&str, u32> = HashMap::new();
    for (function, code) in module.functions.iter().zip(&mut codes) {
        let size = section_sizes.entry(describe::section_of(function)).or_default();
        code.offset = *size;
        *size += code.words.len() as u32 * 8;
    }
    let stacks: Vec<u32> = codes.iter().map(|code| code.stack).collect();
    let stack = frame::check_chains(module, &stacks)?;

    let license: Vec<u8> = options.license.bytes().filter(|b| *b != 0).chain([0]).collect();
    let license = (!module.is_library()).then_some(&*license);
    let description = describe::describe(module, &codes, license.map(|text| text.len() as u32))?;
    let elf = elf::write(module, &codes, description, license)?;
    let functions =
        module.functions.iter().zip(&codes).map(|(f, code)| listing::report(module, f, code, options.texts));
    Ok(Object { functions: functions.collect(), elf, stack })
}

/// A frame with more bytes is worth the time to try for a smaller one: nested frames share [`frame::MAX_STACK`], and less than half of it where one
/// makes a tail call.
const LARGE_FRAME: u32 = 240;

/// The code of functions of general code.
static KEPT: Kept<Code> = Kept::new();

/// The same as [`compile`], once for equal functions.
fn compile_kept(
    module: &Module,
    function: &Function,
    allocator: &mut Allocator,
    large_frame: u32,
) -> Result<Code, EmitError> {
    let mut detached = function.clone();
    let references = References::detach(&mut detached);
    let Some(maps) = references.maps_of(&module.maps) else {
        return compile(module, function, allocator, large_frame);
    };
    let source = Source::of(&mut detached, maps, large_frame);
    let mut code = KEPT.get(source, |_| {
        let mut code = compile(module, function, allocator, large_frame)?;
        code.detach(&references);
        Ok(code)
    })?;
    code.attach(&references);
    Ok(code)
}

/// One function, through all steps, to code without a place yet.
fn compile(
    module: &Module,
    function: &Function,
    allocator: &mut Allocator,
    large_frame: u32,
) -> Result<Code, EmitError> {
    // What breaks a rule is no program, and what would come of it could do anything that the kernel allows.
    moonhook_ir::verify::verify(function)
        .map_err(|error| EmitError::Malformed { problem: error.to_string() })?;
    let mut compile = |layout, rare_calls| compile_with(module, function, allocator, layout, rare_calls);
    if caller_saves::may_pay(module, function)
        && let Ok(code) = compile(Layout::Straight, true)
        && !caller_saves::uses_saved(&code)
    {
        return Ok(code);
    }
    let straight = compile(Layout::Straight, false);
    if straight.as_ref().is_ok_and(|code| code.stack <= large_frame) {
        return straight;
    }
    match (straight, compile(Layout::Compact, false)) {
        (Ok(straight), Ok(compact)) if straight.stack <= compact.stack => Ok(straight),
        (Ok(straight), Err(_)) => Ok(straight),
        (_, compact) => compact,
    }
}

fn compile_with(
    module: &Module,
    function: &Function,
    allocator: &mut Allocator,
    layout: Layout,
    rare_calls: bool,
) -> Result<Code, EmitError> {
    let slots = SlotOffsets::new(function)?;
    let machine = select::select(module, function, &slots, layout, rare_calls)?;
    let allocated = allocator.run(&function.name, &machine)?;
    let saves = CallerSaves::find(&machine, allocated);
    let mut words = allocated.num_spillslots + saves.words();
    slots.check_reach(words)?;
    let mut blocks = assemble::assemble(&machine, allocated, &saves, &slots);
    if !slots.size(words).is_ok_and(|size| size <= LARGE_FRAME) {
        words = shared_slots::share(&mut blocks, slots.spill(0));
    }
    let stack = slots.size(words)?;
    dead_spills::clear(&mut blocks, slots.spill(0), function.alike);
    arguments::set_untaken(module, &mut blocks);
    clobbered::refill(function.params.len(), &mut blocks);
    if function.alike {
        alike::make(module, &mut blocks);
    }
    let words = jumps::join(&blocks);
    check_size(&function.name, words.len())?;
    Ok(Code { words, offset: 0, stack, parts: slots.parts() })
}

fn check_size(function: &str, instructions: usize) -> Result<(), EmitError> {
    if instructions <= MAX_INSTRUCTIONS {
        return Ok(());
    }
    let function = function.to_string();
    Err(EmitError::ProgramTooLarge { function, instructions, limit: MAX_INSTRUCTIONS })
}

/// Names are symbols of one object: each must be there once.
fn check(module: &Module) -> Result<(), EmitError> {
    let functions = module.functions.iter().map(|function| &function.name);
    let mut seen = HashSet::new();
    for name in functions.chain(module.maps.iter().map(|map| &map.name)) {
        let identifier = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.as_bytes()[0].is_ascii_digit();
        if !identifier || !seen.insert(name) {
            let problem = format!("`{name}` is not a C identifier that occurs once");
            return Err(EmitError::Malformed { problem });
        }
    }
    let maps = used_maps(module);
    if maps > MAX_MAPS {
        let program = module.functions.first().map_or("?", |function| &function.name).to_string();
        return Err(EmitError::TooManyMaps { program, maps, limit: MAX_MAPS });
    }
    if module.maps.iter().filter(|map| matches!(map.kind, MapKind::Arena { .. })).count() > 1 {
        return Err(EmitError::Malformed { problem: "more than one arena".into() });
    }
    Ok(())
}

/// How many maps the functions name. An arena is named by the instructions that compute addresses in it.
fn used_maps(module: &Module) -> usize {
    let used: HashSet<MapId> =
        module.functions.iter().flat_map(Function::maps).chain(module.arena()).collect();
    used.len()
}

#[cfg(test)]
mod tests {
    use super::common::build;
    use super::*;
    use moonhook_ir::*;

    #[test]
    fn a_million_instructions_are_the_limit() {
        assert_eq!(check_size("f", 1_000_000), Ok(()));
        let error = check_size("f", 1_000_001).unwrap_err();
        assert_eq!(error.diagnostic().code, "MH0402");
        assert_eq!(error.to_string(), "`f` has 1000001 instructions, the limit is 1000000");
    }

    /// What no stage before should make is an error here, not an object that the kernel refuses.
    #[test]
    fn malformed_modules_are_refused() {
        let function = |op: Op| {
            let mut f = build::program("f");
            f.effect(op);
            f.ret(0);
            f.done()
        };
        let context = Value(0);
        let cases = [
            Op::Call { function: FunctionId(9), args: vec![] },
            Op::Helper { id: moonhook_ir::helper::MAP_LOOKUP_ELEM, args: vec![context; 6] },
            Op::Helper { id: u32::MAX, args: vec![] },
            Op::Atomic { op: AtomicOp::Add, size: Size::B2, base: context, disp: 0, value: context },
        ];
        for op in cases {
            let name = op.to_string();
            let module = build::module(vec![function(op)], vec![]);
            let error = emit(&module, &Options::default()).unwrap_err();
            assert_eq!(error.code(), "MH0404", "{name}: {error}");
        }
        let twice = function(Op::Const(1));
        let module = build::module(vec![twice.clone(), twice], vec![]);
        assert_eq!(emit(&module, &Options::default()).unwrap_err().code(), "MH0404");
    }

    #[test]
    fn addresses_of_what_is_not_there_are_refused() {
        let program = Op::FunctionReference(FunctionId(0));
        for address in [Op::DataAddress { map: MapId(0), offset: 0 }, Op::SlotAddress(Slot(3)), program] {
            let mut f = build::program("f");
            let base = f.op(address);
            f.store(Size::B8, base, 0, 1);
            f.ret(0);
            let module = build::module(vec![f.done()], vec![]);
            assert_eq!(emit(&module, &Options::default()).unwrap_err().code(), "MH0404");
        }
    }

    #[test]
    fn one_arena_has_addresses_and_no_more() {
        let arenas = |count: usize| {
            let mut f = build::program("f");
            let offset = f.constant(8);
            let address = f.op(Op::Unary(UnaryOp::Arena, offset));
            f.store(Size::B8, address, 0, 1);
            f.ret(0);
            let arena = |n| Map { name: format!("a{n}"), kind: MapKind::Arena { pages: 1, image: vec![] } };
            let module = build::module(vec![f.done()], (0..count).map(arena).collect());
            emit(&module, &Options::default()).map(|object| object.functions[0].listing[0].text.clone())
        };
        assert!(arenas(1).unwrap().ends_with(" = map a0"), "the program mentions the map");
        assert_eq!(arenas(0).unwrap_err().code(), "MH0404");
        assert_eq!(arenas(2).unwrap_err().code(), "MH0404");
    }

    #[test]
    fn sixty_four_maps_are_the_limit() {
        let of = |count: u32| {
            let mut f = build::program("f");
            for map in (0..count).map(MapId) {
                let base = f.op(Op::DataAddress { map, offset: 0 });
                f.store(Size::B8, base, 0, 1);
            }
            f.ret(0);
            // One that nothing names does not count.
            let map = |n| Map { name: format!("m{n}"), kind: MapKind::Data(vec![0; 8]) };
            emit(&build::module(vec![f.done()], (0..=count).map(map).collect()), &Options::default())
        };
        assert!(of(64).is_ok());
        assert_eq!(of(65).unwrap_err().to_string(), "`f` uses 65 maps, the limit is 64");
        assert_eq!(of(65).unwrap_err().code(), "MH0409");
    }

    #[test]
    fn every_error_has_a_code_and_a_help_line() {
        let (function, problem) = ("f".to_string(), "p".to_string());
        let errors =
            [EmitError::Registers { function, problem: problem.clone() }, EmitError::ObjectFile { problem }];
        for (error, code) in errors.iter().zip(["MH0405", "MH0406"]) {
            let diagnostic = error.diagnostic();
            assert_eq!(diagnostic.code, code);
            assert!(diagnostic.help.is_some_and(|help| help.contains("bug in Moonhook")));
        }
    }
}
