//! Attaching to veth in a namespace, and everything that can be in the way.

use crate::support::{Namespace, kernel, load_c};
use moonhook_hook::XDP;
use moonhook_install::RequestedMode::{Auto, Generic, Native};
use moonhook_install::{Holder, InstallError, Mode, netns};

#[test]
fn attaches_in_each_mode_and_detaches_when_dropped() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("modes");
    let program = load_c("drop.c");
    for (wanted, got) in [(Native, Mode::Native), (Generic, Mode::Generic), (Auto, Mode::Native)] {
        let link = program.attach("drop_all", &XDP, "left", wanted, Some(&namespace.name)).unwrap();
        assert_eq!((link.mode(), link.native_refused(), link.is_attached()), (Some(got), None, true));
        let seen = namespace.xdp("left").unwrap();
        assert_eq!(seen.0, got.to_string());
        drop(link);
        assert_eq!(namespace.xdp("left"), None);
    }
    let link = program.attach("drop_all", &XDP, "left", Auto, Some(&namespace.name)).unwrap();
    let index = link.site().interface().unwrap().index;
    link.detach().unwrap();
    assert_eq!(namespace.xdp("left"), None);
    let link = program.attach("drop_all", &XDP, index, Auto, Some(&namespace.name)).unwrap();
    assert_eq!(link.site().name(), "left");
    namespace.ip("link delete left");
    assert!(!link.is_attached());
}

#[test]
fn a_link_keeps_its_program_and_takes_another() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("update");
    let first = load_c("drop.c");
    let mut link = first.attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap();
    let before = namespace.xdp("left").unwrap();
    drop(first);
    assert_eq!(namespace.xdp("left"), Some(before));
    let second = load_c("basic.c");
    assert!(matches!(link.update(&second, "absent"), Err(InstallError::NoSuchItem { .. })));
    link.update(&second, "count").unwrap();
    let after = namespace.xdp("left").unwrap();
    assert_ne!(after.1, before.1);
    let wrong = link.update(&load_c("other_hooks.c"), "ingress").unwrap_err();
    assert!(matches!(wrong, InstallError::UpdateFailed { .. }), "{wrong:?}");
    assert_eq!(namespace.xdp("left"), Some(after));
    namespace.ip("link delete left");
    let gone = link.update(&second, "count").unwrap_err();
    assert!(gone.to_string().contains("ENOLINK"), "{gone}");
}

#[test]
fn real_frames_are_decided_about() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("frames");
    namespace.ip("address add 192.0.2.1/24 dev right");
    let program = load_c("basic.c");
    for mode in [Native, Generic] {
        let before = program.counters("counters", &[1, 0, 0, 0]).unwrap().unwrap()[0];
        let link = program.attach("count", &XDP, "left", mode, Some(&namespace.name)).unwrap();
        netns::within(Some(&namespace.name), || {
            let socket = std::net::UdpSocket::bind("192.0.2.1:0").unwrap();
            socket.set_broadcast(true).unwrap();
            (0..5).for_each(|_| assert_eq!(socket.send_to(b"moon", "192.0.2.255:9").unwrap(), 4));
        })
        .unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while program.counters("counters", &[1, 0, 0, 0]).unwrap().unwrap()[0] < before + 5 {
            assert!(std::time::Instant::now() < deadline, "{mode:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        drop(link);
    }
}

#[test]
fn falls_back_to_generic_and_says_why() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("fallback");
    let program = load_c("drop.c");
    let refused = program.attach("drop_all", &XDP, "lo", Native, Some(&namespace.name)).unwrap_err();
    assert!(matches!(refused, InstallError::NativeRefused { .. }), "{refused:?}");
    let link = program.attach("drop_all", &XDP, "lo", Auto, Some(&namespace.name)).unwrap();
    assert_eq!(link.mode(), Some(Mode::Generic));
    assert!(link.native_refused().unwrap().contains("no native XDP"), "{link:?}");

    namespace.ip("link set right mtu 9000");
    let large = program.attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap_err();
    assert!(matches!(&large, InstallError::MtuTooLarge { peer: true, .. }), "{large:?}");
    assert!(large.diagnostic().help.unwrap().contains("peer of left"));
    let link = program.attach("drop_all", &XDP, "left", Auto, Some(&namespace.name)).unwrap();
    assert_eq!(link.mode(), Some(Mode::Generic));
    assert!(link.native_refused().unwrap().contains("MTU"), "{link:?}");
}

