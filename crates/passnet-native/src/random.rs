//! Random numbers of the operating system.

/// Returns a random word.
///
/// # Errors
///
/// If the system call fails.
pub fn random_word() -> std::io::Result<u64> {
    let mut bytes = [0_u8; 8];
    // SAFETY: the address and the length are those of `bytes`.
    #[expect(unsafe_code, reason = "the standard library has no such call")]
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    // Requests of up to 256 bytes are answered completely or not at all.
    if usize::try_from(filled) == Ok(bytes.len()) {
        Ok(u64::from_ne_bytes(bytes))
    } else {
        Err(std::io::Error::last_os_error())
    }
}
