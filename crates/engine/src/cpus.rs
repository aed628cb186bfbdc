//! The CPUs to which programs send packets.

use crate::{EngineError, Kernel};
use moonhook_ir::targets::queue_of;

impl Kernel {
    /// Gives every CPU that is at work a queue in the maps of CPUs; the kernel begins a thread for each (`cpu_map_kthread_run`,
    /// kernel/bpf/cpumap.c).
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open_cpus(&self) -> Result<(), EngineError> {
        let maps = self.program.map_names().filter_map(|map| Some((queue_of(&map)?, map)));
        for (queue, map) in maps {
            for cpu in moonhook_install::online_cpus() {
                self.program.map_update(&map, &cpu.to_ne_bytes(), &queue.to_ne_bytes())?;
            }
        }
        Ok(())
    }
}
