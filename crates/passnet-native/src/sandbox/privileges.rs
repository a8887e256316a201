//! Capabilities: none, and none to come.

use std::io;

use super::sys;

/// More than any kernel has.
const CAPABILITIES: libc::c_ulong = 64;
/// `SECBIT_NOROOT`, `SECBIT_NO_SETUID_FIXUP`, `SECBIT_KEEP_CAPS` off, `SECBIT_NO_CAP_AMBIENT_RAISE`; each with its lock.
const SECURE_BITS: libc::c_ulong = 0b1110_1111;

/// Gives up all capabilities and every way to gain some.
pub(super) fn drop_all() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    // Both need a capability, which a user without a namespace does not have; nor has that user anything to drop.
    if sys::is_admin()? {
        for capability in 0..CAPABILITIES {
            // Past the last capability there is nothing to drop.
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
