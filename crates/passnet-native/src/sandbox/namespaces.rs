//! Namespaces of the kernel. Those that are slow to make are made once, and each worker enters them.

use std::{
    fs::{self, File},
    io,
    os::fd::AsFd as _,
};

use super::sys;

/// Namespaces that the fork server prepares for its workers.
#[derive(Debug)]
pub struct Namespaces {
    /// Shared namespaces, each with the flag of its kind. Empty if they could not be made.
    shared: Vec<(File, libc::c_int)>,
    /// Reason why `shared` is empty.
    refusal: Option<String>,
    /// The process namespace of the server.
    processes: Option<File>,
}

impl Namespaces {
    /// Makes the shared namespaces. A user other than root needs a user namespace first, which a process with several threads cannot
    /// enter, so this must be called early.
    pub fn prepare() -> Self {
        let gained = match sys::is_admin() {
            Ok(true) => Ok(()),
            _ => gain_administration(),
        };
        let made = gained.and_then(|()| make_shared());
        let processes = File::open("/proc/self/ns/pid").ok().filter(can_come_back);
        match made {
            Ok(shared) => Self { shared, refusal: None, processes },
            Err(error) => Self { shared: Vec::new(), refusal: Some(error.to_string()), processes },
        }
    }

    /// Makes the next child process 1 of a new PID namespace. Undo this with [`Self::restore_for_children`]: a namespace accepts no
    /// further processes once its first process has ended.
    ///
    /// # Errors
    /// If the kernel or the user's rights do not allow it.
    pub fn unshare_for_next_child(&self) -> io::Result<()> {
        if self.processes.is_none() {
            return Err(io::Error::other("the way back is not known"));
        }
        sys::unshare(libc::CLONE_NEWPID)
    }

    /// Makes later children share the PID namespace of this process again.
    ///
    /// # Errors
    /// If the system call fails. No such case is known after [`Self::unshare_for_next_child`] has succeeded.
    pub fn restore_for_children(&self) -> io::Result<()> {
        match &self.processes {
            Some(own) => sys::setns(own.as_fd(), libc::CLONE_NEWPID),
            None => Ok(()),
        }
    }

    /// Moves this process into the shared namespaces, such as the network without interfaces.
    pub(super) fn enter_network(&self) -> io::Result<()> {
        if let Some(refusal) = &self.refusal {
            return Err(io::Error::other(refusal.clone()));
        }
        self.shared.iter().try_for_each(|(namespace, kind)| sys::setns(namespace.as_fd(), *kind))
    }
}

/// Makes this process administrator of a new user namespace in which its user is unchanged.
fn gain_administration() -> io::Result<()> {
    let (user, group) = sys::user_and_group();
    sys::unshare(libc::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Returns whether a process that has left this PID namespace for its children may enter it again.
///
/// The kernel asks for administration of the user namespace that owns it. An ordinary user, or root of a container, is only administrator
/// of a user namespace made by [`gain_administration`]. Such a process may leave and cannot come back, so the first child would be the
/// only one.
fn can_come_back(own: &File) -> bool {
    std::thread::scope(|scope| {
        let trial = std::thread::Builder::new().spawn_scoped(scope, || {
            // The thread ends at once and never has children.
            sys::unshare(libc::CLONE_NEWPID).and_then(|()| sys::setns(own.as_fd(), libc::CLONE_NEWPID))
        });
        trial.is_ok_and(|thread| matches!(thread.join(), Ok(Ok(()))))
    })
}

/// Makes the shared namespaces in a separate thread, because only the calling thread changes its namespaces. The thread ends at once, and
/// the descriptors keep the namespaces alive.
fn make_shared() -> io::Result<Vec<(File, libc::c_int)>> {
    let maker = std::thread::Builder::new().spawn(|| {
        sys::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS)?;
        let open = |(name, kind)| Ok((File::open(format!("/proc/thread-self/ns/{name}"))?, kind));
        [("net", libc::CLONE_NEWNET), ("ipc", libc::CLONE_NEWIPC), ("uts", libc::CLONE_NEWUTS)]
            .into_iter()
            .map(open)
            .collect()
    })?;
    maker.join().unwrap_or_else(|_| Err(io::Error::other("the thread that makes namespaces panicked")))
}
