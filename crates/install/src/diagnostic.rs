//! What each error says to a person: its code, message, reason and one line of help.

use crate::error::list;
use crate::privilege::Capability;
use crate::sys::MOST_AT_ONCE;
use crate::{Holder, InstallError};
use moonhook_diagnostic::Diagnostic;
use nix::errno::Errno;
use strsim::levenshtein;

impl InstallError {
    /// The stable code; `crates/cli/explain` has a page about each.
    pub fn code(&self) -> &'static str {
        match self {
            InstallError::Privilege { .. } => "MH0501",
            InstallError::BpfRefused { .. } => "MH0502",
            InstallError::KernelTooOld { .. } => "MH0503",
            InstallError::MalformedObject { .. } => "MH0504",
            InstallError::Rejected(_) => "MH0505",
            InstallError::LoadFailed { .. } => "MH0506",
            InstallError::NoSuchItem { .. } => "MH0507",
            InstallError::MapAccess { .. } => "MH0508",
            InstallError::FrameLength { .. } => "MH0509",
            InstallError::TestRunRefused { .. } => "MH0510",
            InstallError::UnknownInterface { .. } => "MH0511",
            InstallError::UnknownNetns { .. } => "MH0512",
            InstallError::Netns { .. } => "MH0513",
            InstallError::HookBusy { .. } => "MH0514",
            InstallError::NativeRefused { .. } => "MH0515",
            InstallError::MtuTooLarge { .. } => "MH0516",
            InstallError::AttachFailed { .. } => "MH0517",
            InstallError::UpdateFailed { .. } => "MH0518",
            InstallError::PinFailed { .. } => "MH0519",
            InstallError::PinnedElsewhere { .. } => "MH0520",
            InstallError::Replaced { .. } => "MH0521",
            InstallError::OutOfPatience { .. } => "MH0522",
            InstallError::NoEthernet { .. } => "MH0523",
            InstallError::HookFull { .. } => "MH0524",
            InstallError::NoInterface { .. } => "MH0525",
            InstallError::NoCgroup { .. } => "MH0526",
            InstallError::NotPinned => "MH0527",
            InstallError::NoQueue { .. } => "MH0530",
            InstallError::QueueBusy { .. } => "MH0531",
            InstallError::NoSuchProgram { .. } => "MH0528",
            InstallError::NoPeer { .. } => "MH0529",
            InstallError::NoTracepoint { .. } => "MH0532",
            InstallError::NotProbed { .. } => "MH0533",
        }
    }

    /// The error as it is shown. A rejection has the script's line, if the object's line info led there.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(self.code(), self.to_string());
        diagnostic.reason = self.reason();
        diagnostic.help = self.help();
        if let InstallError::Rejected(rejection) = self {
            diagnostic.place = rejection.place.clone();
        }
        diagnostic
    }

    fn reason(&self) -> Option<String> {
        match self {
            InstallError::KernelTooOld { message, .. } => Some(format!("it says: {message}")),
            InstallError::Rejected(rejection) => {
                let at = rejection.instruction.map(|number| format!("at instruction {number}; "));
                Some(format!("{}this is a bug of Moonhook, not of the script", at.unwrap_or_default()))
            }
            InstallError::HookBusy { holder: Some(holder), .. } => Some(held_by(holder)),
            InstallError::HookFull { .. } => {
                Some(format!("it has {MOST_AT_ONCE} programs, the most that the kernel takes"))
            }
            InstallError::MtuTooLarge { peer: true, .. } => {
                Some("a whole frame of its veth peer does not fit into one page".to_string())
            }
            InstallError::MtuTooLarge { .. } => Some("a whole frame does not fit into one page".to_string()),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            InstallError::Privilege { missing, .. } => privilege_help(missing),
            InstallError::BpfRefused { .. } => {
                "a container's seccomp profile or kernel lockdown can forbid bpf(): `moonhook doctor` shows what works"
                    .to_string()
            }
            InstallError::KernelTooOld { floor, .. } => {
                format!("boot Linux {floor} or newer, or run the script in the user tier")
            }
            InstallError::MalformedObject { .. } => {
                "give an eBPF object with BTF and named sections, as `moonhook build` or `clang -g -target bpf` makes it"
                    .to_string()
            }
            InstallError::OutOfPatience { .. } => {
                "split what has many ways through it, or use `--form expanded` and wait".to_string()
            }
            InstallError::Rejected(rejection) => rejection.help(None),
            InstallError::LoadFailed { .. } => "`moonhook doctor` shows what this kernel can do".to_string(),
            InstallError::NoSuchItem { name, existing, .. } => choice(name, existing)?,
            InstallError::FrameLength { .. }
            | InstallError::TestRunRefused { errno: Errno::EINVAL | Errno::ENOSPC | Errno::ENOMEM, .. } => {
                "leave the frame out, or run it in the user tier".to_string()
            }
            InstallError::TestRunRefused { .. } => {
                "the kernel does not run programs of this hook on frames: `moonhook replay --tier user` does, `moonhook run` takes real traffic"
                    .to_string()
            }
            InstallError::UnknownInterface { name, netns, existing } => {
                let there = netns.as_ref().map(|netns| format!(" in '{netns}'")).unwrap_or_default();
                choice(name, existing).unwrap_or_else(|| format!("there are no interfaces{there}"))
            }
            InstallError::UnknownNetns { name, existing } => {
                choice(name, existing).unwrap_or_else(|| format!("make it with `ip netns add {name}`"))
            }
            InstallError::HookBusy { interface, netns, holder } => {
                removal(interface, netns.as_deref(), holder.as_deref())
            }
            InstallError::HookFull { interface, netns, .. } => {
                let within = netns.as_ref().map(|name| format!("ip netns exec {name} ")).unwrap_or_default();
                format!("`{within}bpftool net show dev {interface}` tells which; `bpftool link detach id …` removes one")
            }
            InstallError::NoEthernet { .. } => {
                "attach the script to the interface below the tunnel, or to one with Ethernet frames (veth, tap)".to_string()
            }
            InstallError::NoInterface { .. } => {
                "say which one: `moonhook run eth0 script.lua`, or `--interface eth0` of `moonhook lunatik`; `ip link` lists them".to_string()
            }
            InstallError::NoCgroup { is_mounted: true, .. } => {
                "`systemd-cgls` lists them; make one with `mkdir`, below where they are mounted".to_string()
            }
            InstallError::NoCgroup { .. } => {
                "mount them first: `mount -t cgroup2 none /sys/fs/cgroup`".to_string()
            }
            InstallError::NoSuchProgram { existing, .. } if existing.is_empty() => {
                "no program is there; leave the order out, or use `first` or `last`".to_string()
            }
            InstallError::NoSuchProgram { existing, .. } => format!("there are {}", list(existing)),
            InstallError::NoPeer { .. } => {
                "leave `--peer` out: it is for veth interfaces, which send nothing back without a program at their other end".to_string()
            }
            InstallError::NoTracepoint { .. } => {
                "the kernel that runs the program has to have it: compile the script there, or load the module that has it".to_string()
            }
            InstallError::NotProbed { .. } => {
                "take a function that calls it or that it calls, or a tracepoint near it: `raw_tp/NAME`".to_string()
            }
            InstallError::NotPinned => {
                "it ends with the process that reads what it keeps: run the script without `--pin`".to_string()
            }
            InstallError::NoQueue { interface, .. } => {
                format!("queues are counted from 0; `ethtool -l {interface}` says how many there are")
            }
            InstallError::QueueBusy { .. } => {
                "end the other program: `ss --xdp -p` shows which one it is".to_string()
            }
            InstallError::NativeRefused { .. } => "use `--mode auto` or `--mode generic`".to_string(),
            InstallError::MtuTooLarge { interface, peer, .. } => {
                let which = if *peer { format!("the peer of {interface}") } else { interface.clone() };
                format!("use `--frags` or `--mode generic`, or lower the MTU of {which} (`ip link set … mtu 3000`)")
            }
            InstallError::AttachFailed { errno: Errno::EINVAL, .. } => {
                "this kind of interface may not have that hook; `moonhook doctor` shows which hooks the kernel has".to_string()
            }
            InstallError::UpdateFailed { .. } => {
                "the earlier program still runs; stop and start again to replace it".to_string()
            }
            InstallError::Replaced { program_id, .. } => {
                format!("see whose it is with `bpftool prog show id {program_id}`; or stop this script and start it again")
            }
            InstallError::PinFailed { .. } => {
                "pins need root and a BPF file system: `mount -t bpf bpf /sys/fs/bpf`, or name another with `--bpffs`"
                    .to_string()
            }
            InstallError::PinnedElsewhere { .. } => {
                "stop what is pinned with `moonhook stop NAME`, or run the script under another `--name`".to_string()
            }
            InstallError::MapAccess { .. } => {
                "`bpftool map` shows what the map can have: its size, its keys, and how many entries are in it".to_string()
            }
            InstallError::Netns { .. }
            | InstallError::AttachFailed { .. } => return None,
        })
    }
}

