//! Handlers at functions of the kernel: the verifier takes their programs in both forms, which needs no kernel that could attach them.

use moonhook_btf::{Convention, Event, Types};
use moonhook_hook::{Hook, KRETPROBE};
use moonhook_install::tracing::kernel_types;
use moonhook_load::{Kernel, Loaded, Options, Untold, load};
use moonhook_proof::host::kernel_available;
use moonhook_proof::kernel::Variant;
use std::sync::Arc;

/// Functions with numbers, structures and texts among their arguments, which every kernel has.
const SCRIPT: &str = r#"
local trace = require "trace"
local counts = map { key = "string:32", value = "int", capacity = 100 }
trace.on("kprobe/tcp_v4_connect", function(e)
  counts[e.comm] = (counts[e.comm] or 0) + e.addr_len
  if e.sk.__sk_common.skc_family == 2 then print(e.uaddr.sa_family, e.pid, e.task.real_parent.comm) end
end)
trace.on("kretprobe/tcp_v4_connect", function(e)
  local name = "result " .. e.ret
  counts[name] = (counts[name] or 0) + 1
end)
trace.on("kprobe/filp_open", function(e)
  if e.filename and e.filename:find("secret", 1, true) then print(e.flags, e.mode, e.filename) end
end)
trace.on("kretprobe/filp_open", function(e)
  local inode = e.ret and e.ret.f_inode
  if inode then print(inode.i_ino, e.ret.f_flags) end
end)
"#;

/// The running kernel, as if it had probes.
#[derive(Debug)]
struct WithProbes(Arc<Types>);

impl Kernel for WithProbes {
    fn types(&self) -> Result<Arc<Types>, Untold> {
        Ok(self.0.clone())
    }

    fn event(&self, hook: &'static Hook, name: &str) -> Result<Event, Untold> {
        let convention = Convention::of(&self.0).expect("a machine");
        let event = match hook == &KRETPROBE {
            true => convention.return_of(&self.0, name),
            false => convention.call(&self.0, name),
        };
        event.ok_or(Untold::None { near: vec![] })
    }
}

fn loaded(script: &str, types: Arc<Types>) -> Loaded {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("probe.lua");
    std::fs::write(&path, script).expect("a script");
    load(&[path], &Options { kernel: Arc::new(WithProbes(types)), ..Options::default() }).expect("it loads")
}

#[test]
fn the_verifier_takes_handlers_at_functions_in_both_forms() {
    if !kernel_available("the_verifier_takes_handlers_at_functions_in_both_forms") {
        return;
    }
    let Ok(types) = kernel_types() else { return println!("skipped: the kernel tells nothing of its types") };
    let loaded = loaded(SCRIPT, types);
    for form in [moonhook_engine::Form::Expanded, moonhook_engine::Form::General] {
        let variant = Variant { form: Some(form), compact: false, frags: false };
        let kernel =
            moonhook_proof::kernel::Kernel::new(&loaded, variant).unwrap_or_else(|e| panic!("{form:?}: {e}"));
        assert_eq!(kernel.choice.form, form);
    }
}
