//! The running kernel, as load time asks about it.

use moonhook_btf::{Event, Types};
use moonhook_hook::Hook;
use moonhook_install::tracing::{self, TracingError};
use moonhook_load::{Kernel, Untold};
use std::sync::Arc;

/// The kernel of this host.
#[derive(Debug)]
pub struct RunningKernel;

impl Kernel for RunningKernel {
    fn types(&self) -> Result<Arc<Types>, Untold> {
        tracing::kernel_types().map_err(untold)
    }

    fn event(&self, hook: &'static Hook, name: &str) -> Result<Event, Untold> {
        tracing::event(hook, name).map_err(untold)
    }

    fn seconds_ahead(&self) -> i64 {
        moonhook_install::seconds_ahead()
    }
}

fn untold(error: TracingError) -> Untold {
    let problem = error.to_string();
    match error {
        TracingError::None { near } => Untold::None { near },
        TracingError::NoProbes | TracingError::UnknownMachine => Untold::Refused { problem },
        TracingError::NoTypes { .. } => {
            Untold::Unknown { problem, help: "use a kernel with CONFIG_DEBUG_INFO_BTF" }
        }
        TracingError::NoList { .. } => Untold::Unknown {
            problem,
            help: "`mount -t tracefs tracefs /sys/kernel/tracing` as root, or use `raw_tp/NAME`",
        },
    }
}
