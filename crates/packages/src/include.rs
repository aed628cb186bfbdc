//! The headers that programs are compiled with, which this program has in itself.

use crate::error::PackageError;
use std::fs;
use std::path::Path;

/// The header that takes the place of HIKe's, and what it and packages include.
pub const HEADER: &str = "hike.h";

pub const FILES: [(&str, &str); 5] = [
    (HEADER, include_str!("../include/hike.h")),
    ("bpf/bpf_helpers.h", include_str!("../include/bpf/bpf_helpers.h")),
    ("bpf/bpf_endian.h", include_str!("../include/bpf/bpf_endian.h")),
    // glibc's headers include it for all processors but its own.
    ("gnu/stubs-32.h", include_str!("../include/gnu/stubs-32.h")),
    ("linux/seg6.h", include_str!("../include/linux/seg6.h")),
];

/// Writes all of them into a folder.
pub fn write(folder: &Path) -> Result<(), PackageError> {
    for (name, content) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(PackageError::file(parent, "made"))?;
        fs::write(&path, content).map_err(PackageError::file(&path, "written"))?;
    }
    Ok(())
}
