//! HIKe's virtual machine as a contestant, where `MOONHOOK_HIKE` names a folder with checkouts of HIKe's repositories: `bench/c/hike_vm.c` has the
//! compiler find its sources there. A chain is bytecode in a map, which an interpreter in eBPF runs; it calls programs by tail calls.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramType};

use crate::contestant::{Contestant, Run, timed};
use crate::error::Error;
use crate::frames::UDP6_ADDRESSES;
use crate::process;

pub const TITLE: &str = "HIKe's virtual machine";
pub const VARIABLE: &str = "MOONHOOK_HIKE";

/// Its interpreter is written for compilers of its time: of what clang-19 makes of it, the verifier forgets that an offset was compared.
const CLANG: [&str; 6] = ["clang-14", "-O2", "-g", "-target", "bpf", "-mcpu=v3"];

const CLASSIFIER: &str = "__ipv6_simple_classifier";
/// Its programs, by their numbers in chains, from 1.
const PROGRAMS: [&str; 4] =
    ["__hvxdp_hikevm", "__hvxdp_hike_drop", "__hvxdp_pcpu_mon", "__hvxdp_ipv6_hset_srcdst"];

/// Numbers of programs.
const NULL: u8 = 1;
const DROP: u8 = 2;
const MONITOR: u8 = 3;
const SET: u8 = 4;
/// Where a blacklisted flow does not get to: nothing is there.
const BUCKET: u8 = 5;
const PASS: u8 = 6;

/// Of a chain: bit 30 tells it from a program's number.
const CHAIN: u32 = 1 << 30 | 1;
/// In a chain's entry: number, count, registers and stack are before its instructions, of which there are 64.
const INSTRUCTIONS_AT: usize = 256;
const ENTRY: usize = INSTRUCTIONS_AT + 64 * 8;

/// What a chain does.
#[derive(Clone, Copy)]
enum Step {
    Call(u8),
    /// With an argument.
    CallWith(u8, u8),
    /// Over so many instructions, unless the last program has given 0.
    SkipUnless0(u8),
    /// The same if it has.
    SkipIf0(u8),
}

/// As eCLAT's compiler has it: two instructions for a call, and another one for an argument.
impl Step {
    fn encode(self, to: &mut Vec<u8>) {
        let mut instruction = |code: u8, register: u8, offset: u8, value: u32| {
            to.extend([code, register, offset, 0]);
            to.extend(value.to_ne_bytes());
        };
        match self {
            Step::Call(program) => {
                instruction(0xb7, 1, 0, program.into());
                instruction(0x85, 0, 0, 0x11 << 8);
            }
            Step::CallWith(program, argument) => {
                instruction(0xb7, 1, 0, program.into());
                instruction(0xb7, 2, 0, argument.into());
                instruction(0x85, 0, 0, 0x12 << 8);
            }
            Step::SkipUnless0(count) => instruction(0x55, 0, count, 0),
            Step::SkipIf0(count) => instruction(0x15, 0, count, 0),
        }
    }
}

/// A chain that it runs.
#[derive(Clone, Copy)]
pub enum Chain {
    Nulls(usize),
    /// So many levels of DDoS mitigation.
    Levels(u8),
}

impl Chain {
    fn steps(self) -> Vec<Step> {
        let refuse = [Step::CallWith(MONITOR, 1), Step::Call(DROP)];
        match self {
            Chain::Nulls(count) => [vec![Step::Call(NULL); count], vec![Step::Call(DROP)]].concat(),
            // Looking up drops entries that are too old, which is action 2, and gives 0 for those that are there.
            Chain::Levels(levels) => [
                &[Step::CallWith(SET, 2), Step::SkipUnless0(5)][..],
                &refuse,
                &(0..levels)
                    .rev()
                    .flat_map(|left| [Step::Call(BUCKET), Step::SkipIf0(3 * left + 8)])
                    .collect::<Vec<_>>(),
                &[Step::CallWith(SET, 1)],
                &refuse,
                &[Step::CallWith(MONITOR, 0), Step::Call(PASS)],
            ]
            .concat(),
        }
    }