fn privilege_help(missing: &[Capability]) -> String {
    let help = if missing.contains(&Capability::SysAdmin) {
        "run it as root, or from inside the namespace with `nsenter --net=/run/netns/NAME`; `serve` takes `--enter-netns`"
    } else if missing.contains(&Capability::NetRaw) {
        "run it as root, or `setcap cap_bpf,cap_net_admin,cap_net_raw,cap_perfmon+ep` on the program"
    } else {
        "run it as root, or `setcap cap_bpf,cap_net_admin,cap_perfmon+ep` on the program: these three are enough"
    };
    help.to_string()
}

fn held_by(holder: &Holder) -> String {
    let name = holder.program_name.as_ref().map(|name| format!(" ('{name}')")).unwrap_or_default();
    let mode = if holder.generic { "generic" } else { "native" };
    let link = match (holder.link_id, &holder.process) {
        (Some(link), Some((pid, command))) => format!(", by link {link} of process {pid} ({command})"),
        (Some(link), None) => format!(", by link {link}, which is pinned"),
        _ => String::new(),
    };
    format!("program {}{name} is attached in {mode} mode{link}", holder.program_id)
}

/// How to free a hook. A program that a link holds cannot be removed with `ip`.
fn removal(interface: &str, netns: Option<&str>, holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { process: Some((pid, command)), .. }) if command == "moonhook" => format!(
            "stop process {pid} (moonhook) first; several scripts run in one: `moonhook run {interface} a.lua b.lua`"
        ),
        Some(Holder { process: Some((pid, command)), .. }) => format!("stop process {pid} ({command}) first"),
        Some(Holder { link_id: Some(link), .. }) => format!("remove it with `bpftool link detach id {link}`"),
        Some(Holder { program_name: Some(_), generic, .. }) => {
            let netns = netns.map(|name| format!("-n {name} ")).unwrap_or_default();
            let hook = if *generic { "xdpgeneric" } else { "xdp" };
            format!("remove it with `ip {netns}link set dev {interface} {hook} off`")
        }
        // Without CAP_SYS_ADMIN neither name nor link is to be had.
        _ => "`sudo bpftool net` and `sudo bpftool link` tell whose it is".to_string(),
    }
}

