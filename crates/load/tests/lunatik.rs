//! Scripts for Lunatik: what is said of them, and what is refused.

mod common;

use common::Folder;
use moonhook_load::{At, LoadError, Loaded, Options, load};

fn load_for_lunatik(script: &str, at: Option<At>) -> Result<Loaded, LoadError> {
    let folder = Folder::new(&[("x.lua", script)]);
    let options = Options { root: Some(folder.path("")), at, ..Options::default() };
    load(&[folder.path("x.lua")], &options)
}

const BEGIN: &str = "local netfilter, nf = require 'netfilter', require 'linux.nf'
local IP, MAC = 'ip', 'mac'
local function register(hook)
  netfilter.register{pf = nf.proto.INET, hooknum = nf.inet.PRE_ROUTING, priority = 0, hook = hook} end\n";

/// The lines with layers that packets do not have, and these.
fn layers(handler: &str, at: Option<At>) -> Vec<(u32, String)> {
    let loaded = load_for_lunatik(&format!("{BEGIN}{handler}"), at).unwrap();
    let warnings = loaded.snapshot.warnings.iter();
    warnings
        .map(|warning| {
            assert_eq!((warning.code, warning.help.is_some()), ("MH0122", true));
            let place = warning.place.clone().unwrap();
            let name = place.name.unwrap();
            assert_eq!(warning.message, format!("packets have no layer '{name}'"));
            (place.line, name)
        })
        .collect()
}

#[test]
fn layers_that_packets_do_not_have_are_warned_of() {
    for at in [None, Some(At::Link), Some(At::Queue), Some(At::Tcx)] {
        let found = |line: u32, name: &str| vec![(line, name.to_string())];
        let layers = |handler: &str| layers(handler, at);
        assert_eq!(layers("register(function(skb)\n local p = skb:data('ip') return 1 end)"), found(6, "ip"));
        assert_eq!(layers("register(function(skb) return skb:data(IP) and 1 end)"), found(5, "ip"));
        // In a function that is only called, and by a variable of the handler's.
        let inner = "local function bytes(packet)\n return packet:data('tcp') end
            register(function(skb) local packet = skb bytes(packet) return bytes(packet):getuint8(0) end)";
        assert_eq!(layers(inner), found(6, "tcp"));
        // What is right, what is none of a packet's, and what nobody knows before.
        for right in [
            "register(function(skb) return #skb:data('net') + #skb:data() + #skb:data(nil) > 20 and 1 or 0 end)",
            "local t = {data = function(_, x) return x end} register(function(skb) return t:data('ip') == 'ip' and 1 or 0 end)",
            "register(function(skb) local l = 'net' if #skb > 100 then l = 'ip' end return #skb:data(l) end)",
            "require 'xdp'.attach(function(packet) return 2 end)",
        ] {
            assert_eq!(layers(right), [], "{right}");
        }
    }
    assert_eq!(layers("register(function(skb) return #skb:data(MAC) end)", None), []);
    let of_copy =
        "register(function(skb) local copy = skb:copy() copy:data('eth') copy:forward() return 0 end)";
    assert_eq!(layers(of_copy, None), [(5, "eth".to_string())]);
}

/// As in Lunatik a handler is taken out of its table later than when that is registered; here, when the script has ended.
#[test]
fn a_handler_has_to_be_there_when_the_script_has_ended() {
    let place = "pf = nf.proto.INET, hooknum = 0, priority = 0";
    let loaded = load_for_lunatik(
        &format!("{BEGIN}local t = {{{place}}} netfilter.register(t)\nfunction t.hook() return 1 end"),
        None,
    );
    assert_eq!(loaded.unwrap().handlers.len(), 2);
    for (script, line, message) in [
        (
            format!("\nnetfilter.register{{{place}, hok = print}}"),
            6,
            "bad field 'hook' (function expected, got nil)",
        ),
        (
            format!(
                "local t = {{{place}, hook = function() return 1 end}} netfilter.register(t)\nt.hook = 5"
            ),
            5,
            "bad field 'hook' (function expected, got number)",
        ),
        (
            format!("netfilter.register{{{place}, hook = 7}}"),
            5,
            "bad field 'hook' (function expected, got number)",
        ),
    ] {
        let error = load_for_lunatik(&format!("{BEGIN}{script}"), None).err().expect(&script);
        assert_eq!(error.code(), "MH0103", "{script}");
        let diagnostic = error.diagnostic();
        let found = (diagnostic.place.map(|place| place.line), diagnostic.message);
        assert_eq!(found, (Some(line), message.to_string()), "{script}");
    }
}

/// Modules are looked for in the library, below the root, and in the script's folder; folders of those names are in nobody's way.
#[test]
fn modules_are_looked_for_in_order() {
    let folder = Folder::new(&[
        ("root/both.lua", "return 'root'"),
        ("root/only/here.lua", "return 'below the root'"),
        ("root/linux/nf.lua", "return 'nobody gets it'"),
        ("root/beside/other.lua", ""),
        ("root/beside.lua/other.lua", ""),
        ("root/scripts/beside.lua", "return 'beside'"),
        ("root/scripts/both.lua", "return 'nobody gets it'"),
        (
            "root/scripts/x.lua",
            "assert(require('both') == 'root' and require('only.here') == 'below the root' and require('beside') == 'beside')
             assert(require('linux.nf').action.ACCEPT == 1)
             require('xdp').attach(function() return 2 end)",
        ),
    ]);
    let options = Options { root: Some(folder.path("root")), ..Options::default() };
    load(&[folder.path("root/scripts/x.lua")], &options).unwrap();
}

/// Modules that only compute are Lunatik's as well: they are there with `--root`, and what is said without tells of that.
#[test]
fn modules_say_what_they_take() {
    for (module, option) in
        [("net", "`--root DIR`"), ("struct", "`--root DIR`"), ("fifo", "`--root DIR --control`")]
    {
        let folder = Folder::new(&[("x.lua", &format!("require '{module}'"))]);
        let error = folder.load("x.lua").err().unwrap();
        assert_eq!(error.code(), "MH0107");
        let help = error.diagnostic().help.unwrap();
        assert!(help.ends_with(option), "{module}: {help}");
    }
    let bad = "require 'struct'{size = 3, fields = {{name = 'a', offset = 0, size = 2}, {name = 'b', offset = 2, size = 2}}}";
    let error = load_for_lunatik(&format!("\n{bad}"), None).err().unwrap().diagnostic();
    assert_eq!(error.message, "struct: fields overlap, or go beyond the layout's size");
    assert_eq!(error.place.map(|place| place.line), Some(2));
}
