//! What scripts say outside of chains and handlers: where loaders are attached, what maps begin with, what they name of objects.

use super::{Folder, here, options, own_options};
use moonhook_engine::{Form, Settings};
use moonhook_hook::Place;
use moonhook_load::{LoadError, Loaded, Options, load};
use moonhook_proof::{Pair, ProofError, host};
use std::path::Path;

/// The packages that come with Moonhook.
fn with_packages() -> Options {
    options(vec![here().join("../../../../packages")], vec![])
}

fn loaded(folder: &Folder, text: &str, options: &Options) -> Result<Loaded, LoadError> {
    std::fs::write(folder.path("a.eclat"), text).expect("there is room");
    load(&[folder.path("a.eclat")], options)
}

const TWO: &str = "from programs.basics import accept, drop
from loaders.basics import ip4, ip6
ip4[chains] = { (0): (a) }
ip6[chains] = { (0): (b) }
def a():
  drop()
def b():
  accept()
";

#[test]
fn loaders_run_where_scripts_attach_them() {
    let both = "ip4.attach('e0', 'xdp')\nip6.attach('e0', 'xdp')\n";
    let apart = "ip4.attach('e0', 'xdp')\nip6.attach('e1', 'xdp')\n";
    let mixed = "ip4.attach('e0', 'xdp')\nip4.attach('e1', 'xdp')\nip6.attach('e1', 'xdp')\n";
    let same = "ip4.attach('e0', 'xdp')\nip6.attach('e0', 'xdp')\nip4.attach('e1', 'xdp')\nip6.attach('e1', 'xdp')\n";
    let folder = Folder::new();
    for (lines, interfaces, expected) in [
        (both, &["e0"][..], &["", ""][..]),
        (apart, &["e0", "e1"], &["e0", "e1"]),
        (mixed, &["e0", "e1"], &["e0", "e1", "e1"]),
        (same, &["e0", "e1"], &["", ""]),
        // Others than it says, or none: all are everywhere.
        (apart, &["e2", "e3"], &["", ""]),
        (apart, &["e0", "e1", "e2"], &["", ""]),
        (apart, &[], &["", ""]),
    ] {
        let interfaces = interfaces.iter().map(|name| name.to_string()).collect();
        let loaded = loaded(&folder, &format!("{TWO}{lines}"), &Options { interfaces, ..with_packages() });
        let loaded = loaded.unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
        let places: Vec<&str> = (loaded.snapshot.handlers.iter())
            .map(|handler| if let Place::Named(name) = &handler.point.place { name } else { "" })
            .collect();
        assert_eq!(places, expected, "{lines}");
        assert_eq!(loaded.scripts[0].handlers, 0..expected.len());
    }
}

