//! How devices end, and what is done with them: nobody waits for ever, and nothing stays.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::devices::{Devices, errno};

/// Whether a process ends within five seconds.
fn ends(child: &mut std::process::Child) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    false
}

#[test]
fn who_waits_is_let_go_of_when_the_device_stops() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "local raw = require('socket')
         local socket = raw.new(1, 2, 0)
         device.new{name = NAME, read = function() print('reads') return socket:receive(100) end}",
    );
    let (mut first, mut second) = (devices.cat(), devices.cat());
    assert_eq!(devices.lines(1), ["reads"]);
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    devices.place.run("rt:stop()");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(ends(&mut first) && ends(&mut second));
    assert!(!devices.path().exists());
}

#[test]
fn who_is_interrupted_does_not_wait_for_the_script() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "local socket = require('socket').new(1, 2, 0)
         device.new{name = NAME, read = function() print('reads') return socket:receive(100) end}",
    );
    for signal in ["-INT", "-KILL"] {
        let mut reader = devices.cat();
        assert_eq!(devices.lines(1), ["reads"]);
        Command::new("kill").args([signal, &reader.id().to_string()]).status().unwrap();
        assert!(ends(&mut reader), "{signal}");
        // The socket's wait ends, too: the next one is not kept waiting behind it.
        assert_eq!(devices.lines(1), [format!("[{}] read: EINTR", devices.name)]);
    }
}

#[test]
fn devices_stop_and_begin_in_callbacks() {
    let Some(devices) = Devices::new() else { return };
    let lines = devices.begin(
        "local function begin(number)
           local d
           d = device.new{name = NAME, read = function() d:stop() collectgarbage() begin(number + 1) return 'x' end,
             release = function() print('release') end}
           print(number)
         end
         begin(1)",
    );
    assert_eq!(lines, ["1"]);
    for number in 2..5 {
        assert_eq!(errno(devices.read()), Errno::ENXIO);
        // The one that is gone is told of nothing.
        assert_eq!(devices.lines(1), [number.to_string()]);
    }
    // Other tests of this process have descriptors of other things meanwhile.
    let is_device = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path()).is_ok_and(|target| target == std::path::Path::new("/dev/fuse"))
    };
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter(is_device).count();
    devices.place.run("rt:stop()");
    let before = descriptors();
    let again = format!(
        "for _ = 1, 100 do require('device').new{{name = {:?}}}:stop() end collectgarbage()",
        devices.name
    );
    assert_eq!(devices.place.run(&again), [""; 0]);
    std::thread::sleep(Duration::from_millis(300));
    assert!(descriptors() < before + 60, "{before} and {} descriptors", descriptors());
}

#[test]
fn what_was_opened_is_released() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "local socket = require('socket').new(1, 2, 0)
         device.new{name = NAME,
           open = function() print('opens') pcall(socket.receive, socket, 100) print('open') end,
           release = function() print('release') end}",
    );
    let mut reader = devices.cat();
    assert_eq!(devices.lines(1), ["opens"]);
    let _ = reader.kill();
    assert!(ends(&mut reader));
    assert_eq!(devices.lines(2), ["open", "release"]);
}

#[test]
fn callbacks_that_do_not_return_are_ended() {
    let Some(devices) = Devices::new() else { return };
    devices.begin(
        "device.new{name = NAME,
           read = function() print('reads') while true do pcall(string.rep, 'x', 10) end end,
           write = function(_, text) print(text) end}",
    );
    let mut reader = devices.cat();
    assert_eq!(devices.lines(1), ["reads"]);
    let _ = reader.kill();
    assert!(ends(&mut reader));
    let begin = Instant::now();
    assert_eq!(devices.write("after").unwrap(), 5);
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    let lines = devices.lines(2);
    assert!(lines[0].contains("the thread went on after it was to stop"), "{lines:?}");
    assert_eq!(lines[1], "after");
    // The same with a stop.
    let mut reader = devices.cat();
    assert_eq!(devices.lines(1), ["reads"]);
    let begin = Instant::now();
    devices.place.run("rt:stop()");
    assert!(ends(&mut reader) && begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert!(!devices.path().exists());
}

#[test]
fn files_that_are_open_behind_the_end_have_no_device() {
    let Some(devices) = Devices::new() else { return };
    devices.begin("d = device.new{name = NAME, read = function() return 'x' end} d:stop() d:stop() device.new{name = NAME, read = d.stop}");
    let mut open = File::open(devices.path()).unwrap();
    devices.place.run("rt:stop()");
    assert_eq!(errno(open.read(&mut [0; 10])), Errno::ENXIO);
    assert_eq!(open.metadata().unwrap().len(), 0);
    drop(open);
    assert_eq!(devices.read().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_script_that_opens_its_own_device_can_be_stopped() {
    let Some(devices) = Devices::new() else { return };
    devices.place.write(
        "devices.lua",
        &format!(
            "require('device').new{{name = {0:?}}} return function() print(io.open('/dev/{0}')) end",
            devices.name
        ),
    );
    devices
        .place
        .run("local rt = require('lunatik').runtime('devices') t = require('thread').run(rt, 'own')");
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    devices.place.host.stop();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(!devices.path().exists());
}

#[test]
fn nothing_begins_behind_the_end() {
    let place = crate::place::Place::new();
    assert_eq!(place.run("print('first')"), ["first"]);
    place.host.stop();
    assert!(place.run("print('second')").is_empty());
    // There is nothing to wait for, nor to warn of.
    let begin = Instant::now();
    place.host.stop();
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    assert!(place.lines.lock().unwrap().is_empty());
}
