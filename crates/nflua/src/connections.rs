//! What scripts ask about connections.

use crate::headers::{Headers, Ip, Transport};
use mlua::Value;
use moonhook_queue::{self as queue, Counters, Tuple};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which argument is wrong, from 1, and what with it.
type Problem = (i64, &'static str);

/// What the connection has counted that `(family, protocol, address, port, address, port, direction)` are about, as [`queue::counters`] gives it.
///
/// # Errors
/// In the order in which NFLua finds them.
pub fn traffic(arguments: &[Value]) -> Result<Option<Option<Counters>>, Problem> {
    if !["original", "reply", "both"].contains(&text(arguments, 7).as_str()) {
        return Err((7, "invalid option"));
    }
    // What the kernel does not tell is not there for the script.
    Ok(queue::counters(&tuple(arguments)?).unwrap_or(None))
}

/// Has the kernel follow the connection no more that `(family, protocol, address, port, address, port)` are about.
///
/// # Errors
/// As of [`traffic`].
pub fn forget(arguments: &[Value]) -> Result<(), Problem> {
    // It may be gone.
    let _ = queue::forget(&tuple(arguments)?);
    Ok(())
}

/// The same of the connection that a packet of `length` bytes belongs to, which begins with `head`. Where its addresses are being translated, only one of its directions is the kernel's.
pub fn forget_of(head: &[u8], length: usize) {
    let Some(tuple) = Headers::read(head, length).as_ref().map(tuple_of) else { return };
    let other = Tuple {
        source: tuple.target,
        target: tuple.source,
        source_port: tuple.target_port,
        target_port: tuple.source_port,
        ..tuple
    };
    if !queue::forget(&tuple).is_ok_and(|found| found) {
        let _ = queue::forget(&other);
    }
}

/// The addresses and ports of a packet of TCP or UDP.
fn tuple_of(headers: &Headers) -> Tuple {
    let (source, target): (IpAddr, IpAddr) = match &headers.ip {
        Ip::V4(ip) => (ip.source.into(), ip.destination.into()),
        Ip::V6(ip) => (ip.source_addr().into(), ip.destination_addr().into()),
    };
    let (protocol, source_port, target_port) = match &headers.transport {
        Transport::Tcp(tcp) => (6, tcp.source_port, tcp.destination_port),
        Transport::Udp(udp) => (17, udp.source_port, udp.destination_port),
    };
    Tuple { source, target, protocol, source_port, target_port }
}

fn text(arguments: &[Value], number: usize) -> String {
    match arguments.get(number - 1) {
        Some(Value::String(text)) => text.to_string_lossy(),
        _ => String::new(),
    }
}

fn tuple(arguments: &[Value]) -> Result<Tuple, Problem> {
    let text = |number: usize| text(arguments, number);
    let integer = |number: usize| match arguments.get(number - 1) {
        Some(Value::Integer(integer)) => *integer,
        Some(Value::Number(float)) => *float as i64,
        _ => 0,
    };
    let protocol = match text(2).as_str() {
        "udp" => 17,
        "tcp" => 6,
        _ => return Err((2, "invalid option")),
    };
    let address = |number: usize| {
        let parsed: Option<IpAddr> = match integer(1) {
            4 => text(number).parse::<Ipv4Addr>().ok().map(IpAddr::from),
            _ => text(number).parse::<Ipv6Addr>().ok().map(IpAddr::from),
        };
        parsed.ok_or((number as i64, "failed to convert address to binary"))
    };
    if ![4, 6].contains(&integer(1)) {
        return Err((1, "unknown family"));
    }
    let (source, target) = (address(3)?, address(5)?);
    let port = |number: usize| match u16::try_from(integer(number)) {
        Ok(port) if port != 0 => Ok(port),
        _ => Err((number as i64, "invalid port")),
    };
    let (source_port, target_port) = (port(4)?, port(6)?);
    Ok(Tuple { source, target, protocol, source_port, target_port })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Lua;

    #[test]
    fn wrong_arguments_are_found() {
        let lua = Lua::new();
        let text = |text: &str| Value::String(lua.create_string(text).unwrap());
        let good = || {
            [
                Value::Integer(4),
                text("tcp"),
                text("10.0.0.1"),
                Value::Integer(1),
                text("10.0.0.2"),
                Value::Integer(65535),
                text("both"),
            ]
        };
        let problem = |at: usize, value: Value| {
            let mut arguments = good();
            arguments[at] = value;
            traffic(&arguments).unwrap_err()
        };
        assert!(traffic(&good()).is_ok());
        assert_eq!(problem(0, Value::Integer(5)), (1, "unknown family"));
        assert_eq!(problem(1, text("xxx")), (2, "invalid option"));
        assert_eq!(problem(6, text("xxx")), (7, "invalid option"));
        for at in [2, 4] {
            assert_eq!(problem(at, text("10.0.0.256")).0, at as i64 + 1);
        }
        for port in [0, -1, 65536] {
            assert_eq!(problem(3, Value::Integer(port)), (4, "invalid port"));
        }
    }
}
