//! What the specialiser refuses as expanded code, and what it must not refuse. (General code takes over most of it.)
//!
//! `diagnostics/NAME.lua` is a script that is refused, `NAME.expected` the text a person then reads. With `MOONHOOK_BLESS=1`
//! the expectations are written instead of compared. `diagnostics/warned/` holds scripts that compile, with the warning that a person
//! reads; `diagnostics/members/` those whose warnings do not depend on the form. `diagnostics/accepted/` holds scripts that are fine in real Lua and look
//! as if they were not. `diagnostics/corpus.txt` is everything else that the manual allows and people might write: none of it
//! may make the compiler panic or hang, and `corpus.expected` says what becomes of each.

mod forms;

use moonhook_engine::{Form, Settings};
use moonhook_specialise::{LowerError, LowerErrorKind, Options};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

const FOLDER: &str = "tests/diagnostics";

/// Scripts of a folder, relative to the crate as they appear in messages.
fn scripts(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "lua")).collect();
    scripts.sort();
    assert!(!scripts.is_empty());
    scripts
}

/// A limit to the code's growth that is reached soon, also without optimisation of the compiler.
fn options() -> Options {
    Options { max_values: 40_000, ..Options::default() }
}

/// All stages up to the object; gives its number of instructions.
fn compile(script: &Path) -> Result<usize, LowerError> {
    // One script is refused for the work that it takes: it is given little time.
    let little = script.file_stem().is_some_and(|stem| stem == "too_much_work");
    compile_with(script, &Options { max_work: little.then_some(100), ..options() }, Form::Expanded)
}

fn compile_with(script: &Path, options: &Options, form: Form) -> Result<usize, LowerError> {
    let mut module = lower(script, options, form)?;
    verify(&module, "lower", script);
    moonhook_passes::optimise(&mut module);
    verify(&module, "passes", script);
    let object = moonhook_emit::emit(&module, &Default::default())
        .unwrap_or_else(|error| panic!("{}: {}", script.display(), error.diagnostic().render(false)));
    Ok(object.functions.iter().map(|function| function.instructions).sum())
}

fn lower(script: &Path, options: &Options, form: Form) -> Result<moonhook_ir::Module, LowerError> {
    let loaded = moonhook_load::load(&[script.to_path_buf()], &Default::default())
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    forms::lower(&loaded.snapshot, options, form)
}

fn verify(module: &moonhook_ir::Module, stage: &str, script: &Path) {
    for function in &module.functions {
        if let Err(error) = moonhook_ir::verify::verify(function) {
            panic!("{}: after {stage}: {error}", script.display());
        }
    }
}

/// Compares with the expectation, or writes it. Gives what is wrong.
fn check(expected: &Path, text: &str) -> Option<String> {
    if std::env::var_os("MOONHOOK_BLESS").is_some() {
        fs::write(expected, text).unwrap();
        return None;
    }
    let wanted = fs::read_to_string(expected).unwrap_or_default();
    (wanted != text).then(|| format!("{}:\n{text}\ninstead of\n{wanted}", expected.display()))
}

/// The errors of all refused scripts.
fn refused() -> &'static [(PathBuf, LowerError)] {
    static REFUSED: OnceLock<Vec<(PathBuf, LowerError)>> = OnceLock::new();
    let error = |script: PathBuf| compile(&script).err().map(|error| (script, error));
    REFUSED.get_or_init(|| scripts(FOLDER).into_iter().filter_map(error).collect())
}

#[test]
fn all_are_refused() {
    let refused: Vec<&PathBuf> = refused().iter().map(|(script, _)| script).collect();
    let missed: Vec<PathBuf> =
        scripts(FOLDER).into_iter().filter(|script| !refused.contains(&script)).collect();
    assert!(missed.is_empty(), "not refused: {missed:?}");
}

