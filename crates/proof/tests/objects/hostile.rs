//! Objects with broken bytes: what scripts do with them is refused, or compiled; nothing panics, and what the kernel's verifier has
//! against them is no fault of ours. `MOONHOOK_FUZZ_OBJECTS` says how many.

use crate::{Folder, own_options};
use moonhook_engine::{EngineError, Form, Kernel, Settings};
use moonhook_install::LogDetail;
use moonhook_proof::{host, random::Random};
use moonhook_snapshot::Snapshot;

#[test]
fn broken_objects_end_in_an_error_or_in_a_program() {
    let folder = Folder::new();
    folder.compile("meter");
    let object = folder.path("meter.bpf.o");
    let whole = std::fs::read(&object).expect("it was compiled");
    let types = types_in(&whole);
    let mut random = Random::new(host::setting("MOONHOOK_FUZZ_SEED", 3));
    let (mut refused, mut compiled, mut large) = (0, 0, 0);
    for number in 0..host::setting("MOONHOOK_FUZZ_OBJECTS", 300) {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(6) {
            let place = random.below(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        // Types that are part of themselves, or of what they have nothing to do with.
        if random.once_in(2) {
            for _ in 0..=random.below(4) {
                let place = types.start + 4 * random.below(types.len() / 4);
                let word =
                    if random.once_in(6) { u32::MAX >> random.below(32) } else { random.below(60) as u32 };
                bytes[place..place + 4].copy_from_slice(&word.to_le_bytes());
            }
        }
        if random.once_in(10) {
            bytes.truncate(random.below(bytes.len()));
        }
        std::fs::write(&object, &bytes).expect("there is room");
        let Ok(loaded) = moonhook_load::load(&[folder.path("meter.lua")], &own_options()) else {
            refused += 1;
            continue;
        };
        // General code is large, and has the same functions.
        let form = if number % 20 == 0 { Form::General } else { Form::Expanded };
        let settings = Settings { form: Some(form), ..Settings::default() };
        match made(&loaded.snapshot, &settings) {
            Ok(()) => compiled += 1,
            Err(error) => {
                let diagnostic = error.diagnostic();
                // Types that have very many parts make code that is too large, and no wrong code.
                let is_large = diagnostic.message.contains("program is too large");
                assert!(diagnostic.code != "MH0505" || is_large, "{number}: {}", diagnostic.render(false));
                large += usize::from(is_large);
                refused += 1;
            }
        }
    }
    println!("{refused} refused, {large} of them as too large, {compiled} compiled");
    assert!(10 * large <= refused + compiled, "{large} are too large");
    assert!(refused > 0 && compiled > 0, "{refused} refused, {compiled} compiled");
}

/// Where an object has its types (`struct btf_header`, include/uapi/linux/btf.h).
fn types_in(object: &[u8]) -> std::ops::Range<usize> {
    let start = object.windows(4).position(|bytes| bytes == [0x9f, 0xeb, 1, 0]).expect("there are types");
    let word = |at: usize| {
        let bytes = object[start + at..start + at + 4].try_into().expect("there are four");
        u32::from_le_bytes(bytes) as usize
    };
    let first = start + word(4) + word(8);
    first..first + word(12)
}

/// Compiled, and loaded where the kernel does that.
fn made(snapshot: &Snapshot, settings: &Settings) -> Result<(), EngineError> {
    match host::kernel_available("broken objects") {
        true => Kernel::install(snapshot, settings, LogDetail::Nothing, |_| Vec::new()).map(|_| ()),
        false => moonhook_engine::compile(snapshot, settings).map(|_| ()),
    }
}

/// Instructions that no verifier takes are told with the function that has them, and not as a fault of ours, in both forms.
#[test]
fn broken_instructions_are_blamed_on_their_function() {
    if !host::kernel_available("broken instructions") {
        return;
    }
    let folder = Folder::new();
    folder.compile("meter");
    let path = folder.path("meter.bpf.o");
    let whole = std::fs::read(&path).expect("it was compiled");
    let object = moonhook_link::Object::read(&whole, "meter.bpf.o").expect("it is an object");
    let function = &object.functions[object.function("count").expect("there is one")];
    let code = function.code.concat();
    let start = whole.windows(code.len()).position(|bytes| bytes == code).expect("its code is in the file");
    let load = function.code.iter().position(|[code, ..]| *code == 0x61).expect("it reads words");
    for (at, byte, problem) in [(0, 0xff, "0xff"), (0, 0, "0x00"), (8 * load + 4, 5, "reserved fields")] {
        let mut bytes = whole.clone();
        bytes[start + at] = byte;
        std::fs::write(&path, &bytes).expect("there is room");
        let loaded =
            moonhook_load::load(&[folder.path("meter.lua")], &own_options()).expect("it is a script");
        for form in [None, Some(Form::General)] {
            let settings = Settings { form, ..Settings::default() };
            let error = made(&loaded.snapshot, &settings).expect_err("no verifier takes it");
            let diagnostic = error.diagnostic();
            assert_eq!(diagnostic.code, "MH0906", "{}", diagnostic.render(false));
            let message = diagnostic.message;
            assert!(message.contains("'count' of ") && message.contains(problem), "{message}");
        }
    }
}
