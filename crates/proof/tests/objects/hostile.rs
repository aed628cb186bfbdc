//! Objects with broken bytes: what scripts do with them is refused, or compiled; nothing panics. `MOONHOOK_FUZZ_OBJECTS` says how many.

use crate::{Folder, own_options};
use moonhook_engine::{Form, Settings};
use moonhook_proof::{host, random::Random};

#[test]
fn broken_objects_end_in_an_error_or_in_a_program() {
    let folder = Folder::new();
    folder.compile("meter");
    let object = folder.path("meter.bpf.o");
    let whole = std::fs::read(&object).expect("it was compiled");
    let types = types_in(&whole);
    let mut random = Random::new(host::setting("MOONHOOK_FUZZ_SEED", 3));
    let (mut refused, mut compiled) = (0, 0);
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
        match moonhook_engine::compile(&loaded.snapshot, &settings) {
            Ok(_) => compiled += 1,
            Err(_) => refused += 1,
        }
    }
    println!("{refused} refused, {compiled} compiled");
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
