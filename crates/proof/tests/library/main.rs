//! Libraries: functions in Lua that programs in C call. What these get is what real Lua gives for the same arguments and packets, in both forms.
//!
//! The programs are compiled by clang, and linked by libbpf as `bpftool gen object` does it.

use libbpf_rs::{Linker, MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use mlua::{Function, Table, Value};
use moonhook_engine::{Form, Settings};
use moonhook_install::FRAME_MIN;
use moonhook_proof::{corpus, host, random::Random};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library")
}

/// What C gets after an error.
const FAILED: i64 = i64::MIN;

const FORMS: [Form; 2] = [Form::Expanded, Form::General];

/// A function of general.lua, and how many integers it takes. The last ones have no expanded form, and are not in functions.lua.
const FUNCTIONS: [(&str, usize); 17] = [
    ("sum", 2),
    ("quotient", 2),
    ("remainder", 2),
    ("shift", 2),
    ("less", 2),
    ("nothing", 1),
    ("length", 0),
    ("word", 1),
    ("folded", 1),
    ("five", 4),
    ("text", 1),
    ("fails", 1),
    ("running", 1),
    ("times", 1),
    ("joined", 1),
    ("caught", 1),
    ("nested", 1),
];

const WITHOUT_EXPANDED_FORM: usize = 2;

/// A call: which of [`FUNCTIONS`], and the integers.
type Call = (usize, [i64; 4]);

fn calls(random: &mut Random, count: usize) -> Vec<Call> {
    let mut number = || match random.below(4) {
        0 => random.below(9) as i64 - 4,
        1 => *random.pick(&[i64::MIN, i64::MAX, -1, 0, 1 << 32, 63, 64]),
        2 => random.below(70) as i64,
        _ => random.word() as i64,
    };
    (0..count).map(|index| (index % FUNCTIONS.len(), [0; 4].map(|_: i64| number()))).collect()
}

/// What a function of a library gives C for what it gives Lua.
fn as_c_has_it(returned: mlua::Result<Value>) -> i64 {
    match returned {
        Ok(Value::Integer(number)) => number,
        Ok(Value::Boolean(is)) => is.into(),
        Ok(Value::Nil) => 0,
        Ok(_) | Err(_) => FAILED,
    }
}

fn library(script: &Path, form: Form, object: &Path) {
    let mut settings = Settings { form: Some(form), arena: false, ..Settings::default() };
    settings.load.library = Some(moonhook_snapshot::identifier(&script.with_extension("")));
    let loaded = moonhook_load::load(&[script.to_path_buf()], &settings.load)
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    let compiled = moonhook_engine::compile(&loaded.snapshot, &settings)
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    std::fs::write(object, &compiled.object.elf).expect("there is room");
}

