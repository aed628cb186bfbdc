//! Objects of the module `data` at load time, where real Lua runs what packet code has compiled.

mod common;

use common::load_handler;
use moonhook_load::{Options, load};
use std::io::Write;
use std::path::Path;

/// Bits one by one, the first of a byte being its highest (docs/data.md): what fields of all widths at all places are, and that assigning one
/// changes no other bit.
#[test]
fn fields_are_the_bits_that_their_layout_says() {
    load_handler(
        r##"
        local data = require "data"
        local function bit(bytes, at) return bytes:byte(at // 8 + 1) >> (7 - at % 8) & 1 end
        local function big(bytes, from, bits)
          local value = 0
          for at = from, from + bits - 1 do value = value << 1 | bit(bytes, at) end
          return value
        end
        local function little(bytes, from, bits)
          local value, shift = 0, 0
          for at = from, from + bits - 1, 8 do
            local part = math.min(8, from + bits - at)
            value = value | big(bytes, at, part) << shift
            shift = shift + 8
          end
          return value
        end
        math.randomseed(7)
        for from = 0, 15 do
          for bits = 1, 64 do
            local bytes = string.pack(">I8I8", math.random(0), math.random(0))
            local object = data.new(bytes):layout {
              all = { 0, 16, "s" }, big = { from, bits }, little = { from, bits, "number", "little" },
            }
            assert(object.big == big(bytes, from, bits), from .. " " .. bits)
            assert(object.little == (bits > 8 and little or big)(bytes, from, bits), from .. " " .. bits)
            local value = math.random(0)
            for name, of in pairs { big = big, little = bits > 8 and little or big } do
              object.all = bytes
              object[name] = value
              local changed = tostring(object)
              assert(of(changed, from, bits) == (bits == 64 and value or value & (1 << bits) - 1), name .. from .. " " .. bits)
              for at = 0, 127 do
                if at < from or at >= from + bits then assert(bit(changed, at) == bit(bytes, at)) end
              end
            end
          end
        end
        function handler() end
        "##,
    );
}

#[test]
fn objects_raise_no_errors_by_fields() {
    load_handler(
        r##"
        local data = require "data"
        local object = data.new { 0x0f, "7", {}, 300 }
        assert(#object == 4 and tostring(object) == "\x0f\x07\0\x2c" and object.nobody == nil and object[1] == nil)
        object.nobody, object[2], object.layout = 1, 2, 3
        assert(object:layout() == nil and object:layout(7) == nil and data.layout() == nil and data.layout "x" == nil)
        object:layout { a = { 24, 16 }, b = { "x", "y" }, c = 7, d = { 3, 9, 9, 9 }, [5] = { 0, 8 }, e = { -1, 8 }, f = { 0, -8 } }
        assert(object.a == nil and object.b == nil and object.c == nil and object.d == 0xf0 and object[5] == 15)
        assert(object.e == nil and object.f == nil)
        object.a, object.b, object.c, object.d, object[5], object.e, object.f = 1, 2, 3, "x", print, 6, 7
        assert(object[5] == 0 and #object == 4)
        assert(select("#", data.new()) == 0 and data.new(0) == nil and data.new {} == nil and data.new "" == nil and data.new(2.5) == nil)
        assert(#data.new(1e3) == 1000 and #data.new "\0\0" == 2 and select("#", object:segment(4)) == 0)
        local given = { x = { 0, 8 }, gone = { 0, 0 } }
        assert(data.layout(given) == given and given.gone == nil and data.layout(given) == given)
        assert(data.new("a"):layout(given).x == 97)
        function handler() end
        "##,
    );
}

/// Notes that a test cannot run here (ARCHITECTURE.md, `MOONHOOK_SKIPPED`).
fn skip(reason: &str) {
    if let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "load luadata: {reason}")).unwrap();
    }
}

/// Their own test, where there is a copy of luadata.
#[test]
fn the_test_of_luadata_passes() {
    let Some(peers) = std::env::var_os("MOONHOOK_PEERS") else {
        return skip("MOONHOOK_PEERS names no folder with luadata");
    };
    let tests = ["luainkernel+luadata/test.lua", "lneto+luadata/test.lua"];
    let Some(test) = tests.map(|test| Path::new(&peers).join(test)).into_iter().find(|test| test.exists())
    else {
        return skip("no luadata in MOONHOOK_PEERS");
    };
    let loaded = load(&[test], &Options { handlers_optional: true, ..Options::default() });
    assert!(loaded.expect("its own assertions hold").is_over);
}
