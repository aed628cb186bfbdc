//! Records that one CPU reads while another assigns, replaces and deletes them: each is read as it was assigned.

use crate::support::{entries, frame, loaded_as, loaded_with, packets, run_together};
use moonhook_engine::{Form, Settings};
use moonhook_proof::host;

/// What tells one record from another, in the first two fields, is checked in all of them: how the reader gets at a record, and reads.
const READERS: [(&str, &str); 8] = [
    ("fields", "local r = t[k] if r then a, b, c = r.a, r.b, r.c end"),
    ("lookups", "if t[k] then a, b, c = t[k].a, t[k].b, t[k].c end"),
    (
        "a new one",
        "local r = t[k] if not r then r = { a = k, b = k, c = k } t[k] = r end a, b, c = r.a, r.b, r.c",
    ),
    (
        "a loop between",
        "local r = t[k] if r then a = r.a for i = 1, 100 do pkt:setuint8(40, i) end b, c = r.b, r.c end",
    ),
    (
        "a function",
        "local function of(r, f) return r[f] end local r = t[k] if r then a, b, c = of(r, 'a'), of(r, 'b'), of(r, 'c') end",
    ),
    (
        "a branch",
        "local r = t[k] if r then if k > 2 then a, b = r.a, r.b else b, a = r.b, r.a end c = r.c end",
    ),
    ("next", "local _, r = next(t) if r then a, b, c = r.a, r.b, r.c k = a & 3 end"),
    (
        "pairs",
        "for key, r in pairs(t) do k = key a, b, c = r.a, r.b, r.c if a ~= b or b ~= c or a & 3 ~= k then break end end",
    ),
];

/// How the table is declared besides, and whether the kernel describes its types: where it does, elements tell their keys.
const TABLES: [(&str, Option<bool>); 3] = [("", None), (", evict = 'lru'", None), ("", Some(false))];

/// One CPU writes, another one reads.
#[test]
fn records_are_read_whole() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for (declared, kernel_types) in TABLES {
        records_are_read_whole_from(declared, kernel_types);
    }
}

fn records_are_read_whole_from(declared: &str, kernel_types: Option<bool>) {
    let in_form = |form| READERS.map(|reader| (form, reader));
    for (form, (what, read)) in [Form::Expanded, Form::General].into_iter().flat_map(in_form) {
        let text = format!(
            "local xdp = require 'xdp'
            local t = map {{ key = 'int', value = {{ a = 'int', b = 'int', c = 'int' }}, capacity = 16{declared} }}
            local turns, seen, wrong = {{}}, {{ [1] = 0 }}, {{ [1] = 0 }}
            xdp.attach(function(pkt)
              turns[1] = (turns[1] or 0) + 1
              local v = turns[1]
              local k = v & 3
              if pkt.udp then
                t[k] = {{ a = v, b = v, c = v }}
                t[k ~ 1] = nil
                v = v + 4
                t[k] = {{ a = v, b = v, c = v }}
                return
              end
              local a, b, c
              {read}
              if a then seen[1] = seen[1] + 1 end
              if a and (a ~= b or b ~= c or a & 3 ~= k) then wrong[1] = wrong[1] + 1 end
            end)"
        );
        let settings = Settings { form: Some(form), kernel_types, ..Settings::default() };
        let (program, module, name) = loaded_with(&text, &settings);
        run_together(&program, &name, [&frame("udp"), &frame("tcp")], packets() / 10 * 6);
        assert_eq!(
            entries(&program, &module, "turns"),
            [format!("1 {}", packets() / 10 * 12)],
            "{form:?}: {what}{declared}"
        );
        println!(
            "{form:?}, {what}{declared}, {kernel_types:?}: {:?} of {:?}",
            entries(&program, &module, "wrong"),
            entries(&program, &module, "seen")
        );
        assert_eq!(entries(&program, &module, "wrong"), ["1 0"], "{form:?}: {what}{declared}");
    }
}

/// Strings that are whole values have no room for a version: one that is assigned twice while it is copied, into the same memory, may
/// be read wrong, which happens where the machine stops the reader for long enough.
const RARE: u32 = 10;

/// Strings and addresses that one CPU reads while another assigns and deletes them.
#[test]
fn values_of_several_words_are_read_whole() {
    if !host::kernel_available("shared tables") {
        return;
    }
    for form in [Form::Expanded, Form::General] {
        let (program, module, name) = loaded_as(
            "local xdp = require 'xdp'
            local t = map { key = 'int', value = 'string:40', capacity = 16 }
            local turns, seen, wrong = {}, { [1] = 0 }, { [1] = 0 }
            local one, other = ('a'):rep(32), ('b'):rep(40)
            xdp.attach(function(pkt)
              turns[1] = (turns[1] or 0) + 1
              local k = turns[1] & 3
              if pkt.udp then
                t[k] = one
                t[k ~ 1] = nil
                t[k] = other
                return
              end
              local s = t[k]
              if s then seen[1] = seen[1] + 1 end
              if s and s ~= one and s ~= other then wrong[1] = wrong[1] + 1 end
            end)",
            Some(form),
        );
        run_together(&program, &name, [&frame("udp"), &frame("tcp")], packets() / 10 * 6);
        let (wrong, seen) = (entries(&program, &module, "wrong"), entries(&program, &module, "seen"));
        println!("{form:?}, a string: {wrong:?} of {seen:?}");
        let wrong: u32 = wrong[0].rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap();
        assert!(wrong <= RARE, "{form:?}: {wrong}");
    }
}