#[test]
fn a_taken_hook_names_its_holder() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("busy");
    let (first, second) = (load_c("drop.c"), load_c("basic.c"));
    let link = first.attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap();
    let (_, id) = namespace.xdp("left").unwrap();
    let holder = |mode| {
        let error = second.attach("count", &XDP, "left", mode, Some(&namespace.name)).unwrap_err();
        let InstallError::HookBusy { holder: Some(holder), .. } = error else { panic!("{error:?}") };
        *holder
    };
    let process = |holder: &Holder| holder.process.as_ref().map(|(pid, _)| *pid);
    for mode in [Native, Generic, Auto] {
        let mut found = holder(mode);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        // A process that another test starts has all that is open here until it is another program.
        while process(&found) != Some(std::process::id()) && std::time::Instant::now() < deadline {
            found = holder(mode);
        }
        assert_eq!((u64::from(found.program_id), found.generic), (id, false));
        assert_eq!(found.program_name.as_deref(), Some("drop_all"));
        assert_eq!(process(&found), Some(std::process::id()));
        assert_eq!(namespace.xdp("left").unwrap().1, id, "the holder was disturbed");
    }
    drop(link);
    second.attach("count", &XDP, "left", Native, Some(&namespace.name)).unwrap();
}

/// As everybody has who lists the links of the system, for a moment or for longer.
#[test]
fn dropping_detaches_although_somebody_holds_the_link() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("held");
    let program = load_c("drop.c");
    let link = program.attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap();
    let held = link.as_fd().try_clone_to_owned().unwrap();
    drop(link);
    assert_eq!(namespace.xdp("left"), None);
    let again = program.attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap();
    drop(held);
    assert!(again.is_attached());
}

#[test]
fn a_program_that_ip_attached_is_removed_with_ip() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("ip");
    let object = std::env::temp_dir().join(format!("{}.o", namespace.name));
    std::fs::write(&object, crate::support::compile("drop.c")).unwrap();
    namespace.ip(&format!("link set dev left xdpgeneric obj {} sec xdp", object.display()));
    std::fs::remove_file(&object).unwrap();
    let error = load_c("basic.c").attach("count", &XDP, "left", Auto, Some(&namespace.name)).unwrap_err();
    let help = error.diagnostic().help.unwrap();
    let command = help.split('`').nth(1).unwrap().strip_prefix(&format!("ip -n {} ", namespace.name));
    namespace.ip(command.unwrap());
    assert_eq!(namespace.xdp("left"), None, "{help}");
}

#[test]
fn programs_for_other_hooks_are_refused_in_every_mode() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("hooks");
    for mode in [Native, Generic, Auto] {
        let error = load_c("other_hooks.c").attach("ingress", &XDP, "left", mode, Some(&namespace.name));
        assert!(matches!(error, Err(InstallError::AttachFailed { .. })), "{error:?}");
    }
}

#[test]
fn unknown_places_are_named_with_what_there_is() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("unknown");
    let program = load_c("drop.c");
    let attach = |interface: &str, netns: &str| {
        program.attach("drop_all", &XDP, interface, Auto, Some(netns)).unwrap_err()
    };
    let error = attach("lefd", &namespace.name);
    assert!(matches!(error, InstallError::UnknownInterface { .. }), "{error:?}");
    assert_eq!(error.diagnostic().help.as_deref(), Some("did you mean 'left'?"));
    let error = attach("wireless", &namespace.name).diagnostic().help.unwrap();
    assert!(error.contains("'lo', 'right' and 'left'") || error.contains("'lo', 'left'"), "{error}");
    let error = attach("left", &format!("{}x", namespace.name));
    assert!(matches!(error, InstallError::UnknownNetns { .. }), "{error:?}");
    assert_eq!(error.diagnostic().help.unwrap(), format!("did you mean '{}'?", namespace.name));
    let error = attach("left", "/proc/self/status");
    assert!(matches!(error, InstallError::Netns { .. }), "{error:?}");
}

#[test]
fn work_in_a_namespace_leaves_the_caller_where_it_was() {
    if !kernel() {
        return;
    }
    let namespace = Namespace::new("within");
    let here = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = here();
    assert_ne!(netns::within(Some(&namespace.name), here).unwrap(), before);
    assert_eq!((netns::within(None, here).unwrap(), here()), (before.clone(), before));
    assert!(netns::names().contains(&namespace.name));
    let interfaces = netns::interfaces(Some(&namespace.name)).unwrap();
    let mut names: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["left", "lo", "right"]);
}
