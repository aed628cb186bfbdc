//! Chains of eCLAT that grow when they are expanded, or are as deep as they may be: they compile or are refused with a code. None makes the
//! compiler panic, hang or overflow its stack, which is no larger here than that of a thread.

mod forms;

use moonhook_engine::Form;
use moonhook_specialise::Options;
use std::path::PathBuf;

/// Bytes of stack for the compiler.
const STACK: usize = 2 << 20;

/// The code for handlers that need too many instructions.
const TOO_LARGE: &str = "MH0207";

/// `compiles`, or the code of the refusal.
fn outcome(text: &str, form: Form) -> String {
    let folder = tempfile::tempdir().expect("a folder for the script");
    let script = folder.path().join("hostile.eclat");
    std::fs::write(&script, text).expect("the script can be written");
    let work = move || lowered(script, form);
    let compiler = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread");
    compiler.join().expect("the compiler does not panic")
}

fn lowered(script: PathBuf, form: Form) -> String {
    let loaded = match moonhook_load::load(&[script], &Default::default()) {
        Ok(loaded) => loaded,
        Err(error) => return error.diagnostic().code.to_string(),
    };
    match forms::lower(&loaded.snapshot, &Options::default(), form) {
        Ok(_) => "compiles".to_string(),
        Err(error) => error.code().to_string(),
    }
}

/// Chains of which each calls the next one twice, down to one with that line.
fn doubling(depth: usize, line: &str) -> String {
    let chain = |number: usize| format!("def c{number}():\n  return c{0}() + c{0}()\n", number + 1);
    let chains: String = (0..depth).map(chain).collect();
    format!("{chains}def c{depth}():\n  {line}\ndef main():\n  c0()\n")
}

/// A line within so many blocks.
fn within(depth: usize, block: &str, line: &str) -> String {
    format!("def main():\n  u64: n = 0\n  {}{line}\n", block.repeat(depth))
}

/// So many arms of one `if`.
fn arms(count: usize) -> String {
    let arms: String = (0..count).map(|number| format!("  elif n == {number}: n += {number}\n")).collect();
    format!(
        "def main():\n  u64: n = Packet.readU32(0)\n  if n > 700000: pass\n{arms}  Packet.writeU64(0, n)\n"
    )
}

/// Chains that call one another, with a sum of so many operators around each call.
fn calling(chains: usize, operators: usize) -> String {
    let sum = " + 1".repeat(operators);
    let chain = |number: usize| format!("def c{number}(u64: n):\n  return c{}(n){sum}\n", number + 1);
    let all: String = (0..chains).map(chain).collect();
    format!(
        "{all}def c{chains}(u64: n):\n  return Packet.readU8(n)\ndef main():\n  Packet.writeU8(0, c0(1))\n"
    )
}

#[test]
fn chains_of_any_kind_compile_or_are_refused() {
    for (name, text, expected) in [
        ("numbers", doubling(40, "return Packet.readU8(0)"), TOO_LARGE),
        ("nothing", doubling(40, "pass"), TOO_LARGE),
        ("a few", doubling(6, "return Packet.readU8(0)"), "compiles"),
        ("loops", within(100, "while n < Packet.readU8(0): ", "n += 1"), "compiles"),
        ("blocks", within(190, "if n < Packet.readU8(0): ", "n += 1"), "compiles"),
        ("many blocks", within(1_000_000, "if n: ", "n += 1"), "MH0304"),
        ("arms", arms(3_000), "compiles"),
        ("many arms", arms(200_000), TOO_LARGE),
        ("deep chains", calling(100, 1), "compiles"),
        ("deep sums", calling(2, 190), "compiles"),
        ("too deep chains", calling(300, 1), "MH0304"),
    ] {
        for form in [Form::Expanded, Form::General] {
            let begun = std::time::Instant::now();
            assert_eq!(outcome(&text, form), expected, "{name}, {form:?}");
            println!("{name}, {form:?}: {:?}", begun.elapsed());
        }
    }
}
