//! What a trial changes: applied, reverted, and checked against what was found.

use model::trial::TrialChange;
use rig::{Entry, Register, Removed, Setting};

use super::args::TrialArgs;
use crate::ui::failure::Failure;

/// The changes, with the state as found. What is changed now is in the register; dropping this reverts it.
pub(super) struct Changes {
    settings: Vec<(Setting, String)>,
    commands: Option<(String, String)>,
    register: Register,
    entries: Vec<Entry>,
}

impl Changes {
    /// Reads the settings as they are. Changes nothing.
    pub(super) fn find(args: &TrialArgs, register: &Register) -> Result<Changes, Failure> {
        let mut settings = Vec::new();
        for (name, value) in &args.set {
            let setting = Setting::named(name, value).map_err(Failure::usage)?;
            setting.refuse_unfit().map_err(Failure::usage)?;
            let found = setting.present().map_err(Failure::usage)?;
            let is_same =
                |(other, _): &(Setting, String)| other.file() == setting.file() && other.device() == setting.device();
            if settings.iter().any(is_same) {
                return Err(Failure::usage(format_args!("--set {name}: it is set twice")));
            }
            settings.push((setting, found));
        }
        let commands = args.apply.clone().zip(args.revert.clone());
        if settings.is_empty() && commands.is_none() {
            return Err(Failure::usage(
                "nothing to try: give --set FILE=VALUE, --apply CMD with --revert CMD, or --from RUN; `stallscope \
                 trial --help`",
            ));
        }
        Ok(Changes { settings, commands, register: register.clone(), entries: Vec::new() })
    }

    /// The changes for the journal.
    pub(super) fn described(&self) -> Vec<TrialChange> {
        let of_setting = |(setting, found): &(Setting, String)| {
            let file = setting.file().display();
            let device = setting.device().map(|device| format!(" {device}")).unwrap_or_default();
            let (what, found) = (format!("{file}{device}"), Some(found.clone()));
            TrialChange { what, found, tried: setting.value().to_owned() }
        };
        let of_commands = |(apply, revert): &(String, String)| TrialChange {
            what: apply.clone(),
            found: None,
            tried: revert.clone(),
        };
        self.settings.iter().map(of_setting).chain(self.commands.iter().map(of_commands)).collect()
    }

    /// Kernel name of the device of the first setting of a device's queue.
    pub(super) fn device(&self) -> Option<String> {
        let of_queue = |(setting, _): &(Setting, String)| {
            let mut parts = setting.file().strip_prefix("/sys/block").ok()?.components();
            Some(parts.next()?.as_os_str().to_string_lossy().into_owned())
        };
        let of_line = |(setting, _): &(Setting, String)| {
            let link = std::fs::canonicalize(format!("/sys/dev/block/{}", setting.device()?)).ok()?;
            Some(link.file_name()?.to_string_lossy().into_owned())
        };
        self.settings.iter().find_map(|setting| of_queue(setting).or_else(|| of_line(setting)))
    }

    /// Whether the state is as found although nothing needs to change: a trial of nothing (A/A).
    pub(super) fn change_nothing(&self) -> bool {
        self.commands.is_none() && self.settings.iter().all(|(setting, _)| setting.is_set())
    }

    /// Applies and reverts once: what cannot be written, or reads back differently, is an error before the trial.
    pub(super) fn probe(&mut self) -> Result<(), Failure> {
        self.apply()?;
        let undone = self.settings.iter().find(|(setting, _)| !setting.is_set());
        let undone = undone.map(|(setting, _)| setting.file().display().to_string());
        let reverted = self.revert();
        match undone {
            Some(file) => Err(Failure::usage(format_args!(
                "another --set changes {file}, too; give the --set of {file} after it"
            ))),
            None => reverted,
        }
    }

    /// Changes everything. An error leaves nothing changed.
    pub(super) fn apply(&mut self) -> Result<(), Failure> {
        match self.apply_each() {
            Ok(()) => Ok(()),
            Err(failure) => {
                self.undo();
                Err(failure)
            }
        }
    }

    fn apply_each(&mut self) -> Result<(), Failure> {
        for (setting, _) in &self.settings {
            self.entries.extend(setting.change(&self.register).map_err(Failure::machine)?);
        }
        if let Some((apply, revert)) = &self.commands {
            self.entries.push(self.register.change_by(apply, revert).map_err(Failure::machine)?);
        }
        Ok(())
    }

    /// Restores everything as it was found. A setting that another program has changed is left to it, and is an error.
    pub(super) fn revert(&mut self) -> Result<(), Failure> {
        let foreign = self.settings.iter().find(|(setting, _)| !self.entries.is_empty() && !setting.is_set());
        let foreign = foreign.map(|(setting, _)| setting.file().to_owned());
        let left = self.undo();
        if let Some(left) = left.first() {
            return Err(Failure::machine(left));
        }
        let is_other = |(setting, found): &&(Setting, String)| setting.present().ok().as_ref() != Some(found);
        let other = self.settings.iter().find(is_other).map(|(setting, _)| setting.file().to_owned());
        match foreign.or(other) {
            Some(file) => {
                Err(Failure::machine(format_args!("another program changed {} during the trial", file.display())))
            }
            None => Ok(()),
        }
    }

    /// Restores what is changed now. Returns what is left.
    pub(super) fn undo(&mut self) -> Vec<Removed> {
        let removed = self.register.undo_all(std::mem::take(&mut self.entries));
        removed.into_iter().filter(|removed| !removed.complete).collect()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.undo();
    }
}
