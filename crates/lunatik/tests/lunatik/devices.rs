//! Devices in /dev: what others read and write there, what goes wrong, and that nothing stays. Needs root and FUSE; without, each test notes so and passes.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::place::{Place, skip};
use nix::errno::Errno;

/// A place whose runtimes have devices with names of their own.
pub struct Devices {
    pub place: Place,
    pub name: String,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Devices {
    /// `None` where there can be none.
    pub fn new() -> Option<Devices> {
        let may = nix::unistd::geteuid().is_root() && File::options().write(true).open("/dev/fuse").is_ok();
        if !may {
            skip("not root, or no /dev/fuse");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Some(Devices { place: Place::new(), name: format!("moonhook-test-{}-{number}", std::process::id()) })
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/{}", self.name))
    }

    /// Runs a script in a runtime of its own, the global variable `rt`; NAME is the device's.
    pub fn begin(&self, script: &str) -> Vec<String> {
        let script = format!("local NAME, device = {:?}, require('device')\n{script}", self.name);
        self.place.write("devices.lua", &script);
        self.place.run("rt = require('lunatik').runtime('devices')")
    }

    pub fn read(&self) -> std::io::Result<String> {
        std::fs::read_to_string(self.path())
    }

    pub fn write(&self, text: &str) -> std::io::Result<usize> {
        OpenOptions::new().write(true).open(self.path())?.write(text.as_bytes())
    }

    /// What has been printed since the last time; waits for it.
    pub fn lines(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.place.lines.lock().unwrap().len() < count && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::mem::take(&mut *self.place.lines.lock().unwrap())
    }

    /// What reads the device, in a process of its own.
    pub fn cat(&self) -> std::process::Child {
        Command::new("cat").arg(self.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

pub fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> Errno {
    Errno::from_raw(result.unwrap_err().raw_os_error().unwrap())
}

#[test]
fn devices_are_read_and_written() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "local text = 'one two three'
         local driver = {name = NAME, mode = 292}
         function driver:open() print('open', self.name == NAME) end
         function driver:read(length, offset) return text:sub(offset + 1, offset + 4) end
         function driver:write(bytes, offset) print('write', bytes, offset) end
         function driver:release() print('release') end
         device.new(driver)
         collectgarbage()",
    );
    let there = std::fs::metadata(devices.path()).unwrap();
    assert_eq!((there.permissions().mode() & 0o7777, there.len()), (0o444, 0));
    assert!(there.file_type().is_file() && !there.file_type().is_char_device());
    assert_eq!(devices.read().unwrap(), "one two three");
    assert_eq!(devices.write("a\0b").unwrap(), 3);
    let lines = devices.lines(5);
    assert_eq!(lines, ["open\ttrue", "release", "open\ttrue", "write\ta\0b\t0", "release"]);
    // Each open file goes on where it was, unless it is moved.
    let mut open = File::options().read(true).write(true).open(devices.path()).unwrap();
    open.write_all(b"xyz").unwrap();
    let mut some = [0; 100];
    assert_eq!(open.read(&mut some).unwrap(), 4);
    assert_eq!(&some[..4], b" two");
    assert_eq!(std::os::unix::fs::FileExt::read_at(&open, &mut some[..2], 8).unwrap(), 2);
    assert_eq!(&some[..2], b"th");
    assert_eq!(std::io::Seek::seek(&mut open, std::io::SeekFrom::Current(-6)).unwrap(), 1);
    assert_eq!((open.read(&mut some).unwrap(), &some[..4]), (4, &b"ne t"[..]));
    assert_eq!(nix::sys::statvfs::statvfs(&devices.path()).unwrap().blocks(), 0);
    std::fs::set_permissions(devices.path(), PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(std::fs::metadata(devices.path()).unwrap().permissions().mode() & 0o7777, 0o640);
    devices.place.run("rt:stop()");
    assert!(!devices.path().exists());
}

#[test]
fn results_say_how_much_and_where() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "device.new{name = NAME,
           read = function(_, length, offset) if offset < 30 then return offset .. ',', offset + 10 end end,
           write = function(_, bytes, offset) print(#bytes, offset) return 2, offset + 100 end}",
    );
    assert_eq!(std::fs::metadata(devices.path()).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(devices.read().unwrap(), "0,10,20,");
    let mut open = OpenOptions::new().write(true).open(devices.path()).unwrap();
    open.write_all(b"abcde").unwrap();
    assert_eq!(devices.lines(3), ["5\t0", "3\t100", "1\t200"]);
    // What is no function does nothing: reads are at an end, writes write all.
    devices.place.run("rt:stop()");
    devices.begin("device.new{name = NAME, read = 'x', write = 1, open = {}}");
    assert_eq!(devices.read().unwrap(), "");
    assert_eq!(devices.write("abc").unwrap(), 3);
}

#[test]
fn errors_of_callbacks_are_told_and_wrong_types_are_none() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "local results = {{}, 12, true, setmetatable({}, {__tostring = error})}
         local at = 0
         device.new{name = NAME,
           read = function() at = at + 1 if at > #results then error('no more', 0) end return results[at], 0 end,
           write = function(_, bytes) return load('return ' .. bytes)() end}",
    );
    // A table, a boolean: nothing. A number is its text, and after that there is the next result.
    assert_eq!(devices.read().unwrap(), "");
    assert_eq!(devices.read().unwrap(), "12");
    assert_eq!(devices.read().unwrap(), "");
    assert_eq!(errno(devices.read()), Errno::ECANCELED);
    assert_eq!(devices.lines(1), [format!("[{}] read: no more", devices.name)]);
    assert_eq!(
        devices.write("-5, {}").map_err(|error| error.raw_os_error()),
        Err(Some(Errno::ECANCELED as i32))
    );
    assert_eq!(devices.lines(1), [format!("[{}] write: number expected, got table", devices.name)]);
    for (code, count) in
        [("nil   ", 6), ("-5    ", 6), ("1 << 62", 7), ("2", 1), ("'1'   ", 1), ("0     ", 0)]
    {
        assert_eq!(devices.write(code).unwrap(), count, "{code}");
    }
    assert_eq!(errno(devices.write("2.5")), Errno::ECANCELED);
    devices.place.run("rt:stop()");
    devices.begin("device.new{name = NAME, open = function() error({}) end}");
    assert_eq!(errno(devices.read()), Errno::ECANCELED);
    devices.place.run("rt:stop()");
    let lines = devices.begin("device.new(setmetatable({}, {__index = function(_, key) if key == 'name' then return NAME end error('what', 0) end}))");
    assert!(lines.iter().any(|line| line.contains("what")), "{lines:?}");
}

#[test]
fn drivers_and_names_that_do_not_serve_are_refused() {
    let Some(devices) = Devices::new() else { return };
    let place = &devices.place;
    let long = "n".repeat(300);
    for (code, expected) in [
        ("", "bad argument #1 to 'new' (table expected, got no value)".to_string()),
        ("'x'", "bad argument #1 to 'new' (table expected, got string)".to_string()),
        ("{}", "bad field 'name' (string expected, got nil)".to_string()),
        ("{name = 5}", "bad field 'name' (string expected, got number)".to_string()),
        ("{name = ''}", "failed to create a new device (-22)".to_string()),
        ("{name = '..'}", "failed to create a new device (-22)".to_string()),
        ("{name = '../tmp/x'}", "failed to create a new device (-22)".to_string()),
        ("{name = 'shm/x'}", "failed to create a new device (-22)".to_string()),
        ("{name = 'a\\0b'}", "failed to create a new device (-22)".to_string()),
        (&format!("{{name = '{long}'}}"), "failed to create a new device (-36)".to_string()),
        ("{name = 'null'}", "failed to create a new device (-17)".to_string()),
        ("{name = 'shm'}", "failed to create a new device (-17)".to_string()),
    ] {
        assert_eq!(
            place.error(&format!("require('device').new({code})")),
            format!("test:1: {expected}"),
            "{code}"
        );
    }
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    devices.begin("device.new{name = NAME}");
    let again = format!("require('device').new{{name = {:?}}}", devices.name);
    assert_eq!(place.error(&again), "test:1: failed to create a new device (-17)");
    assert_eq!(devices.read().unwrap(), "");
    place.run("rt:stop()");
    let closed = format!("do local d <close> = require('device').new{{name = {:?}}} end", devices.name);
    for _ in 0..3 {
        assert_eq!(place.error(&closed), "");
        assert!(!devices.path().exists());
    }
}

#[test]
fn large_reads_and_writes_come_in_parts() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "device.new{name = NAME,
           read = function(_, length, offset) if offset < 5000000 then return ('x'):rep(length + 10) end end,
           write = function(_, bytes, offset) print(#bytes, offset) end}",
    );
    let mut open = File::options().read(true).write(true).open(devices.path()).unwrap();
    let mut bytes = vec![0; 64 << 20];
    let length = open.read(&mut bytes).unwrap();
    assert!((5_000_000..6_000_000).contains(&length), "{length}");
    assert!(bytes[..length].iter().all(|byte| *byte == b'x'));
    let mut open = File::options().write(true).open(devices.path()).unwrap();
    assert_eq!(open.write(&bytes[..3 << 20]).unwrap(), 3 << 20);
    let mut at = 0;
    while at < 3 << 20 {
        let lines = devices.lines(1);
        for (length, offset) in lines.iter().map(|line| line.split_once('\t').unwrap()) {
            assert_eq!(offset.parse(), Ok(at));
            at += length.parse::<usize>().unwrap();
        }
        assert!(!lines.is_empty());
    }
}
