use super::*;
use crate::PATIENCE;
use moonhook_install::Rejection;

const SCRIPT: &str = "local hits = {}\nrequire('xdp').attach(function(pkt)\n  local n = pkt:getbyte(0)\n  \
                      hits[n] = (hits[n] or 0) + 1\n  print(('%d %d'):format(n, hits[n]))\nend)";

fn snapshot(text: &str) -> Snapshot {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("rejected.lua");
    std::fs::write(&script, text).unwrap();
    moonhook_load::load(&[script], &Default::default()).unwrap_or_else(|e| panic!("{e}")).snapshot
}

fn rejection(message: &str) -> InstallError {
    InstallError::Rejected(Box::new(Rejection {
        program: "p".into(),
        message: message.into(),
        place: None,
        instruction: None,
        is_last_form: false,
        log: String::new(),
    }))
}

/// A kernel that takes general code only.
fn made_where(script: &str, refusal: InstallError, form: Option<Form>) -> Result<Compiled, EngineError> {
    let settings = Settings { form, ..Settings::default() };
    let accept = |_, module: &Module, _: &Object, _: &mut Timings| match module.arena() {
        Some(_) => Ok(()),
        None => Err(refusal.clone().into()),
    };
    first_accepted(&snapshot(script), &settings, accept).map(|(compiled, ())| compiled)
}

#[test]
fn what_the_kernel_refuses_becomes_general_code_with_a_reason() {
    let slow = InstallError::OutOfPatience { program: "p".into(), patience: PATIENCE };
    let (large, wrong) = (rejection("BPF program is too large"), rejection("R1 invalid mem access"));
    for (refusal, code, bug) in [(slow, "MH0522", false), (large, "MH0505", false), (wrong, "MH0505", true)] {
        let compiled = made_where(SCRIPT, refusal, None).unwrap_or_else(|error| panic!("{error}"));
        let reason = compiled.choice.reason.as_ref().unwrap();
        assert_eq!((reason.code, reason.bug), (code, bug));
        assert_eq!(compiled.choice.form, Form::General);
        assert!(reason.place.as_ref().is_some_and(|place| place.line == 4 || place.line == 5), "{reason}");
        let shown = compiled.choice.to_string();
        assert!(shown.starts_with("general code, because ") && shown.contains("rejected.lua:"), "{shown}");
        assert_eq!(shown.contains("a fault of Moonhook"), bug, "{shown}");
    }
}

/// Tables as keys have no general form.
const KEYED: &str = "local hits = map { key = { a = 'int', b = 'int' }, value = 'int', capacity = 9 }\n\
                     require('xdp').attach(function(pkt) hits[{ a = #pkt, b = 2 }] = 1 end)";

#[test]
fn what_has_no_other_form_may_take_long() {
    let slow = |attempt: Attempt, _: &Module, _: &Object, _: &mut Timings| match attempt == Attempt::EXPANDED
    {
        true => Err(InstallError::OutOfPatience { program: "p".into(), patience: PATIENCE }.into()),
        false => Ok(()),
    };
    let (compiled, ()) = first_accepted(&snapshot(KEYED), &Settings::default(), slow)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.choice, Choice { form: Form::Expanded, reason: None });
    let (compiled, ()) = first_accepted(&snapshot(SCRIPT), &Settings::default(), slow)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.choice.form, Form::General);
}

#[test]
fn what_other_code_cannot_mend_is_an_error() {
    let host = InstallError::LoadFailed { message: "no memory".into(), messages: String::new() };
    assert!(matches!(
        made_where(SCRIPT, host, None),
        Err(EngineError::Install(InstallError::LoadFailed { .. }))
    ));
    let asked = made_where(SCRIPT, rejection("too complex"), Some(Form::Expanded));
    assert!(matches!(asked, Err(EngineError::Install(InstallError::Rejected(_)))));
    assert!(
        made_where(SCRIPT, rejection("too complex"), Some(Form::General))
            .is_ok_and(|made| made.choice.reason.is_none())
    );
}

#[test]
fn what_general_code_lacks_is_not_the_reason() {
    let refused = made_where(KEYED, rejection("R1 invalid mem access"), None);
    let refused = refused.map(|made| made.choice);
    let Err(error) = refused else { panic!("{refused:?}") };
    assert!(matches!(error.cause(), EngineError::Install(InstallError::Rejected(_))), "{error:?}");
    let reason = error.diagnostic().reason.unwrap_or_default();
    assert!(
        reason.contains("nor is there general code, because ") && reason.contains("tables as keys"),
        "{reason}"
    );
}

#[test]
fn what_is_too_large_in_all_forms_has_a_line() {
    let large =
        |function: &str| EmitError::StackTooLarge { function: function.into(), bytes: 520, limit: 512 };
    let refuse = |_, _: &Module, _: &Object, _: &mut Timings| -> Result<(), EngineError> {
        Err(large("prim_x").into())
    };
    for form in [None, Some(Form::General), Some(Form::Expanded)] {
        let settings = Settings { form, ..Settings::default() };
        let outcome = first_accepted(&snapshot(SCRIPT), &settings, refuse);
        let diagnostic = outcome.err().expect("no form is taken").diagnostic();
        let line = diagnostic.place.as_ref().map(|place| place.line);
        assert!(diagnostic.code == "MH0401" && matches!(line, Some(2..=5)), "{form:?}: {diagnostic:?}");
    }
    assert_eq!(first_handler(&snapshot(SCRIPT)).map(|place| place.line), Some(2));
}

#[test]
fn what_general_code_lacks_comes_with_what_made_it_general_code() {
    let both = "local hits = map { key = { a = 'int', b = 'int' }, value = 'int', capacity = 9 }\n\
                require('xdp').attach(function(pkt)\n  pcall(error, 'x')\n  hits[{ a = #pkt, b = 2 }] = 1\nend)";
    let error = compile(&snapshot(both), &Settings::default()).err().expect("there is no form");
    let diagnostic = error.diagnostic();
    let reason = diagnostic.reason.unwrap_or_default();
    assert_eq!((diagnostic.code, diagnostic.place.map(|place| place.line)), ("MH0212", Some(4)));
    assert!(
        reason.contains("this is general code, because ") && reason.contains("rejected.lua:3: `pcall`"),
        "{reason}"
    );
}

#[test]
fn a_rejection_has_the_path_and_the_whole_line() {
    let snapshot = snapshot(SCRIPT);
    let module = compile(&snapshot, &Settings::default()).unwrap_or_else(|error| panic!("{error}")).module;
    let place = |line, text: &str| Place { file: "rejected.lua".into(), line, text: text.into(), name: None };
    let of = |place| {
        let mut error = rejection("R1 invalid mem access");
        if let InstallError::Rejected(rejection) = &mut error {
            rejection.place = Some(place);
        }
        let InstallError::Rejected(rejection) = placed(error, &module) else { panic!("another error") };
        rejection.place.unwrap()
    };
    let found = of(place(3, "local n = pkt:getbyte(0)"));
    assert!(found.file.ends_with("/rejected.lua"), "{found:?}");
    assert_eq!(found.text, "  local n = pkt:getbyte(0)");
    // Another file of that name.
    assert_eq!(of(place(3, "return 1")), place(3, "return 1"));
    assert_eq!(of(place(0, "")), place(0, ""));
}
