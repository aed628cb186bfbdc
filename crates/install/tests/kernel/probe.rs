//! The host's features, as `moonhook doctor` shows them.

use crate::support::kernel;
use moonhook_install::{Outcome, probe};

#[test]
fn a_host_that_runs_these_tests_is_usable() {
    if !kernel() {
        return;
    }
    let host = probe();
    for feature in &host.features {
        println!("{:18} {:?}", feature.name, feature.outcome);
    }
    assert!(host.usable());
    let json = serde_json::to_value(&host).unwrap();
    assert_eq!(json["features"][0]["outcome"], "works");
    assert!(host.features.iter().all(|f| !f.why.is_empty() && !f.change.is_empty()));
    let btf = host.features.iter().find(|feature| feature.name == "kernel BTF").unwrap();
    let there = std::path::Path::new("/sys/kernel/btf/vmlinux").exists();
    assert_eq!(matches!(btf.outcome, Outcome::Works(_)), there);
}
