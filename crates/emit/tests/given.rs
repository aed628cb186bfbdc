//! Random programs whose functions are code that was made before: taken out of an object file, and called or put in the places of their
//! calls. The kernel must compute what the reference evaluator does.

mod common;

use common::evaluate::Evaluator;
use common::random::{self, INPUTS, Random};
use common::{build, kernel};
use moonhook_emit::{Options, emit};
use moonhook_ir::{Function, FunctionId, FunctionKind, Given, GivenReference, Loc, MapId, Module};
use moonhook_link::{Object, Target};

/// The functions behind the program as an object file has them.
fn with_given(module: &Module) -> Module {
    let object = Object::read(&emit(module, &Options::default()).unwrap().elf, "random.o").unwrap();
    let mut module = module.clone();
    let names: Vec<String> = module.functions.iter().map(|function| function.name.clone()).collect();
    let number = |name: &str| FunctionId(names.iter().position(|known| known == name).unwrap() as u32);
    for function in &mut module.functions[1..] {
        let read = object.functions.iter().find(|read| read.name == function.name).unwrap();
        let reference = |target: &Target| match target {
            Target::Call(callee) => GivenReference::Call(number(&object.functions[*callee].name)),
            Target::Data { offset, .. } => GivenReference::Data(MapId(0), *offset),
            other => panic!("{other:?}"),
        };
        let references = read.references.iter().map(|at| (at.slot, reference(&at.target))).collect();
        let locs = vec![Loc::default(); read.code.len()].into();
        let kind = FunctionKind::Subprogram { global: false, context: None };
        let mut given = Function::new(&function.name, kind, function.params.len() as u32);
        given.given = Some(Given { words: read.code.clone().into(), locs, references });
        *function = given;
    }
    module
}

#[test]
fn the_kernel_computes_with_functions_that_are_given_what_the_evaluator_does() {
    if !kernel::available() {
        return;
    }
    libbpf_rs::set_print(None); // A program with too many paths brings a long log.
    let (mut put_in, mut run) = (0, 0);
    for seed in 5000..5200 {
        let module = random::module(seed);
        let given = with_given(&module);
        let emitted = emit(&given, &Options::default()).unwrap();
        let Some(mut loaded) = kernel::load_unless_too_complex(&given) else { continue };
        run += 1;
        put_in += emitted.functions.iter().filter(|function| function.instructions == 0).count();
        let mut random = Random::new(seed ^ 0x1234);
        for _ in 0..8 {
            let inputs: Vec<u8> = (0..INPUTS).flat_map(|_| random.operand().to_le_bytes()).collect();
            let mut evaluator = Evaluator::new(&module);
            evaluator.regions[build::IO.0 as usize][..inputs.len()].copy_from_slice(&inputs);
            let expected = evaluator.call(&module.functions[0], &[0]) as u32;
            loaded.set_data(".data.io", &inputs);
            let (result, _) = loaded.run(&[0; 64]);
            assert_eq!(result, expected, "seed {seed}, inputs {inputs:x?}\n{module}");
            assert_eq!(
                loaded.data(".data.io"),
                evaluator.regions[0],
                "seed {seed}, inputs {inputs:x?}\n{module}"
            );
        }
    }
    assert!(
        run > 100 && put_in > 50,
        "{put_in} functions were put in the places of their calls, {run} programs ran"
    );
}
