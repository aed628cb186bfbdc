//! What those are told who listen at the socket (`moonhook events`), as JSON. `docs/operate.md` describes it.

use crate::SessionError;
use crate::report::JsonError;
use moonhook_daemon::{Form, QueuedHandlers, Reloaded, Remark};
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::{Choice, Reason};
use moonhook_load::QueuedPlace;
use moonhook_records::{Failure, Frame, Message, Notice};
use moonhook_schema::Datum;
use serde_json::{Value, json};

/// A message as `--json` and `moonhook events` have it.
pub fn message_json(message: &Message) -> Value {
    match message {
        Message::Print(text) => json!({ "type": "print", "text": text.lossy() }),
        Message::Event(Notice { name, values, .. }) => {
            let values: Vec<Value> = values.iter().map(json_value).collect();
            json!({ "type": "event", "name": String::from_utf8_lossy(name), "values": values })
        }
        Message::Frame(Frame { bytes, time, queue }) => {
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut line = json!({ "type": "frame", "time_ns": time, "bytes": bytes });
            if let Some(queue) = queue {
                (line["ifindex"], line["queue"]) = (json!(queue.interface), json!(queue.number));
            }
            line
        }
        Message::Error(Failure { message, traceback }) => {
            json!({ "type": "error", "message": message.lossy(), "traceback": traceback })
        }
    }
}

/// A value of an event. Bytes that are not UTF-8 become replacement characters.
fn json_value(datum: &Datum) -> Value {
    match datum {
        Datum::Boolean(value) => json!(value),
        Datum::Integer(value) => json!(value),
        // JSON has no infinities: these are texts.
        Datum::Float(bits) => match f64::from_bits(*bits) {
            float if float.is_finite() => json!(float),
            _ => json!(String::from_utf8_lossy(&datum.line())),
        },
        Datum::Text(bytes) => json!(String::from_utf8_lossy(bytes)),
        Datum::Nil => Value::Null,
        Datum::Record(fields) => {
            fields.iter().map(|(name, datum)| (name.clone(), json_value(datum))).collect()
        }
    }
}

pub fn reloaded_json(reloaded: &Reloaded) -> Value {
    let mut line = json!({
        "type": "reloaded", "scripts": reloaded.scripts, "form": reloaded.form.name, "reason": reloaded.form.reason,
        "tables": reloaded.tables,
        "variables": reloaded.variables, "warnings": reloaded.warnings, "timing_us": reloaded.timing,
    });
    if !reloaded.queued.is_empty() {
        line["queued"] = json!(reloaded.queued);
    }
    if !reloaded.unqueued.is_empty() {
        line["unqueued"] = json!(reloaded.unqueued);
    }
    if reloaded.detached {
        line["detached"] = json!(true);
    }
    line
}

/// Where handlers run in this process, as other processes are told of it.
pub fn queued(place: &QueuedPlace) -> QueuedHandlers {
    QueuedHandlers { point: place.point.to_string(), why: place.why() }
}

/// A warning as other processes are told of it.
pub fn remark(warning: &Diagnostic) -> Remark {
    let Diagnostic { code, message, place, help, .. } = warning.clone();
    Remark { code: code.to_string(), place, message, help }
}

pub fn replaced_json(table: &str, entries: u64) -> Value {
    json!({ "type": "replaced", "table": table, "entries": entries })
}

pub fn refused_json(error: &SessionError) -> Value {
    json!({ "type": "refused", "error": JsonError::new(error) })
}

/// A form as other processes are told of it.
pub fn form(choice: &Choice) -> Form {
    let reason = choice.reason.clone().map(|Reason { code, place, message, help, .. }| Remark {
        code: code.to_string(),
        place,
        message,
        help,
    });
    Form { name: choice.form_name().to_string(), reason }
}
