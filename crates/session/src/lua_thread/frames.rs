//! Frames that a filter keeps or a handler sends, as control code gets them.

use moonhook_control::{Control, Report};
use moonhook_hook::{SOCKET, XDP};
use moonhook_records::{Frame, Message, Queue};
use moonhook_user::FrameObjects;
use std::borrow::Cow;
use std::cell::OnceCell;

/// The event of a message, which control code may listen to.
pub fn event_of(message: &Message) -> Option<Cow<'_, [u8]>> {
    match message {
        Message::Event(notice) => Some(Cow::Borrowed(&notice.name)),
        Message::Frame(frame) => Some(frame_event(frame)),
        Message::Print(_) | Message::Error(_) => None,
    }
}

fn frame_event(frame: &Frame) -> Cow<'static, [u8]> {
    match frame.queue {
        Some(queue) => Cow::Owned(moonhook_load::event_of_queue(queue.number)),
        None => Cow::Borrowed(SOCKET.name.as_bytes()),
    }
}

/// What makes objects of frames, once there are some: of such as a filter keeps, and of such as handlers have.
#[derive(Default)]
pub(super) struct Objects {
    kept: OnceCell<FrameObjects>,
    sent: OnceCell<FrameObjects>,
}

impl Objects {
    fn make(&self, lua: &mlua::Lua, frame: &Frame) -> mlua::Result<mlua::Value> {
        let (cell, hook) = if frame.queue.is_some() { (&self.sent, &XDP) } else { (&self.kept, &SOCKET) };
        if cell.get().is_none() {
            let _ = cell.set(FrameObjects::new(lua, hook).map_err(mlua::Error::external)?);
        }
        match (cell.get(), frame.queue) {
            (Some(objects), Some(Queue { interface, number })) => {
                objects.make_received(&frame.bytes, interface, number)
            }
            (Some(objects), None) => objects.make(&frame.bytes),
            (None, _) => Ok(mlua::Value::Nil),
        }
    }
}

/// Gives a frame that a filter has kept, or a handler has sent, to the functions that are there for it: as an object, and when it came.
pub(super) fn hand_over(
    control: &mut Control,
    frame: &Frame,
    objects: &Objects,
    report: &mut dyn FnMut(Report),
) {
    let arguments = |lua: &mlua::Lua| {
        let packet = objects.make(lua, frame)?;
        let seconds = frame.time as f64 / 1e9;
        Ok(mlua::MultiValue::from_iter([packet, mlua::Value::Number(seconds)]))
    };
    control.event_with(&frame_event(frame), arguments, report);
}