/// `did you mean …`, where one name is close; else the names there are.
fn choice(wanted: &str, existing: &[String]) -> Option<String> {
    let nearest = existing.iter().map(|name| (levenshtein(wanted, name), name)).min();
    match nearest {
        None => None,
        Some((distance, name)) if distance <= 1 + wanted.len() / 4 => Some(format!("did you mean '{name}'?")),
        Some(_) => {
            let quoted: Vec<String> = existing.iter().take(12).map(|name| format!("'{name}'")).collect();
            let more = if existing.len() > 12 { " …" } else { "" };
            Some(format!("there is {}{more}", list(&quoted)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_close_name_is_suggested_and_others_are_listed() {
        assert_eq!(choice("eht0", &names(&["lo", "eth0"])).unwrap(), "did you mean 'eth0'?");
        assert_eq!(choice("wlan0", &names(&["lo", "eth0"])).unwrap(), "there is 'lo' and 'eth0'");
        assert_eq!(choice("x", &[]), None);
    }

    #[test]
    fn distance_is_levenshteins() {
        for (a, b, expected) in [("", "", 0), ("abc", "abc", 0), ("kitten", "sitting", 3), ("", "ab", 2)] {
            assert_eq!(levenshtein(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_busy_hook_says_who_and_how_to_free_it() {
        let show = |link_id, process, generic| {
            let holder =
                Holder { program_id: 7, program_name: Some("other".into()), link_id, process, generic };
            let error = InstallError::HookBusy {
                interface: "eth0".into(),
                netns: Some("blue".into()),
                holder: Some(Box::new(holder)),
            };
            error.diagnostic().render(false)
        };
        let by_process = show(Some(3), Some((12, "moonhook".into())), false);
        assert!(by_process.contains("program 7 ('other')"), "{by_process}");
        assert!(by_process.contains("help: stop process 12 (moonhook) first"), "{by_process}");
        assert!(show(Some(3), None, false).contains("`bpftool link detach id 3`"));
        assert!(show(None, None, false).contains("`ip -n blue link set dev eth0 xdp off`"));
        assert!(show(None, None, true).contains("`ip -n blue link set dev eth0 xdpgeneric off`"));
    }
}
