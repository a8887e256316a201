//! The allow-list of system calls (seccomp).
//!
//! The list is that of common container runtimes, without calls that a worker does not need: new sockets, other processes' memory,
//! namespaces, mounts, tracing, keys, BPF, io_uring, clocks, schedulers, System V objects. Other calls fail with `ENOSYS`, so that
//! libraries fall back as on an older kernel.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::sys;

/// Flags of `clone` that make namespaces: user, mount, process, network, IPC, UTS, cgroup, time.
const NEW_NAMESPACES: u64 = 0x7e02_0080;

/// Number of `fchmodat2`, for which `libc` has no name on aarch64. New system calls have the same number on all architectures.
const SYS_FCHMODAT2: libc::c_long = 452;

macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// System calls that are allowed with any arguments.
#[rustfmt::skip]
const ALLOWED: &[libc::c_long] = numbers![
    // Files by descriptor
    SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
    SYS_close SYS_close_range SYS_lseek SYS_fstat SYS_fstatfs SYS_fcntl SYS_ioctl SYS_flock SYS_fsync SYS_fdatasync
    SYS_ftruncate SYS_fallocate SYS_fadvise64 SYS_readahead SYS_copy_file_range SYS_sendfile SYS_splice SYS_tee
    SYS_dup SYS_dup3 SYS_pipe2 SYS_getdents64 SYS_sync_file_range
    // Files by name
    SYS_openat SYS_openat2 SYS_newfstatat SYS_statx SYS_statfs SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_getcwd
    SYS_chdir SYS_fchdir SYS_mkdirat SYS_unlinkat SYS_renameat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_mknodat
    SYS_truncate SYS_umask SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat
    SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr
    SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch
    // Memory
    SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_msync SYS_mincore SYS_brk SYS_memfd_create
    SYS_mlock SYS_mlock2 SYS_munlock SYS_mlockall SYS_munlockall SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect
    SYS_membarrier SYS_mseal
    // Its own processes and threads
    SYS_execve SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_kill SYS_tkill SYS_tgkill SYS_pidfd_open
    SYS_pidfd_send_signal SYS_getpid SYS_getppid SYS_gettid SYS_getpgid SYS_setpgid SYS_getsid SYS_setsid
    SYS_set_tid_address SYS_set_robust_list SYS_get_robust_list SYS_rseq SYS_futex SYS_futex_waitv SYS_sched_yield
    SYS_sched_getaffinity SYS_sched_getparam SYS_sched_getscheduler SYS_sched_getattr SYS_sched_get_priority_max
    SYS_sched_get_priority_min SYS_sched_rr_get_interval SYS_getcpu SYS_getpriority SYS_restart_syscall
    SYS_getuid SYS_geteuid SYS_getresuid SYS_getgid SYS_getegid SYS_getresgid SYS_getgroups SYS_capget
    SYS_prlimit64 SYS_getrlimit SYS_setrlimit SYS_getrusage SYS_times SYS_sysinfo SYS_uname
    // Signals
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigqueueinfo
    SYS_rt_tgsigqueueinfo SYS_rt_sigsuspend SYS_sigaltstack SYS_signalfd4
    // Time
    SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday SYS_getitimer SYS_setitimer
    SYS_timer_create SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun SYS_timer_delete SYS_timerfd_create
    SYS_timerfd_settime SYS_timerfd_gettime
    // Waiting
    SYS_ppoll SYS_pselect6 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2
    // The socket that it was given
    SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg SYS_shutdown SYS_getsockopt
    SYS_setsockopt SYS_getsockname SYS_getpeername
    SYS_getrandom
];

/// Further allowed system calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLD: &[libc::c_long] = numbers![
    SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_readlink SYS_mkdir SYS_rmdir SYS_unlink SYS_rename SYS_link
    SYS_symlink SYS_mknod SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_getdents SYS_dup2 SYS_pipe
    SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_signalfd SYS_inotify_init SYS_fork SYS_vfork
    SYS_pause SYS_alarm SYS_time SYS_getpgrp SYS_arch_prctl
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[libc::c_long] = &[];

/// Restricts this process and all processes that it starts to the list.
pub(super) fn restrict() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    sys::set_filter(&program().map_err(io::Error::other)?)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(OLD).chain(&[SYS_FCHMODAT2]).map(|&number| (number, Vec::new())).collect();
    let only = |argument, operator, value| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    rules.insert(libc::SYS_clone, only(0, SeccompCmpOp::MaskedEq(NEW_NAMESPACES), 0)?);
    rules.insert(libc::SYS_socketpair, only(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?);
    // The process must not disable the signal at the death of its parent.
    rules.insert(libc::SYS_prctl, only(0, SeccompCmpOp::Ne, libc::PR_SET_PDEATHSIG as u64)?);
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, unknown, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_compiles_and_has_no_number_twice() {
        let mut numbers: Vec<_> = ALLOWED.iter().chain(OLD).chain(&[SYS_FCHMODAT2]).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(program().unwrap().len() < 4096, "the kernel takes no longer program");
    }

    #[test]
    fn what_reaches_beyond_the_worker_is_not_on_the_list() {
        for number in [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_ptrace,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_move_mount,
            libc::SYS_bpf,
            libc::SYS_io_uring_setup,
            libc::SYS_perf_event_open,
            libc::SYS_keyctl,
            libc::SYS_userfaultfd,
            libc::SYS_clone3,
            libc::SYS_sched_setaffinity,
            libc::SYS_setpriority,
            libc::SYS_settimeofday,
        ] {
            assert!(!ALLOWED.contains(&number) && !OLD.contains(&number), "{number}");
        }
    }
}
