//! A program on both sides.

use crate::common::{compiled, is_required, object};
use libbpf_rs::{MapCore, MapFlags, MapType, ObjectBuilder, ProgramInput};
use moonhook_emulate::{Argument, Emulator, Fault, Packet};
use moonhook_link::Object;
use std::sync::Arc;

/// Both instruction sets of clang that matter.
pub const CPUS: [&str; 2] = ["-mcpu=v3", "-mcpu=v4"];

/// An object in the kernel and in the emulator.
pub struct Pair {
    kernel: libbpf_rs::Object,
    emulator: Emulator,
    pub object: Arc<Object>,
}

/// What a program has done on one side.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: u32,
    pub bytes: Vec<u8>,
}

/// Why an object is not on both sides.
pub enum Refusal {
    /// There is no compiler, or no kernel that takes programs.
    Skipped,
    Verifier(String),
}

impl Pair {
    /// `None` where this cannot be tried, which a message says.
    pub fn new(source: &str, cpu: &str) -> Option<Pair> {
        match Pair::try_new(source, cpu) {
            Ok(pair) => Some(pair),
            Err(Refusal::Skipped) => None,
            Err(Refusal::Verifier(error)) => {
                // Once more, for the log.
                libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| eprint!("{text}"))));
                let elf = compiled(source, cpu).expect("it was compiled before");
                let _ = ObjectBuilder::default().open_memory(&elf).and_then(|open| open.load());
                panic!("{error}\n{source}")
            }
        }
    }

    pub fn try_new(source: &str, cpu: &str) -> Result<Pair, Refusal> {
        let elf = compiled(source, cpu).ok_or(Refusal::Skipped)?;
        if !is_kernel_available() {
            return Err(Refusal::Skipped);
        }
        stay_on_one_cpu();
        libbpf_rs::set_print(None);
        let open = ObjectBuilder::default().open_memory(&elf).expect("libbpf reads what clang makes");
        let kernel = open.load().map_err(|error| Refusal::Verifier(format!("{error:#}")))?;
        let object = object(&elf);
        Ok(Pair { kernel, emulator: Emulator::new(std::slice::from_ref(&object)), object })
    }

    pub fn in_kernel(&mut self, program: &str, frame: &[u8]) -> Outcome {
        let mut out = vec![0; frame.len() + 4096];
        let input =
            ProgramInput { data_in: Some(frame), data_out: Some(&mut out), repeat: 1, ..Default::default() };
        let mut programs = self.kernel.progs_mut();
        let program = programs.find(|found| found.name() == program).expect("a program of that name");
        let output = program.test_run(input).expect("the frame can be run");
        Outcome {
            result: output.return_value,
            bytes: output.data.map(|data| data.to_vec()).unwrap_or_default(),
        }
    }

    pub fn emulated(&mut self, program: &str, frame: &[u8]) -> Result<(Outcome, Packet), Fault> {
        let function = self.object.function(program).expect("a function of that name");
        // The kernel runs frames as if they came from the loopback interface.
        let mut packet = Packet { bytes: frame.to_vec(), ingress_ifindex: 1, ..Packet::default() };
        let result = self.emulator.call(0, function, &mut [Argument::Context], &mut packet)?;
        Ok((Outcome { result: result as u32, bytes: packet.bytes.clone() }, packet))
    }

    /// Runs a program on both sides and compares. Gives what it did.
    pub fn run(&mut self, program: &str, frame: &[u8]) -> (Outcome, Packet) {
        let kernel = self.in_kernel(program, frame);
        let (emulated, packet) = self
            .emulated(program, frame)
            .unwrap_or_else(|fault| panic!("{fault}; kernel: {}", kernel.result));
        assert_eq!(kernel, emulated, "{program} over {frame:02x?}");
        (emulated, packet)
    }

    /// Compares all maps, but for those of that name.
    pub fn compare_maps(&mut self, except: &[&str]) {
        for (number, map) in self.object.maps.clone().iter().enumerate() {
            if !except.contains(&map.name.as_str()) {
                let kernel = self.kernel_map(&map.name);
                let handle = self.emulator.map(0, number).expect("a map for each of the object's");
                let mut emulated: Vec<_> = handle.keys().map(|key| (key.clone(), handle.get(&key))).collect();
                emulated.sort();
                let kernel: Vec<_> = kernel.into_iter().map(|(key, value)| (key, Some(value))).collect();
                assert_eq!(kernel, emulated, "map {}", map.name);
            }
        }
        for (number, data) in self.object.data.clone().iter().enumerate() {
            let kernel = self.kernel_map(&data.section);
            let emulated = self.emulator.data(0, number).expect("bytes of each section");
            assert_eq!(kernel[0].1, emulated, "section {}", data.section);
        }
    }

    /// Compares a map of prefixes of four bytes, without the bits behind them, which the kernel keeps.
    pub fn compare_prefixes(&mut self, name: &str) {
        let mut kernel: Vec<_> = self.kernel_map(name);
        for (key, _) in &mut kernel {
            let length = u32::from(key[0]);
            let bits = u32::from_be_bytes([key[4], key[5], key[6], key[7]]);
            let bits = bits & !(u32::MAX.checked_shr(length).unwrap_or(0));
            key[4..].copy_from_slice(&bits.to_be_bytes());
        }
        kernel.sort();
        let number = self.object.maps.iter().position(|map| map.name == name).expect("a map of that name");
        let handle = self.emulator.map(0, number).expect("a map for each of the object's");
        let value = |key: &Vec<u8>| {
            // Looked up by its own length, a prefix finds itself.
            (key.clone(), handle.get(key).expect("a key that is there"))
        };
        let mut emulated: Vec<_> = handle.keys().map(|key| value(&key)).collect();
        emulated.sort();
        assert_eq!(kernel, emulated, "map {name}");
    }

    /// Keys and values in the kernel, sorted; of maps with a value of each CPU, those of the first.
    fn kernel_map(&self, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
        let is_it = |map: &libbpf_rs::Map<'_>| map.name().to_string_lossy().ends_with(name);
        let map = self.kernel.maps().find(is_it).unwrap_or_else(|| panic!("no map {name}"));
        let is_per_cpu =
            matches!(map.map_type(), MapType::PercpuHash | MapType::PercpuArray | MapType::LruPercpuHash);
        let value = |key: &[u8]| match is_per_cpu {
            true => {
                map.lookup_percpu(key, MapFlags::ANY).map(|values| values.map(|mut all| all.swap_remove(0)))
            }
            false => map.lookup(key, MapFlags::ANY),
        };
        let mut all: Vec<_> = map
            .keys()
            .map(|key| {
                let value = value(&key).expect("the map can be read").expect("a key that is there");
                (key, value)
            })
            .collect();
        all.sort();
        all
    }
}

/// Whether programs can be loaded here. Says why not; fails if `MOONHOOK_REQUIRE_KERNEL=1` demands it.
fn is_kernel_available() -> bool {
    let Some(elf) = compiled("SEC(\"xdp\") int probe(struct xdp_md *ctx) { return 2; }", CPUS[0]) else {
        return false;
    };
    match ObjectBuilder::default().open_memory(&elf).and_then(|open| open.load()) {
        Ok(_) => true,
        Err(error) => {
            assert!(!is_required(), "MOONHOOK_REQUIRE_KERNEL=1, but bpf() does not work here: {error:#}");
            eprintln!("skipped: bpf() does not work here: {error:#}");
            false
        }
    }
}

/// So that values of each CPU are those of the first.
fn stay_on_one_cpu() {
    let mut cpus = nix::sched::CpuSet::new();
    cpus.set(0).expect("there is a first CPU");
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &cpus).expect("it can be asked for");
}
