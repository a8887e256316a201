use crate::lint::rule::Violation;

/// ## What it does
///
/// Allows C++ and CUDA sources to call functions they define, mathematics, intrinsics and a short list of `std`;
/// rejects assembly, external declarations, function pointers and numeric escapes.
///
/// ## Why
///
/// `system`, `dlopen`, `fork`, `socket`, `asm` and calls through computed addresses leave the kernel. Macros with parameters are expanded before they are read.
///
/// ## Example
///
/// ```cpp
/// extern "C" int system(const char*);      // PN703
/// ```
///
/// ## How to mend
///
/// Write the computation itself.
pub(in crate::lint) struct NativeCall {
    /// The construct.
    pub(in crate::lint) subject: String,
}

impl Violation for NativeCall {
    const ID: &'static str = "PN703";
    const NAME: &'static str = "native-call";
    const SOURCE: &'static str = include_str!("native_call.rs");
    const HELP: &'static str = "call only functions defined in the source, mathematics, intrinsics and basic std";

    fn message(&self) -> String {
        format!("`{}` is not allowed in a native kernel", self.subject)
    }
}
