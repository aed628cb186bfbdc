//! The machine that the figures come from.

use serde::Serialize;

use crate::error::Error;
use crate::process;

#[derive(Default, Serialize)]
pub struct Machine {
    pub processor: String,
    pub processors: usize,
    pub kernel: String,
    /// How the kernel guards against Spectre v2, which makes helper calls dear or cheap.
    pub spectre_v2: String,
    pub clang: String,
    pub luajit: String,
    /// YYYY-MM-DD, UTC.
    pub date: String,
}

impl Machine {
    /// When and where a command has measured.
    pub fn measured_by(&self, command: &str) -> String {
        format!(
            "Measured on {} by `{command}`: {} ({} processors), {}, Spectre v2: {}.",
            self.date, self.processor, self.processors, self.kernel, self.spectre_v2,
        )
    }
}

pub fn describe() -> Result<Machine, Error> {
    let cpuinfo = read("/proc/cpuinfo")?;
    let processor = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name);
    let first_line = |text: String| text.lines().next().unwrap_or_default().trim().to_string();
    Ok(Machine {
        processor: processor.into(),
        processors: cpuinfo.lines().filter(|line| line.starts_with("processor")).count(),
        kernel: format!("Linux {}, {}", read("/proc/sys/kernel/osrelease")?.trim(), std::env::consts::ARCH),
        spectre_v2: first_line(read("/sys/devices/system/cpu/vulnerabilities/spectre_v2")?),
        clang: first_line(process::words(&["clang-19", "--version"])?),
        luajit: luajit_version(&process::words(&["luajit", "-v"])?),
        date: first_line(process::words(&["date", "-u", "+%F"])?),
    })
}

/// `LuaJIT 2.1.0` of `LuaJIT 2.1.0 -- Copyright …`.
fn luajit_version(text: &str) -> String {
    text.split(" -- ").next().unwrap_or(text).trim().to_string()
}

fn read(path: &str) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(Error::system(format!("read {path}")))
}
