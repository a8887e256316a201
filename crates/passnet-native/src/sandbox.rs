//! Confinement of a worker by the kernel: limits on the files, processes, network and system calls that it can use.
//!
//! Confinement has three steps, because the confined process is a forked copy of a server that has imported torch:
//!
//! 1. [`Namespaces::prepare`], once in the server, before it has threads. It gains the right to make namespaces if the user is
//!    not root, and makes an empty network that all workers share, because making a network takes longer than all other steps.
//! 2. [`Namespaces::unshare_for_next_child`], around a fork. The child is process 1 of a separate process namespace. When it ends,
//!    the kernel kills all processes in the namespace, double-forked daemons and new sessions included. Processes outside have no
//!    number inside.
//! 3. [`enter`] and [`seal`], in the child: a read-only view of the file system with a private scratch, then no capabilities,
//!    an allow-list of files (Landlock) and one of system calls (seccomp).
//!
//! No layer is required. Layers that a machine refuses are reported, so that a run can record the level that it reached.

mod files;
mod grant;
mod mounts;
mod namespaces;
mod privileges;
mod sys;
mod syscalls;

use std::{collections::BTreeMap, io};

pub use self::{grant::Grant, namespaces::Namespaces};

/// One mechanism of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// A separate process table. All its processes die with its first process.
    Processes,
    /// A network without interfaces, and a separate host name and System V objects.
    Network,
    /// A read-only file system, except for a scratch directory in memory with a limited size.
    Mounts,
    /// A `/proc` that shows only the processes of the namespace.
    Proc,
    /// A limit on the number of processes and threads.
    ProcessLimit,
    /// No capabilities, now or after `execve`.
    Privileges,
    /// An allow-list of files and devices. Signals and sockets to the outside are forbidden.
    Landlock,
    /// An allow-list of system calls.
    Seccomp,
}

impl Layer {
    /// All layers, in the order in which they are applied.
    pub const ALL: [Self; 8] = [
        Self::Processes,
        Self::Network,
        Self::Mounts,
        Self::Proc,
        Self::ProcessLimit,
        Self::Privileges,
        Self::Landlock,
        Self::Seccomp,
    ];

    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processes => "process_namespace",
            Self::Network => "network_namespace",
            Self::Mounts => "read_only_mounts",
            Self::Proc => "private_proc",
            Self::ProcessLimit => "process_limit",
            Self::Privileges => "no_capabilities",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

/// Confinement that was reached: for the name of each layer `enforced`, or the reason why not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached(pub BTreeMap<&'static str, String>);

impl Reached {
    /// Applies a layer unless it is to be left out. Returns whether the layer is enforced.
    fn attempt(&mut self, grant: &Grant, layer: Layer, put_on: impl FnOnce() -> io::Result<()>) -> bool {
        let outcome =
            if grant.skip.iter().any(|name| name == layer.name()) { Err(None) } else { put_on().map_err(Some) };
        let is_on = outcome.is_ok();
        let word = match outcome {
            Ok(()) => "enforced".to_owned(),
            Err(None) => "left out".to_owned(),
            Err(Some(error)) => format!("unavailable: {error}"),
        };
        self.0.insert(layer.name(), word);
        is_on
    }

    fn is_on(&self, layer: Layer) -> bool {
        self.0.get(layer.name()).is_some_and(|word| word == "enforced")
    }
}

/// Moves this process into its namespaces and its view of the file system. Afterwards, directories can still be made and descriptors can
/// still be opened.
pub fn enter(grant: &Grant, namespaces: Option<&Namespaces>) -> Reached {
    let mut reached = Reached::default();
    reached.attempt(grant, Layer::Processes, || {
        if grant.new_pid_namespace { Ok(()) } else { Err(refused("it was not asked for")) }
    });
    reached.attempt(grant, Layer::Network, || match namespaces {
        Some(namespaces) => namespaces.enter_network(),
        None => Err(refused("nothing was prepared")),
    });
    let is_own = reached.attempt(grant, Layer::Mounts, || mounts::make_private(grant));
    // A fresh `/proc` shows the processes of the namespace that mounts it.
    reached.attempt(grant, Layer::Proc, || match is_own && grant.new_pid_namespace {
        true => mounts::mount_proc(),
        false => Err(refused("needs a process namespace and mounts of its own")),
    });
    let has_proc = reached.is_on(Layer::Proc);
    reached.attempt(grant, Layer::ProcessLimit, || match has_proc {
        true => mounts::limit_processes(grant.processes),
        false => Err(refused("needs a private /proc")),
    });
    if is_own && let Err(error) = mounts::make_read_only(grant) {
        reached.0.insert(Layer::Mounts.name(), format!("unavailable: {error}"));
    }
    reached
}

/// Gives up all rights that are not granted, permanently. `reached` is the result of [`enter`].
pub fn seal(grant: &Grant, mut reached: Reached) -> Reached {
    reached.attempt(grant, Layer::Privileges, privileges::drop_all);
    let (own_proc, own_mounts) = (reached.is_on(Layer::Proc), reached.is_on(Layer::Mounts));
    reached.attempt(grant, Layer::Landlock, || files::restrict(grant, own_proc, own_mounts));
    reached.attempt(grant, Layer::Seccomp, syscalls::restrict);
    reached
}

fn refused(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_on_off_or_impossible() {
        let grant = Grant { skip: vec!["landlock".to_owned()], ..Grant::default() };
        let mut reached = Reached::default();
        assert!(reached.attempt(&grant, Layer::Seccomp, || Ok(())));
        assert!(!reached.attempt(&grant, Layer::Landlock, || panic!("it was to be left out")));
        assert!(!reached.attempt(&grant, Layer::Mounts, || Err(refused("no such luck"))));
        let words: Vec<_> = reached.0.iter().map(|(name, word)| (*name, word.as_str())).collect();
        assert_eq!(
            words,
            [("landlock", "left out"), ("read_only_mounts", "unavailable: no such luck"), ("seccomp", "enforced")]
        );
        assert!(reached.is_on(Layer::Seccomp) && !reached.is_on(Layer::Landlock) && !reached.is_on(Layer::Proc));
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = Layer::ALL.iter().map(|layer| layer.name()).collect();
        assert_eq!(names.len(), Layer::ALL.len());
    }
}
