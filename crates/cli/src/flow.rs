//! `moonhook flow`: which function each flow has in a running script.

use crate::remote::{RemoteOptions, Script, ServiceOptions};
use crate::terminal::{self, printable, printable_error};
use crate::{CliError, Exit, report};
use moonhook_daemon::{FlowChanged, FlowInfo, FlowOperation, FlowPage, FlowTableInfo, Name, Request};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Look at the flows of a running script, and give them other functions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without an operation the script's flow tables are described (`flow.new` in the script makes them). A key is the values of the table's
fields: `src=10.0.0.1,dport=53`, or the values alone in the table's order.

  list             show the flows, with what each has had
  set KEY FILE     give a flow the function in a file of Lua: `function(pkt) ... end`, or a chunk that returns one
  get KEY          show the flow and the text of its function; exit code 1 if there is none
  delete KEY       take the flow out: its packets go to the default; exit code 1 if there is none

A function that does not compile, or that the kernel refuses, leaves the flow as it was.

Examples:
  moonhook flow balancer
  moonhook flow balancer list --by packets
  moonhook flow balancer set src=10.0.0.1,dst=10.0.0.2,proto=udp,sport=1000,dport=53 drop.lua
  moonhook flow balancer get 10.0.0.1,10.0.0.2,udp,1000,53 --json
  moonhook flow balancer list --remote http://127.0.0.1:50051

Exit codes: 0 done, 1 no such table or flow, or the function is refused, 2 usage, 3 no such script or file")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    #[arg(value_enum)]
    operation: Option<Operation>,
    #[arg(allow_negative_numbers = true)]
    key: Option<String>,
    file: Option<PathBuf>,
    /// The flow table, where the script has several
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// What `list` sorts by
    #[arg(long, value_enum, default_value_t = By::Key)]
    by: By,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    /// JSON: one document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Operation {
    List,
    Set,
    Get,
    Delete,
}

/// An order of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Keys as texts
    Key,
    /// Most packets first
    Packets,
    /// Longest without a packet first
    Idle,
}

pub fn flow(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let wanted = arguments.wanted()?;
    let mut script = arguments.service.script(&arguments.remote, &arguments.name)?;
    let request = |operation| Request::Flow { table: arguments.table.clone(), operation };
    match wanted {
        Wanted::Describe => {
            describe(arguments, &script.ask::<Vec<FlowTableInfo>>(&Request::FlowTables)?, out)
        }
        Wanted::List => list(arguments, &mut script, out),
        Wanted::One(operation @ FlowOperation::Set { .. }) => {
            let changed: FlowChanged = script.ask(&request(operation))?;
            if arguments.json {
                writeln!(out, "{}", json!(changed))?;
            } else {
                let warnings = report::remarks(&changed.warnings);
                let warnings = printable_error(warnings.as_bytes());
                terminal::say(&warnings);
                writeln!(out, "{} after {} µs", changed.form, changed.microseconds)?;
            }
            Ok(Exit::Success)
        }
        Wanted::One(operation @ FlowOperation::Delete { .. }) => {
            let was_there: bool = script.ask(&request(operation))?;
            if arguments.json {
                writeln!(out, "{was_there}")?;
            }
            Ok(if was_there { Exit::Success } else { Exit::Refused })
        }
        Wanted::One(operation) => {
            let found: Option<FlowInfo> = script.ask(&request(operation))?;
            show(arguments, found.as_ref(), out)?;
            Ok(if found.is_some() { Exit::Success } else { Exit::Refused })
        }
    }
}

/// What is to be done.
enum Wanted {
    Describe,
    List,
    One(FlowOperation),
}

impl Arguments {
    fn wanted(&self) -> Result<Wanted, CliError> {
        let Some(operation) = self.operation else { return Ok(Wanted::Describe) };
        Ok(match (operation, &self.key, &self.file) {
            (Operation::List, None, None) => Wanted::List,
            (Operation::Get, Some(key), None) => Wanted::One(FlowOperation::Get { key: key.clone() }),
            (Operation::Delete, Some(key), None) => Wanted::One(FlowOperation::Delete { key: key.clone() }),
            (Operation::Set, Some(key), Some(path)) => {
                let unreadable = |source| CliError::Unreadable { path: path.clone(), source };
                let source = std::fs::read_to_string(path).map_err(unreadable)?;
                let name = Some(path.to_string_lossy().into_owned());
                Wanted::One(FlowOperation::Set { key: key.clone(), source, name })
            }
            _ => return Err(CliError::Operands { operation: format!("{operation:?}").to_lowercase() }),
        })
    }
}

fn describe(arguments: &Arguments, tables: &[FlowTableInfo], out: &mut dyn Write) -> Result<Exit, CliError> {
    if arguments.json {
        let text = serde_json::to_string_pretty(tables).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(Exit::Success);
    }
    for table in tables {
        let key = match table.key.as_slice() {
            [] => "the values of a function".to_string(),
            fields => fields.join(", "),
        };
        let idle = table.idle.map(|seconds| format!(", {seconds} s without packets at most"));
        writeln!(
            out,
            "{}: by {key}; {} of {} flows, with {} functions{}",
            table.name,
            table.flows,
            table.capacity,
            table.functions,
            idle.unwrap_or_default()
        )?;
    }
    Ok(Exit::Success)
}

fn list(arguments: &Arguments, script: &mut Script, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (mut flows, mut from) = (Vec::new(), Some(0));
    while let Some(place) = from {
        let operation = FlowOperation::List { from: place };
        let page: FlowPage = script.ask(&Request::Flow { table: arguments.table.clone(), operation })?;
        flows.extend(page.flows);
        from = page.next;
    }
    flows.sort_by(|one: &FlowInfo, other| match arguments.by {
        By::Key => one.key.cmp(&other.key),
        By::Packets => other.packets.cmp(&one.packets).then_with(|| one.key.cmp(&other.key)),
        By::Idle => other.idle.total_cmp(&one.idle).then_with(|| one.key.cmp(&other.key)),
    });
    if arguments.json {
        let text = serde_json::to_string_pretty(&flows).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(Exit::Success);
    }
    for flow in &flows {
        out.write_all(&printable(line(flow).as_bytes()))?;
        writeln!(out)?;
    }
    Ok(Exit::Success)
}

fn line(flow: &FlowInfo) -> String {
    let first = flow.source.as_deref().map_or("(function of the script)", |source| {
        source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
    });
    format!("{}\t{} packets\t{} errors\t{} s\t{first}", flow.key, flow.packets, flow.errors, flow.idle)
}

fn show(arguments: &Arguments, found: Option<&FlowInfo>, out: &mut dyn Write) -> Result<(), CliError> {
    if arguments.json {
        let text = serde_json::to_string_pretty(&found).map_err(std::io::Error::from)?;
        return Ok(writeln!(out, "{text}")?);
    }
    let Some(flow) = found else { return Ok(()) };
    writeln!(
        out,
        "{}: {} packets, {} errors, idle for {} s, {}",
        flow.key, flow.packets, flow.errors, flow.idle, flow.form
    )?;
    if let Some(source) = &flow.source {
        out.write_all(&printable(source.trim_end().as_bytes()))?;
        writeln!(out)?;
    }
    Ok(())
}