#[test]
fn refusals_read_as_expected() {
    let wrong = refused().iter().filter_map(|(script, error)| {
        let text = error.diagnostic().render(false) + "\n";
        check(&script.with_extension("expected"), &text)
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What has no form in general code either.
#[test]
fn refusals_of_general_code_read_as_expected() {
    let wrong = scripts(&format!("{FOLDER}/general")).into_iter().filter_map(|script| {
        let error = compile_with(&script, &Options::default(), Form::General).err();
        let text = error.map_or_else(|| "accepted".to_string(), |error| error.diagnostic().render(false));
        check(&script.with_extension("expected"), &(text + "\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Errors that are certain, which are errors at packet time as in Lua.
#[test]
fn warnings_read_as_expected() {
    let wrong = scripts(&format!("{FOLDER}/warned")).into_iter().filter_map(|script| {
        let module = lower(&script, &options(), Form::Expanded).unwrap_or_else(|error| panic!("{error}"));
        let [warning] = &module.warnings[..] else { panic!("{}: {:?}", script.display(), module.warnings) };
        compile(&script).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(warning.code, "MH0205", "{}", script.display());
        check(&script.with_extension("expected"), &(warning.render_warning(false) + "\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fields that libraries do not have, in both forms of code.
#[test]
fn missing_members_are_warned_of() {
    let mut wrong = Vec::new();
    for script in scripts(&format!("{FOLDER}/members")) {
        let loaded = moonhook_load::load(std::slice::from_ref(&script), &Default::default())
            .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
        for form in [Form::Expanded, Form::General] {
            let settings = Settings { form: Some(form), ..Settings::default() };
            let compiled = moonhook_engine::compile(&loaded.snapshot, &settings)
                .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
            let warnings = compiled.module.warnings.iter();
            let text = warnings.map(|warning| warning.render_warning(false) + "\n").collect::<String>();
            wrong.extend(check(&script.with_extension("expected"), &text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn refusals_have_place_reason_and_one_help() {
    for (script, error) in refused() {
        let shown = error.diagnostic();
        let name = script.display();
        let place = shown.place.as_ref().unwrap_or_else(|| panic!("{name}: no place"));
        let source = fs::read_to_string(&place.file).unwrap();
        assert_eq!(source.lines().nth(place.line as usize - 1), Some(place.text.as_str()), "{name}");
        assert!(shown.reason.is_some_and(|reason| !reason.is_empty()), "{name}: no reason");
        assert!(shown.help.is_some_and(|help| !help.is_empty() && !help.contains('\n')), "{name}: no help");
    }
}

/// A declaration that the help of an error gives, in the place of what the script has, makes the script load.
#[test]
fn declarations_in_help_mend_what_is_refused() {
    let general = scripts(&format!("{FOLDER}/general")).into_iter().filter_map(|script| {
        let error = compile_with(&script, &Options::default(), Form::General).err()?;
        Some((script, error))
    });
    let all: Vec<_> = refused().iter().map(|(script, error)| (script.clone(), error.help())).collect();
    let all = all.into_iter().chain(general.map(|(script, error)| (script, error.help())));
    let folder = std::env::temp_dir().join(format!("moonhook-help-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut mended = 0;
    for (script, help) in all {
        let Some(declaration) = help.split('`').find(|part| part.contains(" = map{key")) else { continue };
        let (start, _) = declaration.split_once(" = ").unwrap();
        let source = fs::read_to_string(&script).unwrap();
        let lines = source.lines().map(|line| if line.starts_with(start) { declaration } else { line });
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.contains(declaration), "{}: nothing is called like {declaration}", script.display());
        let pasted = folder.join(script.file_name().unwrap());
        fs::write(&pasted, text).unwrap();
        if let Err(error) = compile_with(&pasted, &Options::default(), Form::General) {
            panic!("{}: with {declaration}: {}", script.display(), error.diagnostic().render(false));
        }
        mended += 1;
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(mended > 5, "{mended}");
}

/// A new kind of error does not compile here before it has a number, and then has to have a case and a page.
fn number(kind: &LowerErrorKind) -> u32 {
    use LowerErrorKind::*;
    match kind {
        Float { .. } => 201,
        TableConstructor => 202,
        Metamethod { .. } => 203,
        Builtin { .. } => 204,
        CertainError { .. } => 205,
        Recursion { .. } => 206,
        TooLarge { .. } => 207,
        SharedTable { .. } => 208,
        PatternNotConstant => 209,
        BadPattern { .. } => 210,
        NoSuchField { .. } => 211,
        Unsupported { .. } | SharedUse { .. } | Traced { .. } | LargeNote { .. } => 212,
        IrreducibleLoop => 213,
        EscapingCapture => 214,
        StateType { .. } => 215,
        TooMuchWork { .. } => 217,
        LongPattern { .. } => 218,
        // A fault of Moonhook's own, which no script is known to bring about.
        Internal { .. } => 216,
        // Of functions of flows, which need a script that runs.
        OfScript { .. } => 221,
        // Of functions of C objects, which need one (crates/proof/tests/objects).
        Linked { .. } => 222,
        NoMember { .. } => 317,
        UnknownTarget { .. } => 219,
        MissingMember { .. } | MissingGlobal { .. } => 220,
    }
}

#[test]
fn every_kind_has_a_case_and_a_page() {
    let mut seen = BTreeSet::new();
    for (script, error) in refused() {
        let number = number(&error.kind);
        assert_eq!(error.code(), format!("MH{number:04}"), "{}", script.display());
        seen.insert(number);
    }
    // What is only warned of.
    seen.extend([205, 220]);
    assert_eq!(seen, (201..=215).chain(217..=220).collect(), "kinds without a case");
    for number in seen {
        let page = format!("../cli/explain/MH{number:04}.md");
        let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{page} is missing"));
        assert!(text.starts_with(&format!("# MH{number:04}: ")), "{page} has no title");
        assert!(text.contains("\n## What to do\n") && text.lines().count() <= 25, "{page}");
    }
}

#[test]
fn what_is_fine_in_lua_is_accepted() {
    // Tables that must vanish are cases of the comparison with real Lua too.
    let mut made = scripts("../proof/tests/cases/made");
    made.extend(scripts("../proof/tests/cases/stored"));
    for script in scripts("tests/diagnostics/accepted").into_iter().chain(made) {
        if let Err(error) = compile(&script) {
            panic!("{}", error.diagnostic().render(false));
        }
    }
}

/// What becomes of a script: `compiles`, or the code of the stage that refuses it.
fn outcome(script: &Path) -> String {
    let begin = processor_time();
    let outcome = match moonhook_load::load(&[script.to_path_buf()], &Default::default()) {
        Err(error) => error.diagnostic().code.to_string(),
        Ok(loaded) => match forms::lower(&loaded.snapshot, &options(), Form::Expanded) {
            Err(error) => format!("{} {}", error.code(), error.kind),
            Ok(mut module) => {
                verify(&module, "lower", script);
                moonhook_passes::optimise(&mut module);
                verify(&module, "passes", script);
                match moonhook_emit::emit(&module, &Default::default()) {
                    Ok(_) => "compiles".to_string(),
                    Err(error) => error.diagnostic().code.to_string(),
                }
            }
        },
    };
    let (taken, limit) = (processor_time() - begin, Duration::from_secs(10));
    assert!(taken < limit, "{} takes {taken:?}", script.display());
    outcome
}

/// What this thread has used so far; other work on the machine does not count.
fn processor_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .expect("the thread's own clock")
        .into()
}

#[test]
fn odd_scripts_compile_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = fs::read_to_string("tests/diagnostics/corpus.txt").unwrap();
    let mut sections: Vec<(String, String)> = corpus
        .split("--- ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    sections.extend(big_scripts());
    let mut result = String::new();
    for (name, text) in sections {
        let script = folder.path().join(format!("{name}.lua"));
        fs::write(&script, text).unwrap();
        writeln!(result, "{name}: {}", outcome(&script)).unwrap();
    }
    if let Some(wrong) = check(Path::new("tests/diagnostics/corpus.expected"), &result) {
        panic!("{wrong}");
    }
}

/// Scripts that are odd by their size.
fn big_scripts() -> Vec<(String, String)> {
    let each = |count: usize, piece: &dyn Fn(usize) -> String| (1..=count).map(piece).collect::<String>();
    let handler = |body: String| format!("require('xdp').attach(function(pkt)\n{body}\nend)\n");
    let ends = |count: usize| "end ".repeat(count);
    let script = |name: &str, text: String| (name.to_string(), text);
    let nested = each(10, &|i| format!("for i{i} = 1, #pkt do "));
    let unions = each(10, &|i| format!("for i{i} = 1, #pkt do if s then s = s + 1 else s = q and i{i} end "));
    let locals = each(195, &|i| format!("local l{i} = pkt:getbyte({i})\n"));
    let sum = |name: &str, count| each(count, &|i| format!("{name}{i} + "));
    let upvalues = each(190, &|i| format!("local u{i} = {i}\n"));
    let counted = each(190, &|i| format!("u{i} = u{i} + pkt:getbyte({i})\n"));
    let doubling = each(30, &|i| format!("local function f{i}(x) return f{0}(x) + f{0}(x) end\n", i - 1));
    let ifs = each(300, &|i| format!("if pkt:getbyte({i}) == {i} then return 1 end\n"));
    let doubled = format!("local function f0(x) return x + #pkt end\n{doubling}return f30(1)");
    let long = "local s = string.rep('abc', 100000)\n".to_string();
    vec![
        script(
            "nested_for",
            handler(format!("local s = 0 {nested} s = s + i1 * i10 {} return s & 1", ends(10))),
        ),
        script("nested_unions", handler(format!("local s, q {unions} q = s or 1 {} return 1", ends(10)))),
        script("many_locals", handler(format!("{locals}return ({} 0) & 1", sum("l", 195)))),
        script("many_upvalues", upvalues + &handler(format!("{counted}return ({} 0) & 1", sum("u", 190)))),
        script("calls_that_double", handler(doubled)),
        script("many_ifs", handler(ifs)),
        script(
            "long_string",
            long + &handler("if pkt:getstring(0, 3) == s then return 1 end print(s)".into()),
        ),
        script("deep_parentheses", handler(format!("return {}1{}", "(".repeat(150), ")".repeat(150)))),
    ]
}
