//! The object is a standard one: bpftool loads it and shows the script's lines.

mod common;

use common::build::{self, program, subprogram};
use common::kernel;
use moonhook_emit::{Options, emit};
use moonhook_ir::*;
use std::path::Path;
use std::process::Command;

/// A program with a static and a global function, a map and both kinds of data.
fn module() -> Module {
    let mut f = program("handler");
    let a = f.input(0);
    let map = f.op(Op::MapReference(MapId(2)));
    let slot = f.f.new_slot(8);
    let key = f.op(Op::SlotAddress(slot));
    f.store(Size::B8, key, 0, 1);
    f.effect(Op::Helper { id: moonhook_ir::helper::MAP_LOOKUP_ELEM, args: vec![map, key] });
    let table = f.op(Op::DataAddress { map: MapId(1), offset: 1 });
    let byte = f.load(Size::B1, table, 0);
    let sum = f.op(Op::Call { function: FunctionId(1), args: vec![a, byte] });
    let result = f.op(Op::Call { function: FunctionId(2), args: vec![sum] });
    f.ret(result);
    let mut add = subprogram("add", false, 2);
    let sum = add.binary(BinaryOp::Add, add.f.params[0], add.f.params[1]);
    add.ret(sum);
    let mut low = subprogram("low_bits", true, 1);
    let bits = low.binary(BinaryOp::And, low.f.params[0], 3);
    low.ret(bits);
    let definition =
        MapDefinition { map_type: MapType::LruHash, key_size: 8, value_size: 16, max_entries: 7, flags: 0 };
    let maps = vec![
        build::io(2),
        Map { name: "table".into(), kind: MapKind::ReadOnlyData(vec![5, 6, 7]) },
        Map { name: "flows".into(), kind: MapKind::Map(definition) },
    ];
    build::module(vec![f.done(), add.done(), low.done()], maps)
}

fn bpftool(args: &[&str]) -> String {
    let output = Command::new("bpftool").args(args).output().expect("bpftool is installed");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "bpftool {args:?}: {out}{err}");
    out.into_owned()
}

/// Removes what a test pinned and wrote, also when it fails.
struct Remove(Vec<String>);

impl Drop for Remove {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[test]
fn bpftool_loads_it_and_shows_lines() {
    if !kernel::available() {
        return;
    }
    if !Path::new("/sys/fs/bpf").exists() {
        eprintln!("skipped: no /sys/fs/bpf");
        return;
    }
    // Not mounted in every namespace; an error says that it is already.
    if !std::fs::read_to_string("/proc/mounts").unwrap().contains(" /sys/fs/bpf bpf ") {
        let _ = Command::new("mount").args(["-t", "bpf", "bpf", "/sys/fs/bpf"]).status();
    }
    let name = format!("moonhook_emit_{}", std::process::id());
    let (file, pin) = (format!("/tmp/{name}.bpf.o"), format!("/sys/fs/bpf/{name}"));
    let _remove = Remove(vec![file.clone(), pin.clone()]);
    std::fs::write(&file, emit(&module(), &Options::default()).unwrap().elf).unwrap();
    bpftool(&["prog", "load", &file, &pin]);
    let lines = bpftool(&["prog", "dump", "xlated", "pinned", &pin, "linum"]);
    for part in ["handler(struct xdp_md *", "local x5 = 5 [file:test.lua line_num:5", "low_bits(", "add("] {
        assert!(lines.contains(part), "{part:?} is missing in:\n{lines}");
    }
    let types = bpftool(&["btf", "dump", "file", &file]);
    for part in ["DATASEC '.maps'", "FUNC 'add' type_id", "linkage=static", "DATASEC '.rodata.table' size=8"]
    {
        assert!(types.contains(part), "{part:?} is missing in:\n{types}");
    }
}

#[test]
fn the_listing_shows_lines_above_their_instructions() {
    let module = module();
    let object = emit(&module, &Options::default()).unwrap();
    let listing = moonhook_emit::dump(&object, &module);
    for part in [
        "; map flows: LruHash, 7 entries, key 8 and value 16 bytes",
        "handler in \"xdp\"",
        "; test.lua:2: local x2 = 2",
        "= &table[1]",
        "= map flows",
        "call add",
        "call low_bits",
    ] {
        assert!(listing.contains(part), "{part:?} is missing in:\n{listing}");
    }
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    let once = emit(&module(), &Options::default()).unwrap().elf;
    assert_eq!(once, emit(&module(), &Options::default()).unwrap().elf);
}
