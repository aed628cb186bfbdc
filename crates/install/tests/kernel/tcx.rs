//! Attaching to the tc hooks of veth in a namespace.

use crate::support::{Namespace, compile, kernel};
use moonhook_hook::{TC_EGRESS, TC_INGRESS};
use moonhook_install::{InstallError, Link, LoadOptions, RequestedMode, load};

#[test]
fn a_list_of_programs_can_be_full() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("full");
    let object = compile("other_hooks.c");
    // A list takes no program twice.
    let attach = |hook| {
        let program = load(&object, &LoadOptions::default()).unwrap();
        program.attach("ingress", hook, "left", RequestedMode::Auto, Some(&namespace.name))
    };
    let mut links: Vec<Link> = (0..63).map(|_| attach(&TC_INGRESS).unwrap()).collect();
    let error = attach(&TC_INGRESS).unwrap_err();
    let is_full =
        matches!(&error, InstallError::HookFull { interface, hook: "tc.ingress", .. } if interface == "left");
    assert!(is_full, "{error:?}");
    let shown = error.diagnostic().render(false);
    assert!(shown.contains("error[MH0524]: the tc.ingress hook of 'left' is full"), "{shown}");
    assert!(
        shown.contains(&format!("ip netns exec {} bpftool net show dev left", namespace.name)),
        "{shown}"
    );
    attach(&TC_EGRESS).unwrap();
    links.pop();
    attach(&TC_INGRESS).unwrap();
}
