//! The allow-list of files and devices (Landlock).

use std::{
    io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use super::grant::Grant;

/// Landlock version that the rules are written for. An older kernel enforces the part that it knows.
const WRITTEN_FOR: ABI = ABI::V7;
/// Files with facts about the machine that programs may read in a `/proc` that shows all processes.
const MACHINE: [&str; 12] = [
    "cpuinfo",
    "meminfo",
    "stat",
    "filesystems",
    "devices",
    "version",
    "loadavg",
    "modules",
    "mounts",
    "uptime",
    "sys",
    "driver",
];

/// Denies this thread and its children access to all files that are not granted. `own_proc` is true if `/proc` shows only processes of
/// this namespace. `own_mounts` is true if all writable mounts belong to this process.
pub(super) fn restrict(grant: &Grant, own_proc: bool, own_mounts: bool) -> io::Result<()> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // CUDA writes the names of its threads to files that it opens with truncation, and does not start without this right.
    let rewrite = read | AccessFs::WriteFile | AccessFs::Truncate;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let all = AccessFs::from_all(WRITTEN_FOR);
    // Programs are started only from the list, and no pass needs sockets or devices in its scratch.
    let write = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock);
    let write = write & !BitFlags::from(AccessFs::IoctlDev);

    let proc: Vec<PathBuf> = match own_proc {
        true => vec!["/proc".into()],
        false => MACHINE.iter().map(|name| Path::new("/proc").join(name)).collect(),
    };
    let this_process = std::fs::canonicalize("/proc/self")?;
    let shared_memory = own_mounts.then_some(Path::new("/dev/shm"));
    let shared = grant.shared.iter().map(PathBuf::as_path);
    let writable = [grant.scratch.as_path()].into_iter().chain(shared_memory).chain(shared);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.handle_access(AccessNet::from_all(WRITTEN_FOR)))
        .and_then(|rules| rules.scope(Scope::from_all(WRITTEN_FOR)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(&grant.readable, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&proc, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules([&this_process], rewrite)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&grant.executable, read | AccessFs::Execute)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&grant.devices, device)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(writable, write)))
        .map_err(io::Error::other)?;
    let status = rules.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced => Err(io::Error::other("an older version of it: enforced in part")),
        RulesetStatus::NotEnforced => Err(io::Error::other("the kernel has no Landlock")),
    }
}
