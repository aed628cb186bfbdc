//! Who takes part, each attached to interfaces of its own from beginning to end.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::Link;

use super::network::{self, Port, WAYS};
use super::object::Loaded;
use super::uses::{Data, Ends, Use};
use crate::contest::Builder;
use crate::error::Error;
use crate::process;
use crate::running::Running;
use crate::works::Role;

/// How often a program is attached: where its machine code lies changes its cost, so that instances take turns.
const INSTANCES: usize = 9;

/// Who does the same in the kernel, without eBPF. The text is the title.
#[derive(Clone, Copy)]
pub enum Peer {
    Kernel(&'static str),
    /// Rules of nft at the netdev ingress hook.
    Nft(&'static str),
}

pub struct Contestant {
    pub title: &'static str,
    pub role: Role,
    pub instances: Vec<Instance>,
}

impl Contestant {
    fn new(title: &'static str, role: Role) -> Self {
        Contestant { title, role, instances: Vec::new() }
    }
}

/// The program goes before its interface.
pub struct Instance {
    _attached: Attached,
    pub port: Port,
}

#[expect(dead_code, reason = "held until dropped")]
enum Attached {
    Nothing,
    Program(Link, Loaded),
    Script(Running),
    Rules(Rules),
}

/// Puts contestants on interfaces.
pub struct Stage<'a> {
    pub builder: &'a Builder<'a>,
    pub moonhook: &'a Path,
    pub data: &'a Data,
    /// Interfaces so far.
    pub ports: usize,
}

impl Stage<'_> {
    pub fn all(&mut self, job: &Use) -> Result<Vec<Contestant>, Error> {
        let title = match job.peer {
            Peer::Kernel(title) | Peer::Nft(title) => title,
        };
        let mut all = [
            Contestant::new("least program", Role::Floor),
            Contestant::new("Moonhook", Role::Moonhook),
            Contestant::new("C", Role::Reference),
        ];
        // By turns: what a program finds when it is loaded is alike for all.
        for _ in 0..INSTANCES {
            for contestant in &mut all {
                let instance = self.instance(|stage, port| match contestant.role {
                    Role::Moonhook => stage.script(job, port),
                    Role::Reference => stage.program(job, port),
                    _ => stage.floor(job, port),
                })?;
                contestant.instances.push(instance);
            }
        }
        let mut peer = Contestant::new(title, Role::Other);
        peer.instances.push(self.instance(|stage, port| stage.peer(job, port))?);
        Ok(all.into_iter().chain([peer]).collect())
    }

    fn instance(
        &mut self,
        attach: impl Fn(&Self, &Port) -> Result<Attached, Error>,
    ) -> Result<Instance, Error> {
        self.ports += 1;
        let port = Port::new(self.ports)?;
        Ok(Instance { _attached: attach(self, &port)?, port })
    }

    fn floor(&self, job: &Use, port: &Port) -> Result<Attached, Error> {
        let mut object = Loaded::load(&self.builder.compile_c("floor")?)?;
        object.set("to", network::index(WAYS[0].0)?)?;
        let name = if job.ends == Ends::Dropped { "drop" } else { "redirect" };
        let link = object.attach(name, network::index(&port.inside)?)?;
        Ok(Attached::Program(link, object))
    }

    fn program(&self, job: &Use, port: &Port) -> Result<Attached, Error> {
        let mut object = Loaded::load(&self.builder.compile_c(job.source)?)?;
        match job.source {
            "ddos" => fill_ddos(&object, self.data)?,
            "load_balancer" => fill_load_balancer(&object)?,
            _ => {}
        }
        let link = object.attach(job.source, network::index(&port.inside)?)?;
        Ok(Attached::Program(link, object))
    }

    fn script(&self, job: &Use, port: &Port) -> Result<Attached, Error> {
        let folder = self.builder.folder();
        let name = &port.inside;
        let mut command = Command::new(self.moonhook);
        command.args(["run", "--mode", "native", "--name", name, "--socket-dir"]).arg(folder);
        command.arg(name).arg(self.builder.example(job.script));
        let mut running = Running::start(&mut command, folder.join(format!("{name}.log")))?;
        running.wait_until(|| folder.join(format!("{name}.sock")).exists() && has_program(name))?;
        if job.script == "ddos" {
            let list = folder.join("blocked.csv");
            std::fs::write(&list, prefixes(self.data, "key,hits\n", ",0\n"))
                .map_err(Error::system("write the list of prefixes"))?;
            let mut load = Command::new(self.moonhook);
            load.args(["table", "--socket-dir"]).arg(folder).args([name, "blocked", "load"]).arg(list);
            process::run(&mut load)?;
        }
        Ok(Attached::Script(running))
    }

    fn peer(&self, job: &Use, port: &Port) -> Result<Attached, Error> {
        match job.peer {
            Peer::Kernel(_) => Ok(Attached::Nothing),
            Peer::Nft(_) => {
                let rules = match job.script {
                    "ddos" => ddos_rules(self.data),
                    "layouts" => LENGTH_RULES.into(),
                    _ => balancer_rules(),
                };
                Ok(Attached::Rules(Rules::new(&port.inside, &rules, self.builder.folder())?))
            }
        }
    }
}

