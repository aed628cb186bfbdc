//! Every error has a code of its own, a page that explains it, and a message that is one line.

use moonhook_install::{Capability, InstallError, Rejection};
use nix::errno::Errno;
use std::path::Path;

/// One of each kind, in the order of their codes.
fn one_of_each() -> Vec<InstallError> {
    let (name, interface) = (|| "name".to_string(), || "eth0".to_string());
    let rejection = Rejection {
        program: name(),
        message: "R1 !read_ok".into(),
        place: None,
        instruction: Some(3),
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
    ]
}

#[test]
fn codes_count_up_and_have_pages() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/explain");
    for (index, error) in one_of_each().iter().enumerate() {
        let diagnostic = error.diagnostic();
        assert_eq!(diagnostic.code, format!("MH05{:02}", index + 1), "{error:?}");
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
