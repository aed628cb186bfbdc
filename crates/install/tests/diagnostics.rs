//! Every error has a code of its own, a page that explains it, and a message that is one line.

use moonhook_install::{Capability, InstallError, Rejection};
use nix::errno::Errno;
use std::path::Path;
use std::time::Duration;

/// One of each kind, in the order of their codes.
fn one_of_each() -> Vec<InstallError> {
    let (name, interface) = (|| "name".to_string(), || "eth0".to_string());
    let rejection = Rejection {
        program: name(),
        message: "R1 !read_ok".into(),
        place: None,
        instruction: Some(3),
        is_last_form: false,
        log: String::new(),
    };
    let errno = Errno::EINVAL;
    vec![
        InstallError::Privilege { doing: "loading", missing: vec![Capability::Bpf] },
        InstallError::BpfRefused { doing: "loading", errno },
        InstallError::KernelTooOld { running: "5.4".into(), floor: "6.12", message: name() },
        InstallError::MalformedObject { message: name() },
        InstallError::Rejected(Box::new(rejection)),
        InstallError::LoadFailed { message: name(), messages: name() },
        InstallError::NoSuchItem { kind: "map", name: name(), existing: vec![] },
        InstallError::MapAccess { map: name(), problem: "full".into() },
        InstallError::FrameLength { length: 3, min: 14, max: 3520 },
        InstallError::TestRunRefused { program: name(), errno },
        InstallError::UnknownInterface { name: name(), netns: None, existing: vec![interface()] },
        InstallError::UnknownNetns { name: name(), existing: vec![] },
        InstallError::Netns { name: name(), errno },
        InstallError::HookBusy { interface: interface(), netns: None, holder: None },
        InstallError::NativeRefused { interface: interface(), why: "no".into(), errno },
        InstallError::MtuTooLarge { interface: interface(), mtu: 9000, peer: false },
        InstallError::AttachFailed { place: interface(), errno },
        InstallError::UpdateFailed { place: interface(), errno },
        InstallError::PinFailed { path: "/sys/fs/bpf/x".into(), errno },
        InstallError::PinnedElsewhere { path: "/sys/fs/bpf/x".into(), at: interface() },
        InstallError::Replaced { place: interface(), program_id: 7 },
        InstallError::OutOfPatience { program: name(), patience: Duration::from_millis(500) },
        InstallError::NoEthernet { interface: interface() },
        InstallError::HookFull { interface: interface(), netns: None, hook: "tc.ingress" },
        InstallError::NoInterface { hook: "xdp" },
        InstallError::NoCgroup { path: "/sys/fs/cgroup/x".into(), is_mounted: true },
        InstallError::NotPinned,
        InstallError::NoSuchProgram {
            name: name(),
            interface: interface(),
            hook: "tc.ingress",
            existing: vec![name()],
        },
        InstallError::NoPeer { interface: interface(), why: "it is no veth interface" },
        InstallError::NoQueue { interface: interface(), queue: 9 },
        InstallError::QueueBusy { interface: interface(), queue: 0 },
        InstallError::NoTracepoint { name: name(), problem: None },
        InstallError::NotProbed { name: name(), why: "there are several".into() },
    ]
}

/// A new kind of error does not compile here before it has a number, and then has to be in the list above.
fn number(error: &InstallError) -> usize {
    use InstallError::*;
    match error {
        Privilege { .. } => 1,
        BpfRefused { .. } => 2,
        KernelTooOld { .. } => 3,
        MalformedObject { .. } => 4,
        Rejected(_) => 5,
        LoadFailed { .. } => 6,
        NoSuchItem { .. } => 7,
        MapAccess { .. } => 8,
        FrameLength { .. } => 9,
        TestRunRefused { .. } => 10,
        UnknownInterface { .. } => 11,
        UnknownNetns { .. } => 12,
        Netns { .. } => 13,
        HookBusy { .. } => 14,
        NativeRefused { .. } => 15,
        MtuTooLarge { .. } => 16,
        AttachFailed { .. } => 17,
        UpdateFailed { .. } => 18,
        PinFailed { .. } => 19,
        PinnedElsewhere { .. } => 20,
        Replaced { .. } => 21,
        OutOfPatience { .. } => 22,
        NoEthernet { .. } => 23,
        HookFull { .. } => 24,
        NoInterface { .. } => 25,
        NoCgroup { .. } => 26,
        NotPinned => 27,
        NoSuchProgram { .. } => 28,
        NoPeer { .. } => 29,
        NoQueue { .. } => 30,
        QueueBusy { .. } => 31,
        NoTracepoint { .. } => 32,
        NotProbed { .. } => 33,
    }
}

#[test]
fn test_runs_that_are_refused_have_help_by_the_reason() {
    let help = |errno| {
        let error = InstallError::TestRunRefused { program: "filter".into(), errno };
        error.diagnostic().help.unwrap_or_default()
    };
    assert!(help(Errno::EINVAL).contains("leave the frame out"));
    // ENOTSUPP, which libc does not have.
    for errno in [Errno::EOPNOTSUPP, Errno::UnknownErrno] {
        assert!(help(errno).contains("replay --tier user"), "{errno}");
    }
}

#[test]
fn codes_count_up_and_have_pages() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/explain");
    for (index, error) in one_of_each().iter().enumerate() {
        let diagnostic = error.diagnostic();
        assert_eq!(
            (number(error), diagnostic.code),
            (index + 1, &*format!("MH05{:02}", index + 1)),
            "{error:?}"
        );
        let page = std::fs::read_to_string(pages.join(format!("{}.md", diagnostic.code))).unwrap();
        assert!(
            page.starts_with(&format!("# {}: ", diagnostic.code)) && page.lines().count() <= 25,
            "{page}"
        );
        let lines = [Some(&diagnostic.message), diagnostic.reason.as_ref(), diagnostic.help.as_ref()];
        assert!(lines.into_iter().flatten().all(|line| !line.contains('\n') && !line.ends_with('.')));
    }
}

#[test]
fn they_render() {
    let shown: Vec<String> = one_of_each().iter().map(|error| error.diagnostic().render(false)).collect();
    assert!(shown[0].contains("error[MH0501]: loading needs CAP_BPF"), "{}", shown[0]);
    assert!(shown[4].contains("note: at instruction 3; this is a bug of Moonhook"), "{}", shown[4]);
    assert!(shown[10].contains("help: there is 'eth0'"), "{}", shown[10]);
    assert!(
        shown[15].contains("help: use `--frags` or `--mode generic`, or lower the MTU of eth0"),
        "{}",
        shown[15]
    );
}
