//! What the kernel keeps beside a packet, as a test run of the kernel has it for a packet that it has just made: it comes in by the loopback
//! interface, and nobody has marked it (`bpf_prog_test_run_skb`, `bpf_prog_test_run_xdp` of net/bpf/test_run.c).

use moonhook_hook::Hook;

/// All that some hook has.
const NAMES: [&str; 5] = ["ifindex", "mark", "priority", "queue", "rxhash"];

/// The loopback interface's number.
const LOOPBACK: u32 = 1;

/// The numbers, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata([u32; NAMES.len()]);

impl Default for Metadata {
    fn default() -> Self {
        Metadata(NAMES.map(|name| if name == "ifindex" { LOOPBACK } else { 0 }))
    }
}

/// Whether packets have such a field at some hook.
pub fn is_known(name: &[u8]) -> bool {
    NAMES.iter().any(|known| known.as_bytes() == name)
}

impl Metadata {
    /// What the hook has under that name.
    pub fn get(&self, hook: &Hook, name: &[u8]) -> Option<u32> {
        let index = NAMES.iter().position(|known| known.as_bytes() == name)?;
        hook.metadata(NAMES[index]).map(|_| self.0[index])
    }

    /// Where it is to be changed; `None` where the hook's programs cannot.
    pub fn place(&mut self, hook: &Hook, name: &[u8]) -> Option<&mut u32> {
        let index = NAMES.iter().position(|known| known.as_bytes() == name)?;
        hook.metadata(NAMES[index]).filter(|metadata| metadata.is_written).map(|_| &mut self.0[index])
    }
}