    /// The entry of the map of chains.
    fn entry(self) -> Vec<u8> {
        let mut instructions = Vec::new();
        self.steps().iter().for_each(|step| step.encode(&mut instructions));
        instructions.extend([0x95, 0, 0, 0, 0, 0, 0, 0]);
        let mut entry = CHAIN.to_ne_bytes().to_vec();
        entry.extend(((instructions.len() / 8) as u16).to_ne_bytes());
        entry.resize(INSTRUCTIONS_AT, 0);
        entry.extend(instructions);
        entry.resize(ENTRY, 0);
        entry
    }
}

/// The folder with checkouts, if there is one.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Compiles `source` with what is in the folder of checkouts.
pub fn compile(source: &Path, checkouts: &Path, object: &Path) -> Result<(), Error> {
    let [clang, options @ ..] = CLANG;
    let mut command = Command::new(clang);
    command.args(options).arg("-I").arg(checkouts.join("netgroup+hike-public/src"));
    command.arg("-I").arg(format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    command.arg("-c").arg(source).arg("-o").arg(object);
    process::run(&mut command).map(drop)
}

pub struct VirtualMachine {
    path: PathBuf,
    frames: Vec<Vec<u8>>,
    object: Object,
}

impl VirtualMachine {
    /// Loads it once, for the verifier takes seconds for it; with the chain for all packets of IPv6, and the flow of [`UDP6_ADDRESSES`] in the blacklist.
    pub fn load(path: &Path, chain: Chain, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let failed = |error| Error::Kernel { path: path.into(), error };
        let mut object = ObjectBuilder::default().open_file(path).map_err(failed)?;
        for mut program in object.progs_mut() {
            program.set_prog_type(ProgramType::Xdp);
        }
        let object = object.load().map_err(failed)?;
        let machine = VirtualMachine { path: path.into(), frames: frames.to_vec(), object };
        for (number, name) in (1u32..).zip(PROGRAMS) {
            let programs = machine.object.progs();
            let program = programs.into_iter().find(|program| program.name() == name);
            let program = program.ok_or_else(|| Error::NoProgram { path: path.into() })?;
            let descriptor = program.as_fd().as_raw_fd().cast_unsigned();
            machine.put("hvm_hprog_map", &number.to_ne_bytes(), &descriptor.to_ne_bytes())?;
        }
        machine.put("hvm_chain_map", &CHAIN.to_ne_bytes(), &chain.entry())?;
        machine.put("ipv6_simple_classifier_map", &0u32.to_ne_bytes(), &CHAIN.to_ne_bytes())?;
        // Since when, and for how long, in ns.
        let always = [0, u64::MAX / 2].map(u64::to_ne_bytes).concat();
        machine.put("ipv6_hset_sd_map", &UDP6_ADDRESSES.concat(), &always)?;
        Ok(machine)
    }

    fn put(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let failed = |message: String| Error::Peer {
            contestant: TITLE.into(),
            message: format!("map {map}: {message}"),
        };
        let found = self.object.maps().find(|candidate| candidate.name() == map);
        let found = found.ok_or_else(|| failed("is not there".into()))?;
        found.update(key, value, MapFlags::ANY).map_err(|error| failed(error.to_string()))
    }
}

impl Contestant for VirtualMachine {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.name() == CLASSIFIER);
        let program = program.ok_or_else(|| Error::NoProgram { path: self.path.clone() })?;
        let (ns_per_packet, verdict) = timed(repeat, || {
            let input =
                ProgramInput { data_in: Some(&self.frames[frame]), repeat, ..ProgramInput::default() };
            let output = program.test_run(input);
            output
                .map(|output| output.return_value.cast_signed())
                .map_err(|error| Error::TestRun { contestant: TITLE.into(), error })
        })?;
        Ok(Run { ns_per_packet, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_bytecode_in_entries_of_their_map() {
        let entry = Chain::Nulls(1).entry();
        assert_eq!((entry.len(), &entry[..6]), (768, &[1, 0, 0, 0x40, 5, 0][..]));
        let call = |program| [0xb7, 1, 0, 0, program, 0, 0, 0, 0x85, 0, 0, 0, 0, 0x11, 0, 0];
        assert_eq!(entry[256..272], call(NULL));
        assert_eq!(entry[272..288], call(DROP));
        assert_eq!(entry[288], 0x95);
        let longest = Chain::Levels(2).entry();
        assert_eq!((longest.len(), longest[4]), (768, 29));
    }
}