fn has_program(interface: &str) -> bool {
    process::words(&["ip", "link", "show", "dev", interface]).is_ok_and(|link| link.contains("prog/xdp"))
}

/// A line for each prefix that is blocked.
fn prefixes(data: &Data, before: &str, after: &str) -> String {
    let mut text = String::from(before);
    for network in &data.blocked {
        // Writing to a String does not fail.
        let _ = write!(text, "{}/24{after}", Ipv4Addr::from(*network));
    }
    text
}

/// Of examples/ddos.lua.
const REFLECTORS: [u16; 10] = [17, 19, 111, 123, 137, 161, 389, 1900, 5353, 11211];

fn fill_ddos(object: &Loaded, data: &Data) -> Result<(), Error> {
    let blocked = object.map("blocked")?;
    for network in &data.blocked {
        let key = [24u32.to_ne_bytes(), network.to_be_bytes()].concat();
        object.put(&blocked, &key, &0u64.to_ne_bytes())?;
    }
    let reflectors = object.map("reflectors")?;
    REFLECTORS
        .iter()
        .try_for_each(|port| object.put(&reflectors, &u32::from(port.to_be()).to_ne_bytes(), &[1]))
}

/// A server of examples/load_balancer.lua: the last byte of its MAC address, which way it is, its weight.
const SERVERS: [(u8, usize, usize); 3] = [(0x11, 0, 1), (0x12, 1, 1), (0x13, 1, 2)];
/// `SLOTS` of bench/c/load_balancer.c.
const SLOTS: usize = 4099;

/// How a slot has come to its server changes nothing for packets: each server has its share of slots, one after another.
fn fill_load_balancer(object: &Loaded) -> Result<(), Error> {
    let servers = object.map("servers")?;
    for (number, (last, way, _)) in (0u32..).zip(SERVERS) {
        let mut value = vec![2, 0, 0, 0, 0, last, 1, 0];
        value.extend(network::index(WAYS[way].0)?.to_ne_bytes());
        object.put(&servers, &number.to_ne_bytes(), &value)?;
    }
    let turns: Vec<u32> =
        (0u32..).zip(SERVERS).flat_map(|(number, (_, _, weight))| vec![number; weight]).collect();
    let slots = object.map("slots")?;
    (0..SLOTS).try_for_each(|slot| {
        object.put(&slots, &(slot as u32).to_ne_bytes(), &turns[slot % turns.len()].to_ne_bytes())
    })
}

fn ddos_rules(data: &Data) -> String {
    let ports = REFLECTORS.map(|port| port.to_string()).join(", ");
    format!(
        "set blocked {{ type ipv4_addr; flags interval; elements = {{ {} }}; }}
         set reflectors {{ type inet_service; elements = {{ {ports} }}; }}
         set sources {{ type ipv4_addr; size 1000000; flags dynamic; }}
         chain ingress {{
           type filter hook ingress device HERE priority 0;
           ip saddr @blocked counter drop
           udp sport @reflectors counter drop
           update @sources {{ ip saddr limit rate over 1000/second burst 2000 packets }} counter drop
         }}",
        prefixes(data, "", ", "),
    )
}

/// The sixteen bits at bit 32 of a UDP header are its length.
const LENGTH_RULES: &str = "chain ingress {
  type filter hook ingress device HERE priority 0;
  udp dport 5060 @th,32,16 > 128 counter drop
}";

fn balancer_rules() -> String {
    let mut text = String::new();
    let mut turns = Vec::new();
    for (number, (last, way, weight)) in SERVERS.into_iter().enumerate() {
        let _ = writeln!(
            text,
            "chain server{number} {{ ether saddr set 02:00:00:00:00:01 ether daddr set 02:00:00:00:00:{last:02x} \
             fwd to \"{}\"; }}",
            WAYS[way].0,
        );
        turns.extend(vec![number; weight]);
    }
    let goto = turns.iter().enumerate().map(|(turn, number)| format!("{turn} : goto server{number}"));
    let goto = goto.collect::<Vec<_>>().join(", ");
    text + &format!(
        "chain ingress {{
           type filter hook ingress device HERE priority 0;
           ip daddr 198.51.100.1 tcp dport 80 jhash ip saddr . tcp sport mod {} vmap {{ {goto} }}
         }}",
        turns.len(),
    )
}

/// A table of nft's, which goes when this is dropped.
struct Rules(String);

impl Rules {
    /// `HERE` in `text` is the interface.
    fn new(interface: &str, text: &str, folder: &Path) -> Result<Self, Error> {
        let text = format!("table netdev {interface} {{\n{}\n}}\n", text.replace("HERE", interface));
        let file: PathBuf = folder.join("rules.nft");
        std::fs::write(&file, text).map_err(Error::system("write rules"))?;
        process::run(Command::new("nft").arg("-f").arg(&file))?;
        Ok(Rules(interface.into()))
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let _ = process::words(&["nft", "delete", "table", "netdev", &self.0]);
    }
}
