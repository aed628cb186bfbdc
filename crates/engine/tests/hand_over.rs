//! Flows of an earlier program, in the kernel: what the new one takes over, and when.

use moonhook_control::{Connection, Control, FlowTables, Options, Report};
use moonhook_engine::{FlowCompiler, Settings, install};
use moonhook_install::{LogDetail, Program};
use moonhook_records::Decoder;
use std::sync::{Arc, Mutex, MutexGuard};

/// A script that runs.
struct State {
    control: Control,
    tables: Arc<Mutex<FlowTables>>,
    program: Program,
}

/// Has a table for datagrams by their ports; `body` stands in the function that it has by default, where functions find variables that they may
/// assign.
fn script(body: &str) -> String {
    format!(
        "local flow = require 'flow'
        n = 0
        flows = flow.new{{key = 'dport', capacity = 10, default = function() n = n + 1 {body} end}}
        require('xdp').attach(flows)"
    )
}

impl State {
    fn new(script: &str, earlier: Option<&State>) -> State {
        let folder = tempfile::tempdir().expect("there is room for a script");
        let path = folder.path().join("flows.lua");
        std::fs::write(&path, script).expect("the script can be written");
        let settings = Settings::default();
        let loaded = moonhook_load::load(&[path], &settings.load).unwrap_or_else(|error| panic!("{error}"));
        let (compiled, program) =
            install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| vec![]).expect("it is accepted");
        let module = &compiled.module;
        let decoder = Decoder::new(module);
        let maker = FlowCompiler::new(&loaded.snapshot, module, (&program, &decoder), &settings);
        let mut maker = maker.expect("the kernel has its maps").expect("the script has flow tables");
        let tables = Arc::new(Mutex::new(FlowTables::open(&mut maker)));
        let connection =
            Connection::open(module, &loaded.snapshot.owners, &program).expect("it has its maps");
        let connection = connection
            .with_flows(Arc::clone(&tables), Box::new(maker))
            .with_earlier_flows(earlier.map(|earlier| Arc::clone(&earlier.tables)));
        let control = Control::connect(loaded, connection, Options::default()).expect("Lua has memory");
        State { control, tables, program }
    }

    fn set(&mut self, key: &str, text: &str) {
        self.control.set_flow(None, key, (text, None)).unwrap_or_else(|error| panic!("{key}: {error}"));
    }

    fn delete(&mut self, key: &str) {
        let mut tables = self.tables();
        let (table, key) = tables.place(None, key).expect("a key");
        assert!(tables.remove(table, &key));
    }

    fn tables(&self) -> MutexGuard<'_, FlowTables> {
        self.tables.lock().expect("nobody has failed with it")
    }

    /// Keys and packets of the flows that there are.
    fn flows(&self) -> Vec<(u64, u64)> {
        let entries = self.tables().flows(0);
        let mut flows: Vec<_> = entries.iter().map(|entry| (entry.flow.key[0], entry.flow.packets)).collect();
        flows.sort_unstable();
        flows
    }

    /// The verdict about a datagram to that port.
    fn verdict(&self, port: u16) -> i32 {
        let ports = [0x1000u16.to_be_bytes(), port.to_be_bytes()].concat();
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend([ports, vec![0, 12, 0, 0], vec![0; 22]].concat());
        self.program.test_run("flows", &frame, 1).expect("the program runs").verdict
    }

    fn catch_up(&self, is_last: bool) -> Vec<String> {
        let mut reports = Vec::new();
        self.control.catch_up(is_last, &mut |report| match report {
            Report::Error(error) => reports.push(error.message),
            Report::Print(line) => reports.push(String::from_utf8_lossy(&line).into_owned()),
        });
        reports
    }
}

/// A text with that verdict.
fn gives(verdict: i32) -> String {
    format!("function(pkt) return {verdict} end")
}

/// Whether programs can be loaded here. If not, says why, or fails under `MOONHOOK_REQUIRE_KERNEL=1`.
fn kernel() -> bool {
    let folder = tempfile::tempdir().expect("there is room for a script");
    let path = folder.path().join("pass.lua");
    std::fs::write(&path, "require('xdp').attach(function() end)").expect("the script can be written");
    let settings = Settings::default();
    let loaded = moonhook_load::load(&[path], &settings.load).unwrap_or_else(|error| panic!("{error}"));
    let Err(error) = install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| vec![]) else {
        return true;
    };
    assert!(std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none_or(|v| v != "1"), "no kernel tests: {error}");
    println!("skipped: {error}");
    false
}

#[test]
fn flows_go_on_as_they_are_when_each_step_is_made() {
    if !kernel() {
        return;
    }
    let mut earlier = State::new(&script(""), None);
    for port in [1, 2, 3, 4] {
        earlier.set(&port.to_string(), &gives(1));
    }
    assert_eq!((earlier.verdict(1), earlier.verdict(2), earlier.verdict(9)), (1, 1, 2));
    let mut new = State::new(&script(""), Some(&earlier));
    assert_eq!(new.flows(), [(1, 1), (2, 1), (3, 0), (4, 0)], "with what they have counted");
    // The earlier program still handles packets, and its flows change.
    earlier.set("2", &gives(3));
    earlier.set("5", &gives(3));
    earlier.delete("3");
    earlier.set("4", &gives(3));
    new.set("4", &gives(0));
    assert_eq!((earlier.verdict(1), earlier.verdict(4)), (1, 3));
    assert_eq!((new.verdict(2), new.verdict(5)), (1, 2), "nothing of it is known yet");
    assert_eq!(new.catch_up(false), Vec::<String>::new());
    let verdicts = [1, 2, 3, 4, 5].map(|port| new.verdict(port));
    assert_eq!(verdicts, [1, 3, 2, 0, 3], "what was set in the new state stays");
    assert_eq!(new.flows(), [(1, 3), (2, 3), (4, 2), (5, 1)], "and all packets are counted, once");
    // Behind the exchange, an earlier state's last job may still do something.
    earlier.set("6", &gives(1));
    assert_eq!(new.catch_up(true), Vec::<String>::new());
    assert_eq!((new.verdict(6), new.verdict(2)), (1, 3));
    // Nothing more is taken over.
    earlier.set("7", &gives(1));
    earlier.delete("1");
    assert_eq!(new.catch_up(true), Vec::<String>::new());
    assert_eq!((new.verdict(7), new.verdict(1)), (2, 1));
}

#[test]
fn a_function_that_does_not_compile_for_the_new_script_leaves_none() {
    if !kernel() {
        return;
    }
    let mut earlier = State::new(&script("m = (m or 0) + 1"), None);
    earlier.set("1", &gives(1));
    earlier.set("2", "function(pkt) m = 5 return 1 end");
    let new = State::new(&script(""), Some(&earlier));
    let kept = new.tables().take_kept();
    assert_eq!((kept.len(), kept[0].kept, kept[0].lost), (1, 1, 1));
    let why = kept[0].why.as_deref().unwrap_or_default();
    assert!(why.contains("`m` is assigned here, and in no handler of the script"), "{why}");
    assert_eq!((new.verdict(1), new.verdict(2)), (1, 2));
    // The function before is not what the flow has, either.
    earlier.set("1", "function(pkt) m = 6 return 1 end");
    let reports = new.catch_up(true);
    assert!(reports.len() == 1 && reports[0].starts_with("1 flows of table 'flows'"), "{reports:?}");
    assert_eq!(new.verdict(1), 2);
}