/// Handlers in Lua that are for all interfaces are at each of them, behind the loaders of the script before.
#[test]
fn other_handlers_are_at_all_interfaces() {
    let folder = Folder::new();
    let text = format!("{TWO}ip4.attach('e0', 'xdp')\nip6.attach('e1', 'xdp')\n");
    std::fs::write(folder.path("a.eclat"), text).expect("there is room");
    std::fs::write(folder.path("b.lua"), "require 'xdp'.attach(function(pkt) end)").expect("there is room");
    let interfaces = vec!["e0".to_string(), "e1".to_string()];
    let scripts = [folder.path("a.eclat"), folder.path("b.lua")];
    let loaded = load(&scripts, &Options { interfaces, ..with_packages() });
    let loaded = loaded.unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    assert_eq!(loaded.snapshot.points().len(), 2);
    assert_eq!(loaded.snapshot.handlers_of(0).map(|(number, _)| number).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(loaded.scripts[1].handlers, 2..4);
}

#[test]
fn what_makes_no_sense_is_warned_of_with_its_line() {
    let folder = Folder::new();
    let attached = "ip4.attach('e0', 'xdp')\nip6.attach('e1', 'xdp')\n";
    for (text, interface, expected) in [
        (format!("{TWO}{attached}"), "e0", &[("MH0322", 10)][..]),
        (format!("{TWO}{attached}"), "e2", &[]),
        (format!("{TWO}{attached}def idle():\n  pass\n"), "e2", &[("MH0321", 11)]),
        (format!("{TWO}def other():\n  idle()\ndef idle():\n  pass\n"), "e0", &[("MH0321", 9)]),
    ] {
        let loaded =
            loaded(&folder, &text, &Options { interfaces: vec![interface.into()], ..with_packages() });
        let warnings = loaded.expect("it is taken").snapshot.warnings;
        let found: Vec<_> = (warnings.iter())
            .map(|warning| (warning.code, warning.place.as_ref().map_or(0, |place| place.line)))
            .collect();
        assert_eq!(found, expected, "{text}");
        assert!(warnings.iter().all(|warning| warning.help.is_some()));
    }
}

#[test]
fn entries_that_maps_cannot_have_are_refused_with_their_lines() {
    let folder = Folder::new();
    let imports = "from programs.ip6 import prefix\nfrom programs.monitor import top_talkers\nfrom programs.seg6 import encap\nfrom loaders.basics import ip6\n";
    let chain = "def main():\n  pass\n";
    let many: String = (0..300).map(|n| format!("({n}): (1, '::', '::', '::', '::', '::'),\n")).collect();
    for (line, code, at, message) in [
        (
            "prefix[prefixes] = { (64, 'fd77::g1'): (7) }",
            "MH0316",
            5,
            "'fd77::g1', which is no address of IPv6",
        ),
        (
            "prefix[prefixes] = { (64, '10.0.0.0'): (7) }",
            "MH0316",
            5,
            "'10.0.0.0', which is no address of IPv6",
        ),
        (
            "prefix[prefixes] = { (64, 'fd77::'): (7),\n (129, 'fd77::1'): (7) }",
            "MH0316",
            6,
            "a prefix of 129 bits, of which the address has 128",
        ),
        ("ip6[chains] = { (5): (main) }", "MH0316", 5, "is 5, and the elements of the array are 0 to 0"),
        ("ip6[chains] = { (0): (limit) }\ndef limit(u8: n):\n  pass", "MH0320", 5, "'limit' has parameters"),
        (
            "def f():\n  u64: x = top_talkers[talkers][1, 2, 3]",
            "MH0316",
            6,
            "has records for values (packets, bytes), and a chain reads one integer",
        ),
        (&format!("encap[lists] = {{ {many} }}"), "MH0316", 5 + 256, "has room for 256 entries"),
    ] {
        let text = format!("{imports}{line}\n{chain}");
        let error =
            loaded(&folder, &text, &with_packages()).err().unwrap_or_else(|| panic!("{line} is taken"));
        let diagnostic = error.diagnostic();
        let place = diagnostic.place.as_ref().map_or(0, |place| place.line);
        assert_eq!((diagnostic.code, place), (code, at), "{}", diagnostic.render(false));
        assert!(
            diagnostic.message.contains(message) && diagnostic.help.is_some(),
            "{}",
            diagnostic.render(false)
        );
    }
}

#[test]
fn entries_that_lua_writes_at_load_time_are_checked() {
    let folder = Folder::new();
    folder.compile("meter");
    let text = "local m = require 'bpf'.object 'meter.bpf.o'\nm.maps.config[3] = 1\nm.maps.config[4] = 1\n";
    std::fs::write(folder.path("a.lua"), text).expect("there is room");
    let error = load(&[folder.path("a.lua")], &own_options()).err().expect("it is refused").diagnostic();
    assert!(error.message.contains("is 4, and the elements of the array are 0 to 3"), "{}", error.message);
    assert_eq!(error.place.expect("it has a place").line, 3);
}

/// In code that packets may never reach, too, and in both forms.
#[test]
fn what_objects_have_not_is_an_error_where_it_is_mentioned() {
    let folder = Folder::new();
    folder.compile("meter");
    for (line, code, message, help) in [
        ("return m.cuont(pkt, 1)", "MH0317", "meter.bpf.o has no function 'cuont'", "`count`"),
        (
            "if #pkt > 9000 then return m.nowhere() end",
            "MH0317",
            "the function 'nowhere' of ",
            "moonhook explain",
        ),
        ("local t = m.maps.hitz[1]", "MH0317", "meter.bpf.o has no map 'hitz'", "`hits`"),
        (
            "for k in pairs(m.maps.hits) do print(k) end",
            "MH0212",
            "`pairs` of the map 'hits'",
            "control code",
        ),
        (
            "local n = 0 for k in pairs(hits) do n = n + k end",
            "MH0212",
            "`pairs` of the map 'hits'",
            "control code",
        ),
    ] {
        let text = format!(
            "local m = require 'bpf'.object 'meter.bpf.o'\nlocal hits = m.maps.hits\nrequire 'xdp'.attach(function(pkt)\n  {line}\nend)\n"
        );
        std::fs::write(folder.path("a.lua"), text).expect("there is room");
        let loaded = load(&[folder.path("a.lua")], &own_options()).expect("load time mentions nothing");
        for form in [None, Some(Form::Expanded), Some(Form::General)] {
            let error = moonhook_engine::compile(&loaded.snapshot, &Settings { form, ..Settings::default() });
            let diagnostic = error.err().unwrap_or_else(|| panic!("{line} is taken")).diagnostic();
            let shown = diagnostic.render(false);
            assert_eq!(
                (diagnostic.code, diagnostic.place.map_or(0, |place| place.line)),
                (code, 4),
                "{shown}"
            );
            assert!(diagnostic.message.contains(message), "{shown}");
            assert!(diagnostic.help.is_some_and(|text| text.contains(help)), "{shown}");
        }
    }
}

/// Errors about arguments count them as the caller has written them, and are the same in both tiers.
#[test]
fn arguments_are_counted_as_they_are_written() -> Result<(), ProofError> {
    if !host::kernel_available("arguments of chains") {
        return Ok(());
    }
    let folder = Folder::new();
    folder.compile("meter");
    std::fs::write(folder.path("f.eclat"), "def two(u8: a, u32: b):\n  return a + b\n")
        .expect("there is room");
    let begin =
        "local m, two = require 'bpf'.object 'meter.bpf.o', require 'eclat'.chain('f.eclat', 'two')\n";
    for (call, message) in [
        ("two(pkt, 3)", "bad argument #3 to 'two' (number expected, got nil)"),
        ("two(nil, 3, 4)", "bad argument #1 to 'two' (packet expected, got nil)"),
        ("two(pkt, {}, 3)", "bad argument #2 to 'two' (number expected, got table)"),
        ("m.count(pkt)", "bad argument #2 to 'count' (number expected, got nil)"),
        ("m.count(3, 1)", "bad argument #1 to 'count' (packet expected, got number)"),
        ("m.even(nil)", "bad argument #1 to 'even' (number expected, got nil)"),
    ] {
        let text = format!("{begin}require 'xdp'.attach(function(pkt)\n  print({call})\nend)\n");
        std::fs::write(folder.path("a.lua"), text).expect("there is room");
        let mut pair = Pair::with_options(&folder.path("a.lua"), &own_options())?;
        let seen = pair.run(&[0; 64])?;
        let error = seen.error.unwrap_or_else(|| panic!("{call} is no error"));
        let error = error.lossy();
        assert!(error.ends_with(&format!("a.lua:3: {message}")), "{call}: {error}");
    }
    Ok(())
}

/// The programs of a package, and what they include, are files of the script.
#[test]
fn files_of_programs_are_those_of_the_script() {
    let folder = Folder::new();
    let loaded = loaded(&folder, &format!("{TWO}ip4.attach('e0', 'xdp')\n"), &with_packages());
    let files = loaded.expect("it is taken").files;
    for name in ["basics/ip4.bpf.c", "frame.h"] {
        assert!(files.iter().any(|file| file.ends_with(Path::new(name))), "{name}: {files:?}");
    }
}
