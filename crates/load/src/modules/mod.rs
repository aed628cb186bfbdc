//! Moonhook's own modules: what `require` finds besides files.
//!
//! Each module is a file here and a row in [`MODULES`]. A module makes its table through a [`module::Context`], which gives every
//! function its canonical name and lets it raise errors at the script's line as C functions of Lua do.

pub(crate) mod attach;
pub mod bpf;
mod byteorder;
mod cgroup;
pub(crate) mod constants;
pub(crate) mod data;
mod dns;
pub mod eclat;
pub mod flow;
mod ip;
mod linux;
mod linux_ct;
mod linux_nf;
mod mac;
mod matches;
pub(crate) mod module;
pub(crate) mod netfilter;
mod rcu;
mod set;
mod socket;
mod tc;
mod trace;
pub(crate) mod updates;
mod verdicts;
mod xdp;
pub(crate) mod xsk;

use self::module::Module;

pub(crate) const MODULES: &[Module] = &[
    bpf::MODULE,
    byteorder::MODULE,
    cgroup::MODULE,
    data::MODULE,
    dns::MODULE,
    eclat::MODULE,
    flow::MODULE,
    ip::MODULE,
    linux::MODULE,
    linux_ct::MODULE,
    linux_nf::MODULE,
    matches::MODULE,
    mac::MODULE,
    netfilter::MODULE,
    rcu::MODULE,
    set::MODULE,
    socket::MODULE,
    tc::MODULE,
    trace::MODULE,
    updates::MODULE,
    verdicts::CGROUP_MODULE,
    verdicts::CHOSEN_MODULE,
    verdicts::TC_MODULE,
    verdicts::XDP_MODULE,
    xdp::MODULE,
    xsk::MODULE,
];

#[cfg(test)]
mod tests {
    use super::MODULES;
    use crate::{Options, load};
    use moonhook_library::{Found, LIBRARIES};
    use moonhook_snapshot::Value;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn scripts_find_each_function_that_has_a_row_and_no_other_one() {
        let modules: String = MODULES.iter().map(|module| format!("require '{}',", module.name)).collect();
        let script = format!(
            "local all = {{ _G, {modules} }}
             require 'xdp'.attach(function() return all.x end)"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua");
        fs::write(&path, script).unwrap();
        let snapshot = load(&[path], &Options::default()).unwrap().snapshot;

        let mut found = BTreeSet::new();
        for (key, value) in snapshot.tables.iter().flat_map(|table| &table.entries) {
            if let (Value::String(key), Value::Builtin(name)) = (key, value) {
                assert_eq!(moonhook_library::key(name).as_bytes(), &**key, "{name}");
                found.insert(*name);
            }
        }
        let named = LIBRARIES.iter().filter(|library| library.found != Found::Methods);
        let rows: BTreeSet<&str> =
            named.flat_map(|library| library.functions).map(|function| function.name).collect();
        assert_eq!(found, rows);
    }
}
