pub(crate) const KERNEL_FLOOR: (u32, u32) = (6, 12);
pub(crate) const KERNEL_FLOOR_NAME: &str = "6.12";

pub(crate) fn release() -> String {
    nix::sys::utsname::uname().map(|u| u.release().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Major and minor number of a kernel release such as `6.12.41+deb13-amd64`.
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
