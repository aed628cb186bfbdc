//! Links of control groups: a list of programs for each direction, of which each decides, those of the groups above included
//! (`BPF_F_ALLOW_MULTI`, kernel/bpf/cgroup.c).

use super::hold::Hold;
use super::kind::{Elsewhere, Kind, Made, Target};
use super::site::{Cgroup, Site};
use super::xdp::Mode;
use crate::privilege::LOAD;
use crate::{InstallError, sys};
use libbpf_sys::{
    BPF_CGROUP_INET_EGRESS, BPF_CGROUP_INET_INGRESS, BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT,
    BPF_F_QUERY_EFFECTIVE, BPF_LINK_TYPE_CGROUP, bpf_attach_type, bpf_link_info,
};
use moonhook_hook::{self as hook, CGROUP_EGRESS, CGROUP_INGRESS, Hook, Place, Point};
use nix::errno::Errno;
use nix::libc::CGROUP2_SUPER_MAGIC;
use nix::sys::statfs::{FsType, fstatfs};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A kind of link that control groups have.
pub(super) struct OfCgroup {
    hook: &'static Hook,
    attach_type: bpf_attach_type,
}

pub(super) const CONNECT_4: OfCgroup =
    OfCgroup { hook: &hook::CONNECT_4, attach_type: BPF_CGROUP_INET4_CONNECT };
pub(super) const CONNECT_6: OfCgroup =
    OfCgroup { hook: &hook::CONNECT_6, attach_type: BPF_CGROUP_INET6_CONNECT };
pub(super) const INGRESS: OfCgroup = OfCgroup { hook: &CGROUP_INGRESS, attach_type: BPF_CGROUP_INET_INGRESS };
pub(super) const EGRESS: OfCgroup = OfCgroup { hook: &CGROUP_EGRESS, attach_type: BPF_CGROUP_INET_EGRESS };

impl Kind for OfCgroup {
    fn hook(&self) -> &'static Hook {
        self.hook
    }

    fn is(&self, info: &bpf_link_info) -> bool {
        // SAFETY: for a link of a control group the kernel has filled in the `cgroup` member.
        info.type_ == BPF_LINK_TYPE_CGROUP
            && unsafe { info.__bindgen_anon_1.cgroup.attach_type } == self.attach_type
    }

    fn attach(&self, program: BorrowedFd<'_>, point: &Point, _: &Target<'_>) -> Result<Made, InstallError> {
        let (group, folder) = open(&point.place)?;
        let link = sys::link_create(program, folder.as_raw_fd(), self.attach_type, 0);
        let link = link.map_err(|errno| match errno {
            Errno::EPERM => InstallError::permission("attaching to a control group", &LOAD[..2], errno),
            errno => InstallError::AttachFailed { place: group.path.display().to_string(), errno },
        })?;
        Ok(Made { hold: Hold::Link(link), site: Site::Cgroup(group), mode: None, native_refused: None })
    }

    fn find(
        &self,
        info: &bpf_link_info,
        place: &Place,
        _: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        let id = id(info);
        if id == 0 {
            return Ok(None);
        }
        match open(place) {
            Ok((group, _)) if group.id == id => Ok(Some((Site::Cgroup(group), None))),
            Ok(_) => Err(Elsewhere::At(id)),
            Err(error) => Err(Elsewhere::Error(error)),
        }
    }

    fn is_attached(&self, info: &bpf_link_info) -> bool {
        id(info) != 0
    }

    /// Those of the groups above, which decide too, included.
    fn programs(&self, site: &Site) -> Vec<u32> {
        let Site::Cgroup(group) = site else { return Vec::new() };
        let folder = File::open(&group.path)
            .ok()
            .filter(|folder| folder.metadata().is_ok_and(|it| it.ino() == group.id));
        let programs =
            |folder: File| sys::programs_at(folder.as_raw_fd(), self.attach_type, BPF_F_QUERY_EFFECTIVE);
        folder.and_then(|folder| programs(folder).ok()).unwrap_or_default()
    }
}

/// The number of the group; 0 when it is gone.
fn id(info: &bpf_link_info) -> u64 {
    // SAFETY: as in `is`, which has looked at the same information.
    unsafe { info.__bindgen_anon_1.cgroup.cgroup_id }
}

/// The group's folder.
fn open(place: &Place) -> Result<(Cgroup, File), InstallError> {
    let Place::Cgroup(name) = place else {
        return Err(InstallError::AttachFailed {
            place: "no control group".to_string(),
            errno: Errno::EINVAL,
        });
    };
    let root = mounted().unwrap_or_else(|| PathBuf::from(USUAL));
    // From the root of the file system, or, as the kernel writes paths of groups (/proc/PID/cgroup), from where they are mounted.
    let whole = Path::new(&**name).is_absolute().then(|| PathBuf::from(&**name));
    let below = root.join(name.trim_start_matches('/'));
    let none = InstallError::NoCgroup {
        path: whole.clone().unwrap_or_else(|| below.clone()),
        is_mounted: mounted().is_some(),
    };
    whole.into_iter().chain([below]).find_map(open_folder).ok_or(none)
}

/// `None` where that is no control group.
fn open_folder(path: PathBuf) -> Option<(Cgroup, File)> {
    let folder = File::open(&path).ok()?;
    let is_group = fstatfs(&folder).is_ok_and(|info| info.filesystem_type() == FsType(CGROUP2_SUPER_MAGIC));
    let metadata = folder.metadata().ok().filter(|metadata| is_group && metadata.is_dir())?;
    Some((Cgroup { path, id: metadata.ino() }, folder))
}

/// Where control groups usually are.
const USUAL: &str = "/sys/fs/cgroup";

/// Where control groups are mounted, the first such place in the caller's mount namespace (proc_pid_mounts(5)).
pub fn mounted() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(Path::new(found.get(1)?).to_path_buf())
}
