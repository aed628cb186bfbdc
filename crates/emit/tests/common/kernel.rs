//! Loads emitted objects through libbpf and runs them with `BPF_PROG_TEST_RUN`.

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use moonhook_emit::{Options, emit};
use moonhook_ir::Module;

/// Whether tests can load programs. Says why not; fails if `MOONHOOK_REQUIRE_KERNEL=1` demands it.
pub fn available() -> bool {
    let mut f = super::build::program("probe");
    f.ret(2);
    let elf = emit(&super::build::module(vec![f.done()], vec![]), &Options::default()).unwrap().elf;
    match ObjectBuilder::default().open_memory(&elf).and_then(|open| open.load()) {
        Ok(_) => true,
        Err(error) => {
            let required = std::env::var("MOONHOOK_REQUIRE_KERNEL").is_ok_and(|v| v == "1");
            assert!(!required, "MOONHOOK_REQUIRE_KERNEL=1, but bpf() does not work here: {error:#}");
            eprintln!("skipped: bpf() does not work here: {error:#}");
            false
        }
    }
}

/// A module in the kernel.
pub struct Loaded {
    object: Object,
}

/// Emits and loads; the verifier's log goes to stderr when it refuses.
pub fn load(module: &Module) -> Loaded {
    load_unless_too_complex(module).expect("a program that the verifier can walk")
}

/// As [`load`], but `None` where the verifier gave up after its limit of steps: it found nothing wrong, but there are
/// more paths than it looks at.
pub fn load_unless_too_complex(module: &Module) -> Option<Loaded> {
    for function in &module.functions {
        moonhook_ir::verify::verify(function).unwrap();
    }
    let object = emit(module, &Options::default()).unwrap();
    let open = ObjectBuilder::default().open_memory(&object.elf).unwrap();
    match open.load() {
        Ok(object) => Some(Loaded { object }),
        // E2BIG: too many instructions walked; ENOMEM: "the sequence of 8193 jumps is too complex".
        Err(error)
            if ["Argument list too long", "Cannot allocate memory"].contains(&cause(&error).as_str()) =>
        {
            None
        }
        Err(error) => {
            // Once more, for the log.
            libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| eprint!("{text}"))));
            let _ = ObjectBuilder::default().open_memory(&object.elf).and_then(|open| open.load());
            panic!("{error:#}\n{module}\n{}", moonhook_emit::dump(&object, module))
        }
    }
}

/// The system's error text, without its number.
fn cause(error: &libbpf_rs::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_string()
}

impl Loaded {
    /// Runs the (first) program over a frame; gives its result and the frame afterwards.
    pub fn run(&mut self, frame: &[u8]) -> (u32, Vec<u8>) {
        let mut out = vec![0; frame.len() + 256];
        let input =
            ProgramInput { data_in: Some(frame), data_out: Some(&mut out), repeat: 1, ..Default::default() };
        let output = self.object.progs_mut().next().unwrap().test_run(input).unwrap();
        (output.return_value, output.data.map(|d| d.to_vec()).unwrap_or_default())
    }

    /// The bytes of a data section, by the section's name.
    pub fn data(&self, section: &str) -> Vec<u8> {
        self.map(section).lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap()
    }

    pub fn set_data(&self, section: &str, bytes: &[u8]) {
        let map = self.map(section);
        let mut whole = bytes.to_vec();
        whole.resize(map.value_size() as usize, 0);
        map.update(&0u32.to_ne_bytes(), &whole, MapFlags::ANY).unwrap();
    }

    pub fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object.maps().find(|map| map.name() == name).unwrap_or_else(|| panic!("no map {name}"))
    }
}
