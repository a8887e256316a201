//! Removal of all capabilities and of every way to gain capabilities.

use std::io;

use super::sys;

/// Upper bound of the number of capabilities of any kernel.
const CAPABILITIES: libc::c_ulong = 64;
/// `SECBIT_NOROOT`, `SECBIT_NO_SETUID_FIXUP`, `SECBIT_KEEP_CAPS` off, `SECBIT_NO_CAP_AMBIENT_RAISE`; each with its lock.
const SECURE_BITS: libc::c_ulong = 0b1110_1111;

/// Gives up all capabilities and every way to gain some.
pub(super) fn drop_all() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    // Both steps need a capability. A user without a namespace does not have it, and has no capabilities to drop.
    if sys::is_admin()? {
        for capability in 0..CAPABILITIES {
            // This was the last capability.
            if sys::prctl(libc::PR_CAPBSET_READ, capability, 0).is_err() {
                break;
            }
            sys::prctl(libc::PR_CAPBSET_DROP, capability, 0)?;
        }
        sys::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS, 0)?;
    }
    sys::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    sys::drop_capabilities()
}
