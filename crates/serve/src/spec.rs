//! What is said of a script besides its text: where it is attached, how it is compiled. A file `NAME.toml`, or a call, says it.

use crate::config::Config;
use crate::{ServeError, recorder::Recorder};
use moonhook_daemon::Name;
use moonhook_eclat::tree;
use moonhook_engine::{Form, Settings};
use moonhook_hook::{HOOKS, OnError};
use moonhook_install::RequestedMode;
use moonhook_load::At;
use moonhook_session::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What is said of a script; all may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Where the hooks of interfaces are; of a script of eCLAT without, those of its `attach` lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    pub peer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<FormName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    pub frags: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_read: Vec<PathBuf>,
    /// Where modules of scripts are that are written for Lunatik.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<AtName>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub define: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Auto,
    Native,
    Generic,
}

/// Where handlers of netfilter run that are written for Lunatik.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtName {
    Auto,
    Link,
    Queue,
    Tcx,
}

impl AtName {
    fn at(self) -> Option<At> {
        match self {
            AtName::Auto => None,
            AtName::Link => Some(At::Link),
            AtName::Queue => Some(At::Queue),
            AtName::Tcx => Some(At::Tcx),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormName {
    Expanded,
    General,
}

/// Packet memory is reached by 32-bit offsets, all CPUs together.
const MAX_MEMORY: u32 = 16 << 20;

impl Spec {
    /// Reads a file; one that is not there says nothing.
    ///
    /// # Errors
    /// `Settings`.
    pub fn read(path: &Path) -> Result<Spec, ServeError> {
        let wrong = |problem: String| ServeError::Settings { path: path.to_path_buf(), problem };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Spec::default()),
            text => text.map_err(|error| wrong(format!("cannot be read: {error}")))?,
        };
        let spec: Spec =
            toml::from_str(&text).map_err(|error| wrong(error.to_string().trim().to_string()))?;
        spec.check().map_err(wrong)?;
        Ok(spec)
    }

    /// What of it makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if let Some(hook) = self.hook.as_ref().filter(|name| !HOOKS.iter().any(|hook| hook.name == **name)) {
            return Err(format!("there is no hook '{hook}'"));
        }
        let names = || HOOKS.iter().flat_map(|hook| hook.verdicts).flat_map(|verdict| verdict.names);
        let is_verdict = |name: &String| names().any(|known| known.eq_ignore_ascii_case(name));
        match (&self.on_error, self.budget, self.memory) {
            (Some(name), ..) if !is_verdict(name) => Err(format!("there is no verdict '{name}'")),
            (_, Some(0), _) => Err("`budget` is 0".to_string()),
            (.., Some(memory)) if memory == 0 || memory > MAX_MEMORY => {
                Err(format!("`memory` is {memory}, and can be 1 to {MAX_MEMORY}"))
            }
            _ if self.interfaces.iter().any(String::is_empty) => {
                Err("an interface has an empty name".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Adds what a script of eCLAT says itself, as defined, unless that was said already. One that is malformed says nothing: loading it
    /// tells why. To be called where the text may nest deeply.
    ///
    /// # Errors
    /// `Call`: different modes, or one that there is not.
    pub fn complete(&mut self, title: &str, text: String) -> Result<(), ServeError> {
        if !title.ends_with(".eclat") || !self.interfaces.is_empty() {
            return Ok(());
        }
        let defines: Vec<(String, String)> = self.define.clone().into_iter().collect();
        // What is wrong with a script, loading it tells.
        let Ok(text) = moonhook_eclat::defined(text, &defines, title) else { return Ok(()) };
        let Ok(script) = moonhook_eclat::read(&text, title) else { return Ok(()) };
        let (mut interfaces, mut found) = (Vec::new(), None);
        for attachment in &script.attachments {
            let line = attachment.at.line;
            let refused = |problem| ServeError::Call { problem: format!("{title}:{line}: {problem}") };
            let mode = match attachment.mode {
                tree::Mode::Any => Mode::Auto,
                tree::Mode::Generic => Mode::Generic,
                tree::Mode::Driver => Mode::Native,
                tree::Mode::Offload => {
                    return Err(refused("no program is put onto a network card (xdpoffload)"));
                }
            };
            if found.is_some_and(|known| known != mode) {
                return Err(refused("a script has one mode for all its interfaces"));
            }
            found = Some(mode);
            if !interfaces.contains(&attachment.device) {
                interfaces.push(attachment.device.clone());
            }
        }
        self.interfaces = interfaces;
        self.mode = self.mode.or(found);
        Ok(())
    }

    /// Whether a script of which this is said can become one of which that is said without ending: no interface keeps its program in another
    /// mode, which the kernel has no exchange for, and where packets are to be found stays. The present mode is that of its programs.
    pub fn can_become(&self, other: &Spec, present: &str) -> bool {
        let requested = |spec: &Spec| spec.mode.unwrap_or(Mode::Auto);
        let is_present = match requested(other) {
            Mode::Auto => false,
            Mode::Native => present == "native",
            Mode::Generic => present == "generic",
        };
        let keeps_mode = requested(self) == requested(other) || is_present;
        let stays = self.interfaces.iter().any(|name| other.interfaces.contains(name));
        let has_peers = self.peer || other.peer;
        self.netns == other.netns
            && (keeps_mode || !stays)
            && (!has_peers || (self.peer == other.peer && self.interfaces == other.interfaces))
    }

    /// What a session is to do with these scripts.
    pub fn options(
        &self,
        config: &Config,
        (name, scripts): (&Name, &[PathBuf]),
        recorder: &Arc<Recorder>,
    ) -> Options {
        let mut load = config.settings.load.clone();
        load.packages = Arc::clone(recorder) as Arc<_>;
        load.defines = self.define.clone().into_iter().collect();
        load.allow_read.extend(self.allow_read.iter().cloned());
        load.root = self.root.clone().or(load.root);
        load.at = self.at.and_then(AtName::at);
        load.hook = self.hook.as_ref().and_then(|name| HOOKS.iter().copied().find(|hook| hook.name == name));
        // Nobody reads the service's standard output.
        load.prints_to_stderr = true;
        let on_error = self.on_error.as_ref().map(|name| match name.to_lowercase().as_str() {
            "pass" => OnError::PASS,
            name => OnError::from(name.to_string()),
        });
        let form = self.form.map(|form| match form {
            FormName::Expanded => Form::Expanded,
            FormName::General => Form::General,
        });
        let settings = Settings {
            count_verdicts: true,
            frags: self.frags || config.settings.frags,
            on_error: on_error.unwrap_or_else(|| config.settings.on_error.clone()),
            budget: self.budget.unwrap_or(config.settings.budget),
            memory: self.memory.unwrap_or(config.settings.memory),
            form: form.or(config.settings.form),
            load,
            ..config.settings.clone()
        };
        Options {
            interfaces: once_each(&self.interfaces),
            scripts: scripts.to_vec(),
            mode: match self.mode {
                None | Some(Mode::Auto) => RequestedMode::Auto,
                Some(Mode::Native) => RequestedMode::Native,
                Some(Mode::Generic) => RequestedMode::Generic,
            },
            peer: self.peer,
            netns: self.netns.clone(),
            settings,
            name: Some(name.clone()),
            folder: config.folder.clone(),
            folder_is_chosen: config.folder_is_chosen,
            watch: false,
            pin: config.pin && !self.peer,
            bpffs: config.bpffs.clone(),
            pins: None,
            duration: None,
            queues: 1,
            interval: INTERVAL,
            busy: None,
        }
    }
}

/// Between tellings of the counters, which nobody is told here.
const INTERVAL: Duration = Duration::from_secs(3600);

/// The names in their order, none of them twice.
fn once_each(names: &[String]) -> Vec<String> {
    let mut known = Vec::new();
    for name in names {
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Spec, ServeError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(&path, text).unwrap();
        Spec::read(&path)
    }

    #[test]
    fn a_file_says_where_and_how() {
        let spec = read("interfaces = [\"eth0\", \"eth1\"]\nmode = \"generic\"\n[define]\nDEV = \"eth0\"\n")
            .unwrap();
        assert_eq!((spec.interfaces.len(), spec.mode), (2, Some(Mode::Generic)));
        let written = toml::to_string(&spec).unwrap();
        assert_eq!(read(&written).unwrap(), spec);
        assert_eq!(Spec::read(Path::new("/nowhere/x.toml")).unwrap(), Spec::default());
        for (text, part) in [
            ("interface = \"eth0\"", "unknown field"),
            ("interfaces = \"eth0\"", "invalid type"),
            ("interfaces = [\"\"]", "empty name"),
            ("mode = \"fast\"", "unknown variant"),
            ("hook = \"xdq\"", "no hook 'xdq'"),
            ("on_error = \"maybe\"", "no verdict 'maybe'"),
            ("budget = 0", "`budget` is 0"),
            ("memory = 99999999", "`memory`"),
            ("interfaces = [", "TOML parse error"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code(), "MH1004");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn what_the_kernel_cannot_exchange_ends_first() {
        let at = |names: &[&str], mode: Option<Mode>| Spec {
            interfaces: names.iter().map(|name| name.to_string()).collect(),
            mode,
            ..Spec::default()
        };
        let (auto, native, generic) = (None, Some(Mode::Native), Some(Mode::Generic));
        for (from, to, can) in [
            (at(&["a"], auto), at(&["a", "b"], auto), true),
            (at(&["a"], auto), at(&["a"], Some(Mode::Auto)), true),
            (at(&["a"], auto), at(&["a"], native), true),
            (at(&["a"], auto), at(&["a"], generic), false),
            (at(&["a"], native), at(&["a"], auto), false),
            (at(&["a"], auto), at(&["b"], generic), true),
            (at(&["a"], auto), Spec { netns: Some("n".into()), ..at(&["a"], auto) }, false),
            (at(&["a"], auto), Spec { peer: true, ..at(&["a"], auto) }, false),
            (at(&["a"], auto), Spec { form: Some(FormName::General), ..at(&["a"], auto) }, true),
        ] {
            assert_eq!(from.can_become(&to, "native"), can, "{from:?} {to:?}");
        }
    }

    #[test]
    fn scripts_of_eclat_say_where_they_are_attached() {
        let script =
            |attach: &str| format!("from loaders.basic import ip6_sc\n{attach}\ndef main():\n    return 0\n");
        let complete = |attach: &str, mut spec: Spec| spec.complete("x.eclat", script(attach)).map(|()| spec);
        let both = "ip6_sc.attach('a', 'xdpgeneric')\nip6_sc.attach('b', 'xdpgeneric')";
        let spec = complete(both, Spec::default()).unwrap();
        assert_eq!(
            (spec.interfaces, spec.mode),
            (vec!["a".to_string(), "b".to_string()], Some(Mode::Generic))
        );
        let said = Spec { interfaces: vec!["c".into()], ..Spec::default() };
        assert_eq!(complete(both, said.clone()).unwrap(), said);
        let mixed = "ip6_sc.attach('a', 'xdp')\nip6_sc.attach('b', 'xdpdrv')";
        assert_eq!(complete(mixed, Spec::default()).unwrap_err().code(), "MH1006");
        assert!(complete("ip6_sc.attach('a', 'xdpoffload')", Spec::default()).is_err());
    }
}
