//! Objects whose code is broken at random: whatever they do is a result or a fault, and comes before the budget ends.

mod common;

use common::{Random, compiled, object};
use moonhook_emulate::{Argument, BUDGET, Emulator, Packet};
use moonhook_link::Object;
use std::sync::Arc;

/// Of all kinds of instructions and references.
const SOURCE: &str = r#"
    struct value { u64 a; u32 b; };
    struct prefix { u32 length; u8 bits[4]; };
    #define MAP(name, kind, key_type, flags) struct { __uint(type, kind); __uint(max_entries, 9); __uint(map_flags, flags); \
        __type(key, key_type); __type(value, struct value); } name SEC(".maps");
    MAP(hash, 1, u32, 0) MAP(array, 2, u32, 0) MAP(lru, 9, u32, 0) MAP(each_cpu, 5, u32, 0) MAP(prefixes, 11, struct prefix, 1)
    static const u32 rows[] = {1, 2, 3, 5, 7, 11, 13, 17};
    u64 sum; u32 seen[8] = {1};
    extern int outside(struct xdp_md *ctx);
    static noinline u32 inner(u8 *at, s16 by) { u8 local[16] = {}; local[by & 15] = at[1]; return rows[local[3] & 7] + local[by & 7]; }
    static long turn(u32 number, u64 *state) { *state = *state * 31 + number; return *state & 1; }
    static long element(void *map, u32 *key, struct value *value, u64 *state) { value->a += *key; *state += value->b; return 0; }
    #define ON(name, key_type) { key_type key = *(key_type *)(d + 4); struct value value = {d[1], d[2]}; \
        struct value *found = lookup(&name, &key); \
        if (found) { __sync_fetch_and_add(&found->a, value.a); found->b++; } else update(&name, &key, &value, d[3] & 3); \
        if (d[4] & 1) delete(&name, &key); }
    SEC("xdp") int all(struct xdp_md *ctx) {
        u8 *d = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
        if (d + 64 > end) return 1;
        ON(hash, u32) ON(array, u32) ON(lru, u32) ON(each_cpu, u32) ON(prefixes, struct prefix)
        u64 state = d[7];
        loop(d[8], turn, &state, 0); for_each(&hash, element, &state, 0); for_each(&array, element, &state, 0);
        sum += state + inner(d, d[9]) + csum_diff(d, 16, d + 16, 32, d[5]);
        seen[d[11] & 7] += __sync_val_compare_and_swap(&sum, d[10], state) + (u32)state / d[12] + __builtin_bswap32(sum);
        for (u32 i = 0; i < d[13]; i++) seen[i & 7] ^= d[i & 31] << (i & 31);
        if (adjust_head(ctx, (s8)d[14])) return 2;
        if (adjust_tail(ctx, -(int)state)) return 3;
        if (d[15] & 1) return outside(ctx);
        return redirect(1, 0) + ktime() + prandom();
    }
"#;

/// Bytes that are more to the point than others.
fn byte(random: &mut Random) -> u8 {
    match random.below(4) {
        0 => *random
            .one_of(&[0x18, 0x85, 0x95, 0x05, 0x06, 0xe5, 0xdb, 0xc3, 0x79, 0x7b, 0x61, 0x63, 0x9f, 0xd7]),
        1 => *random.one_of(&[0, 1, 2, 10, 0x1a, 0xa1, 0xff, 0x7f, 0x80]),
        _ => random.next() as u8,
    }
}