/// The program in C with the library, loaded; `None` without clang.
fn linked(source: &str, library: &Path) -> Option<Object> {
    let folder = library.parent().expect("it is in a folder");
    let [text, object, whole] = ["p.bpf.c", "p.bpf.o", "linked.bpf.o"].map(|name| folder.join(name));
    std::fs::write(&text, source).expect("there is room");
    let clang =
        ["clang-19", "clang"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(clang) = clang else {
        host::note_skipped("libraries", "clang is not installed");
        return None;
    };
    let own = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let compiled = Command::new(clang)
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-I", &own, "-c"])
        .args([&text, Path::new("-o"), &object])
        .output()
        .expect("clang begins");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut linker = Linker::new(&whole).expect("an output");
    linker.add_file(&object).expect("the program is taken");
    linker.add_file(library).expect("the library is taken");
    linker.link().expect("they are linked");
    let loaded = ObjectBuilder::default().open_file(&whole).expect("it is an object").load();
    Some(loaded.expect("the kernel takes it"))
}

fn run(object: &mut Object, frame: &[u8]) {
    let program = object.progs_mut().next().expect("there is one");
    let input = ProgramInput { data_in: Some(frame), ..ProgramInput::default() };
    program.test_run(input).expect("it runs");
}

/// The integers in the section `.bss` of the program in C.
fn results(object: &Object) -> Vec<i64> {
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss")).expect("a section");
    let bytes = map.lookup(&0u32.to_le_bytes(), MapFlags::ANY).expect("it is read").expect("it is there");
    bytes.as_chunks::<8>().0.iter().map(|number| i64::from_le_bytes(*number)).collect()
}

/// A program that makes the calls and keeps what it gets.
fn caller(calls: &[Call]) -> String {
    let mut text = String::from(
        "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\nchar LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n",
    );
    let used = |index: usize| calls.iter().any(|(function, _)| *function == index);
    for (_, (name, count)) in FUNCTIONS.into_iter().enumerate().filter(|(index, _)| used(*index)) {
        let _ = writeln!(text, "extern long long {name}(struct xdp_md *ctx{});", ", long long".repeat(count));
    }
    let _ = writeln!(text, "long long out[{}];\nSEC(\"xdp\") int p(struct xdp_md *ctx) {{", calls.len());
    for (index, (function, numbers)) in calls.iter().enumerate() {
        let (name, count) = FUNCTIONS[*function];
        let numbers: String = numbers
            .iter()
            .take(count)
            .map(|number| format!(", (long long){:#x}ULL", *number as u64))
            .collect();
        let _ = writeln!(text, "  out[{index}] = {name}(ctx{numbers});");
    }
    text + "  return XDP_PASS;\n}\n"
}

/// What real Lua gives for the calls, frame by frame. The functions are called by a handler, which has the packet.
fn in_real_lua(calls: &[Call], frames: &[(String, Vec<u8>)]) -> Vec<Vec<i64>> {
    let folder = tempfile::tempdir().expect("there is room");
    for name in ["functions.lua", "general.lua"] {
        std::fs::copy(here().join(name), folder.path().join(name)).expect("there is room");
    }
    let script = folder.path().join("calls.lua");
    let text = "CALLED = require 'general'\nrequire('xdp').attach(function(pkt) WITH(pkt) end)";
    std::fs::write(&script, text).expect("there is room");
    let loaded = moonhook_load::load(&[script], &moonhook_load::Options::default()).expect("it is loaded");
    let globals = loaded.scripts[0].globals.clone();
    let called: Table = globals.get("CALLED").expect("it is there");
    let calls = calls.to_vec();
    let found = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let into = std::rc::Rc::clone(&found);
    let with = loaded.lua.create_function(move |_, packet: Value| {
        for (function, numbers) in &calls {
            let (name, count) = FUNCTIONS[*function];
            let function: Function = called.get(name)?;
            let numbers = numbers.iter().take(count).map(|number| Value::Integer(*number));
            let arguments: mlua::Variadic<Value> = [packet.clone()].into_iter().chain(numbers).collect();
            into.borrow_mut().push(as_c_has_it(function.call(arguments)));
        }
        Ok(())
    });
    globals.set("WITH", with.expect("a function")).expect("it is set");
    let mut tier = moonhook_user::UserTier::new(loaded, moonhook_user::Options::default()).expect("a tier");
    frames
        .iter()
        .map(|(_, frame)| {
            tier.run(frame);
            found.take()
        })
        .collect()
}

#[test]
fn functions_give_c_what_they_give_lua() {
    if !host::kernel_available("libraries") {
        return;
    }
    let mut frames = corpus::damaged(&mut Random::new(16), 60);
    frames.retain(|(_, frame)| (FRAME_MIN..1500).contains(&frame.len()));
    assert!(frames.len() > 30);
    let all = calls(&mut Random::new(15), 170);
    let expanded: Vec<Call> =
        all.iter().filter(|call| call.0 < FUNCTIONS.len() - WITHOUT_EXPANDED_FORM).copied().collect();
    for (form, script, calls) in
        [(Form::Expanded, "functions.lua", expanded), (Form::General, "general.lua", all)]
    {
        let expected = in_real_lua(&calls, &frames);
        assert!(expected.iter().flatten().any(|number| *number == FAILED), "some calls fail");
        let folder = tempfile::tempdir().expect("there is room");
        let object = folder.path().join("functions.bpf.o");
        library(&here().join(script), form, &object);
        let Some(mut program) = linked(&caller(&calls), &object) else { return };
        for ((name, frame), expected) in frames.iter().zip(&expected) {
            run(&mut program, frame);
            let found = results(&program);
            for (index, (function, numbers)) in calls.iter().enumerate() {
                let called = FUNCTIONS[*function];
                assert_eq!(found[index], expected[index], "{form:?}, {name}: {called:?} of {numbers:?}");
            }
        }
    }
}

/// A program that calls handlers as Lunatik's programs do; `out` has what it gets for each key and memory.
const KEYED: &str = r#"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
extern int bpf_luaxdp_run(char *key, unsigned long key__sz, struct xdp_md *ctx, void *arg, unsigned long arg__sz);
extern int handlers(struct xdp_md *ctx);
static char right[] = "KEY";
static char longer[] = "KEYs";
static char shorter[] = "KE";
static char big[300] = {1};
long long out[10];
struct memory { unsigned char at[2]; char text[3]; unsigned char number[4]; };
SEC("xdp") int p(struct xdp_md *ctx)
{
	struct memory memory = {{0, 20}, {'a', 'b', 'c'}, {4, 3, 2, 1}};
	out[0] = bpf_luaxdp_run(right, sizeof(right), ctx, &memory, sizeof(memory));
	memory.text[0] = 'x';
	out[1] = bpf_luaxdp_run(right, sizeof(right) - 1, ctx, &memory, sizeof(memory));
	memory.at[0] = 255;
	out[2] = bpf_luaxdp_run(right, sizeof(right), ctx, &memory, sizeof(memory));
	out[3] = bpf_luaxdp_run(longer, sizeof(longer), ctx, &memory, sizeof(memory));
	out[4] = bpf_luaxdp_run(shorter, sizeof(shorter), ctx, &memory, sizeof(memory));
	out[5] = bpf_luaxdp_run(right, sizeof(right), ctx, big, sizeof(big));
	out[6] = bpf_luaxdp_run(right, sizeof(right), ctx, &memory, 4);
	memory.at[0] = 0;
	memory.text[0] = 't';
	memory.text[1] = 'w';
	memory.text[2] = 'o';
	out[7] = bpf_luaxdp_run(right, sizeof(right), ctx, &memory, sizeof(memory));
	out[8] = handlers(ctx);
	out[9] = bpf_luaxdp_run(right, sizeof(right), ctx, (void *)1234, sizeof(memory));
	return XDP_PASS;
}
char LICENSE[] SEC("license") = "Dual MIT/GPL";
"#;

#[test]
fn handlers_are_called_by_key_and_with_memory() {
    if !host::kernel_available("libraries") {
        return;
    }
    let scripts = tempfile::tempdir().expect("there is room");
    let script = scripts.path().join("handlers.lua");
    std::fs::copy(here().join("handlers.lua"), &script).expect("there is room");
    let key = script.to_string_lossy();
    let key = key.trim_end_matches(".lua");
    for form in FORMS {
        let folder = tempfile::tempdir().expect("there is room");
        let object = folder.path().join("handlers.bpf.o");
        library(&script, form, &object);
        let source = KEYED.replace("KEYs", &format!("{key}s")).replace("KEY", key);
        let Some(mut program) = linked(&source.replace("\"KE\"", "\"handler\""), &object) else { return };
        let mut frame = vec![0; 64];
        run(&mut program, &frame);
        // DROP for the text, PASS; an error for what is beyond the packet; other keys, too much memory, too little; ABORTED by the second
        // handler; an error of the handlers without memory, whose argument has two bytes; and memory that is none.
        assert_eq!(results(&program), [1, 2, -1, -1, -1, -1, -1, 0, -1, -1], "{form:?}");
        frame[20] = 99;
        run(&mut program, &frame);
        assert_eq!(results(&program), [1, 1, -1, -1, -1, -1, -1, 1, -1, -1], "{form:?}");
    }
}

const COMPUTED: &str = r#"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
extern int bpf_luaxdp_run(char *key, unsigned long key__sz, struct xdp_md *ctx, void *arg, unsigned long arg__sz);
extern int computed(struct xdp_md *ctx);
static char key[] = "KEY";
long long out[3];
SEC("xdp") int p(struct xdp_md *ctx)
{
	char memory[4] = {1};
	out[0] = computed(ctx);
	out[1] = bpf_luaxdp_run(key, sizeof(key), ctx, memory, sizeof(memory));
	out[2] = bpf_luaxdp_run(key, sizeof(key), ctx, (void *)0, 0);
	return XDP_PASS;
}
char LICENSE[] SEC("license") = "Dual MIT/GPL";
"#;

#[test]
fn handlers_that_compute_names_are_called() {
    if !host::kernel_available("libraries") {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let [script, object] = ["computed.lua", "computed.bpf.o"].map(|name| folder.path().join(name));
    std::fs::copy(here().join("computed.lua"), &script).expect("there is room");
    library(&script, Form::General, &object);
    let key = script.with_extension("");
    let Some(mut program) = linked(&COMPUTED.replace("KEY", &key.to_string_lossy()), &object) else { return };
    for (byte, verdict) in [(0, 2), (99, 1)] {
        let mut frame = vec![0; 64];
        frame[20] = byte;
        run(&mut program, &frame);
        assert_eq!(results(&program), [verdict; 3]);
    }
}
