//! Maps in which each CPU has values of its own, in control code.

use super::{Folder, own_options};
use moonhook_control::{Control, Options};
use moonhook_engine::{Settings, tables};
use moonhook_install::LoadOptions;
use moonhook_proof::host;

const SCRIPT: &str = "local m = require 'bpf'.object 'per_cpu.bpf.o'\nmaps = m.maps\nmaps.own_hash[2] = 9\n\
require 'xdp'.attach(function(pkt) print(m.entry(pkt)) return 2 end)\n";

/// What is assigned is what is read, whatever was there before; of all that load time fills in, each CPU has it.
#[test]
fn control_code_reads_what_it_has_assigned() {
    if !host::kernel_available("maps of each CPU") {
        return;
    }
    let folder = Folder::new();
    folder.compile("per_cpu");
    std::fs::write(folder.path("a.lua"), SCRIPT).expect("there is room");
    let loaded = moonhook_load::load(&[folder.path("a.lua")], &own_options())
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    let compiled = moonhook_engine::compile(&loaded.snapshot, &Settings::default())
        .unwrap_or_else(|error| panic!("{}", error.diagnostic().render(false)));
    let program = moonhook_install::load(&compiled.object.elf, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    tables::fill_objects(&program, &compiled.module).expect("there is room");
    let mut control =
        Control::new(loaded, &compiled.module, &program, Options::default()).expect("it has its maps");
    let mut run = |code: &str| match control.exec(code).result {
        Ok(shown) => {
            shown.iter().map(|shown| String::from_utf8_lossy(&shown.text).into_owned()).collect::<String>()
        }
        Err(error) => panic!("{code}: {}", error.message),
    };
    let cpus: usize = run("maps.own_hash[2]").parse::<usize>().expect("a number") / 9;
    assert!(cpus > 0, "what load time fills in, each CPU has");
    for map in ["plain_hash", "own_hash", "own_lru", "own_array"] {
        let code =
            format!("local t = maps.{map} t[3] = 5 local a = t[3] t[3] = t[3] + 1 return a .. ' ' .. t[3]");
        assert_eq!(run(&code), "5 6", "{map}");
    }
    let code = "local t = maps.own_pairs t[3] = {first = 7, second = -3} local p = t[3] p.second = p.second - 1 t[3] = p \
                return t[3].first .. ' ' .. t[3].second";
    assert_eq!(run(code), "7 -4");
    assert_eq!(
        run("local t = maps.own_hash t[2] = t[2] t[3] = nil return t[2] .. ' ' .. tostring(t[3])"),
        format!("{} nil", 9 * cpus)
    );
}