fn broken(object: &Object, random: &mut Random) -> Object {
    let mut object = object.clone();
    for _ in 0..1 + random.below(6) {
        let function = random.below(object.functions.len());
        let code = &mut object.functions[function].code;
        let (slot, part, value) = (random.below(code.len()), random.below(8), byte(random));
        match random.below(12) {
            // A whole instruction, of chance or of elsewhere; a cut; a reference elsewhere; jumps that go back.
            0 => code[slot] = std::array::from_fn(|_| byte(random)),
            1 => code[slot] = code[random.below(code.len())],
            2 => code.truncate(slot + 1),
            3 => {
                let length = code.len();
                for reference in &mut object.functions[function].references {
                    if random.one_in(4) {
                        reference.slot = random.below(2 * length);
                    }
                }
            }
            4..6 => {
                let back = -1 - random.below(12) as i16;
                let jumps =
                    code.iter_mut().filter(|word| matches!(word[0] & 7, 5 | 6) && word[0] & 0xf0 != 0x80);
                jumps
                    .filter(|_| random.one_in(8))
                    .for_each(|word| word[2..4].copy_from_slice(&back.to_le_bytes()));
            }
            _ => code[slot][part] = value,
        }
    }
    object
}

/// A map or a section less than functions refer to, or of other sizes.
fn resized(object: &mut Object, random: &mut Random) {
    let map = random.below(object.maps.len());
    let number = *random.one_of(&[0, 1, 3, 8, 4096, u32::MAX]);
    match random.below(6) {
        0 => object.maps[map].map_type = number,
        1 => object.maps[map].key.0 = number,
        2 => object.maps[map].value.0 = number,
        3 => object.maps[map].max_entries = number,
        4 => drop(object.maps.pop()),
        _ => drop(object.data.pop()),
    }
}

#[test]
fn broken_code_ends() {
    let (mut random, mut results, mut faults, mut exhausted) = (Random(0x5eed_0007), 0, 0, 0);
    let sources: Option<Vec<_>> = ["-mcpu=v3", "-mcpu=v4"].iter().map(|cpu| compiled(SOURCE, cpu)).collect();
    let Some(sources) = sources else { return };
    let objects: Vec<Arc<Object>> = sources.iter().map(|bytes| object(bytes)).collect();
    for turn in 0..20_000 {
        let mut broken = broken(&objects[turn % objects.len()], &mut random);
        if random.one_in(4) {
            resized(&mut broken, &mut random);
        }
        let functions = broken.functions.len();
        let mut emulator = Emulator::new(&[Arc::new(broken)]);
        // Most loops for ever are cut short, for the sake of the test's time.
        emulator.set_budget(if turn % 200 == 0 { BUDGET } else { 5_000 });
        let mut packet = Packet { bytes: random.bytes(64), ..Packet::default() };
        let mut memory = random.bytes(16);
        for function in [turn % functions, functions - 1] {
            let (mut other, number) = (memory.clone(), random.next());
            let mut arguments = [
                Argument::Context,
                Argument::Memory(&mut memory),
                Argument::Number(number),
                Argument::Memory(&mut other),
            ];
            arguments.rotate_left(turn % 3);
            match emulator.call(0, function, &mut arguments, &mut packet) {
                Ok(_) => results += 1,
                Err(fault) => {
                    faults += 1;
                    exhausted += usize::from(fault.to_string().contains("takes more than"));
                }
            }
        }
    }
    eprintln!("{results} results, {faults} faults, of which {exhausted} budgets");
    assert!(results > 1000 && faults > 1000 && exhausted > 100, "{results} {faults} {exhausted}");
}

#[test]
fn packets_of_all_lengths_do_no_harm() {
    let Some(source) = compiled(SOURCE, "-mcpu=v4") else { return };
    let (object, mut random) = (object(&source), Random(0x5eed_0008));
    let all = object.function("all").expect("the program");
    let mut emulator = Emulator::new(&[object]);
    for length in (0..200).chain([3000, 3520, 3521, 4096, 70_000]) {
        for (head, tail) in
            [(0, 0), (256, 0), (257, 9), (-60, -60), (i64::MAX, i64::MAX), (i64::MIN, i64::MIN)]
        {
            let bytes = random.bytes(length);
            let mut packet = Packet { bytes, head, tail, ..Packet::default() };
            let _ = emulator.call(0, all, &mut [Argument::Context], &mut packet);
        }
    }
}
