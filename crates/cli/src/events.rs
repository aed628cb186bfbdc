//! `moonhook events`: what a running script's handlers print and fail of.

use crate::remote::{RemoteOptions, ServiceOptions};
use crate::terminal::printable;
use crate::{CliError, Exit};
use moonhook_daemon::Name;
use serde_json::Value;
use std::io::Write;

/// Show what a running script prints, its errors and reloads, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Several can watch one script. Who reads too slowly loses events, and is told how many.

Examples:
  moonhook events filter
  moonhook events filter --json | jq 'select(.type == \"error\")'
  moonhook events filter --remote http://127.0.0.1:50051

Exit codes: 0 the script has ended, 3 no such script")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    /// One JSON object a line: watching, then print, error, reloaded, refused, lost
    #[arg(long)]
    pub json: bool,
}

pub fn events(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let mut events = arguments.service.script(&arguments.remote, &arguments.name)?.follow()?;
    if arguments.json {
        writeln!(out, "{}", serde_json::json!({ "type": "watching", "name": arguments.name }))?;
        out.flush()?;
    }
    while let Some(event) = events.event()? {
        if arguments.json {
            writeln!(out, "{event}")?;
        } else {
            out.write_all(&printable(shown(&event).as_bytes()))?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
    }
    Ok(Exit::Success)
}

/// An event as a line, or several.
fn shown(event: &Value) -> String {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    match text("type") {
        "print" => text("text").to_string(),
        "error" => {
            let calls = event["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let calls: String = calls.map(|call| format!("\n\t{call}")).collect();
            let title = if calls.is_empty() { "" } else { "\nstack traceback:" };
            format!("error: {}{title}{calls}", text("message"))
        }
        "lost" => format!("({} events lost)", event["count"]),
        "reloaded" => {
            let scripts = event["scripts"].as_array().into_iter().flatten().filter_map(Value::as_str);
            format!("(reloaded {})", scripts.collect::<Vec<_>>().join(" "))
        }
        "replaced" => format!("(replaced table {}: {} entries)", text("table"), event["entries"]),
        "attached" => "(attached)".to_string(),
        "ended" => match text("problem") {
            "" => "(ended)".to_string(),
            problem => format!("(ended: {problem})"),
        },
        "refused" => format!("(not reloaded: {})", event["error"]["message"].as_str().unwrap_or_default()),
        _ => event.to_string(),
    }
}
