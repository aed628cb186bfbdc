//! A script with a flow table, whose program is loaded but attached to nothing: packets are test runs.

use moonhook_control::{FlowMaker, FlowTables, FlowsOfState};
use moonhook_engine::{Compiled, FlowCompiler, Settings};
use moonhook_flows::{KeyKind, KeyValue};
use moonhook_install::{LogDetail, Program, TestRun};
use moonhook_load::{Loaded, Options, load};
use moonhook_records::Decoder;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::error::Error;

pub struct Running {
    loaded: Loaded,
    owner: FlowsOfState,
    tables: Arc<Mutex<FlowTables>>,
    pub program: Arc<Program>,
    pub name: String,
}

/// A program without flows.
pub struct Floor {
    program: Program,
    name: String,
}

impl Floor {
    pub fn run(&self, port: u16, repeat: u32) -> Result<TestRun, Error> {
        self.program.test_run(&self.name, &frame(port), repeat).map_err(failed)
    }
}

/// What went wrong, in words: a fault of the contestant's.
fn failed(problem: impl std::fmt::Display) -> Error {
    Error::Peer { contestant: "moonhook".to_string(), message: problem.to_string() }
}

impl Running {
    /// A table by five-tuple for so many flows, whose other packets get `default`, the body of a function.
    pub fn start(capacity: u32, default: &str) -> Result<Running, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        let path = folder.path().join("flows.lua");
        let script = format!(
            "count = 0\n\
             local flows = require('flow').new{{key = '5tuple', capacity = {capacity}, default = function(pkt)\n{default}\nend}}\n\
             require('xdp').attach(flows)\n"
        );
        std::fs::write(&path, script).map_err(Error::system("write a script"))?;
        let loaded = load(&[path], &Options::default()).map_err(failed)?;
        let settings = Settings::default();
        let installed =
            moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
        let (Compiled { module, object, .. }, program) = installed.map_err(failed)?;
        let decoder = Decoder::new(&module);
        let compiler = FlowCompiler::new(&loaded.snapshot, &module, (&program, &decoder), &settings);
        let mut compiler: Box<dyn FlowMaker> =
            Box::new(compiler.map_err(failed)?.ok_or_else(|| failed("no flow table"))?);
        let tables = Arc::new(Mutex::new(FlowTables::open(&mut *compiler)));
        let base = loaded.base.clone().ok_or_else(|| failed("no flow table"))?;
        let owner = FlowsOfState::new(Arc::clone(&tables), compiler, base);
        let name = moonhook_engine::object_name(&object).map_err(failed)?;
        Ok(Running { loaded, owner, tables, program: Arc::new(program), name })
    }

    /// A program of one function with that body.
    pub fn alone(body: &str) -> Result<Floor, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("make a folder"))?;
        let path = folder.path().join("floor.lua");
        let script = format!("require('xdp').attach(function(pkt) {body} end)");
        std::fs::write(&path, script).map_err(Error::system("write a script"))?;
        let loaded = load(&[path], &Options::default()).map_err(failed)?;
        let settings = Settings::default();
        let installed =
            moonhook_engine::install(&loaded.snapshot, &settings, LogDetail::Nothing, |_| Vec::new());
        let (Compiled { object, .. }, program) = installed.map_err(failed)?;
        Ok(Floor { name: moonhook_engine::object_name(&object).map_err(failed)?, program })
    }

    /// Gives a flow the function that a text is; gives how long that took.
    pub fn set(&self, port: u16, text: &str) -> Result<Duration, Error> {
        let begin = Instant::now();
        let (lua, flows) = (&self.loaded.lua, &self.loaded.flows);
        let own = flows.function_of(lua, 0, text, None).map_err(failed)?;
        let changed = self.owner.give((lua, flows), 0, &key(port), own);
        changed.map_err(|diagnostic| failed(diagnostic.render(false)))?;
        Ok(begin.elapsed())
    }

    /// Lets functions go that no flow has.
    pub fn tidy(&self) {
        self.owner.turn(&self.loaded.flows);
    }

    pub fn run(&self, port: u16, repeat: u32) -> Result<TestRun, Error> {
        self.program.test_run(&self.name, &frame(port), repeat).map_err(failed)
    }

    /// What the variable `count` of the script is.
    pub fn count(&self) -> Result<u64, Error> {
        let section = self.program.data_section(".data.state").map_err(failed)?;
        section.load(8).ok_or_else(|| failed("no variable"))
    }

    /// How many packets the flow with that port had, as the table has counted them.
    pub fn packets(&self, port: u16) -> u64 {
        let tables = self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tables.get(0, &key(port)).map_or(0, |entry| entry.flow.packets)
    }
}

const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

fn key(port: u16) -> Vec<u64> {
    let [src, dst] = ENDS.map(|end| KeyValue::Address(IpAddr::V4(end)));
    let [proto, sport, dport] = [17, i64::from(port), 53].map(KeyValue::Integer);
    KeyKind::five_tuple().encode(&[src, dst, proto, sport, dport]).unwrap_or_default()
}

/// A datagram of the flow with that source port; its first byte is 7.
pub fn frame(port: u16) -> Vec<u8> {
    let [src, dst] = ENDS.map(|end| end.octets());
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4(src, dst, 64)
        .udp(port, 53);
    let mut frame = Vec::new();
    // Writing into memory does not fail.
    let _ = builder.write(&mut frame, &[7; 22]);
    frame
}
