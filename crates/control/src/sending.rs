//! Frames that control code sends (`xsk.send`).

use moonhook_install::FrameSender;
use moonhook_load::{Port, Send};
use nix::errno::Errno;
use std::cell::OnceCell;
use std::rc::Rc;

/// Sends frames out of the interfaces of a network namespace (`None`: the caller's). Its socket is made when the first one is sent.
pub(crate) fn sender(netns: Option<String>) -> Rc<Send> {
    let opened = OnceCell::new();
    Rc::new(move |port, frame| {
        if opened.get().is_none() {
            let made = FrameSender::open(netns.as_deref()).map_err(|error| error.to_string())?;
            let _ = opened.set(made);
        }
        opened.get().map_or(Ok(()), |sender| send(sender, port, frame))
    })
}

fn send(sender: &FrameSender, port: &Port, frame: &[u8]) -> Result<(), String> {
    let number = match port {
        Port::Number(number) => Some(*number),
        Port::Name(name) => sender.interface(name),
    };
    let outcome = number.map_or(Err(Errno::ENXIO), |number| sender.send(number, frame));
    outcome.map_err(|errno| problem(port, frame.len(), errno))
}

/// What packet(7) says of a frame that cannot be sent.
fn problem(port: &Port, length: usize, errno: Errno) -> String {
    let port = match port {
        Port::Name(name) => format!("'{name}'"),
        Port::Number(number) => number.to_string(),
    };
    match errno {
        Errno::ENXIO | Errno::ENODEV => format!("no interface {port}"),
        Errno::ENETDOWN => format!("interface {port} is down"),
        Errno::EMSGSIZE => format!("{length} bytes are too many for interface {port}"),
        Errno::EINVAL => format!("{length} bytes are no whole frame"),
        Errno::ENOBUFS | Errno::EAGAIN => format!("interface {port} takes no more at present"),
        errno => format!("interface {port} takes no frame ({errno})"),
    }
}
