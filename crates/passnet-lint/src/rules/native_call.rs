use crate::rule::Violation;

/// ## What it does
///
/// Rejects what the compiled code of a C++ or CUDA kernel would be refused for, where the text shows it: assembly, exceptions, clocks,
/// random numbers, `printf`, and functions of the system such as `system`, `fork` and `dlopen`. Also rejects words that read the time of
/// the compilation (`__TIME__`) or look for files (`__has_include`), raw strings, and trigraphs.
///
/// There is no list of functions that a kernel may call. The rules for compiled code decide: [native kernels](native-kernels.md#rules).
///
/// ## Why
///
/// A kernel computes its outputs from its inputs. Functions of the system leave the kernel, and clocks and random numbers
/// distinguish calls. An author gets the hint before anything is compiled.
///
/// ## Example
///
/// ```cpp
/// void k(float* x) { asm("nop"); }      // PN703
/// ```
///
/// ## How to fix
///
/// Write the computation itself, with intrinsics where the compiler does not vectorise.
pub(crate) struct NativeCall {
    /// The construct.
    pub(crate) subject: String,
}

impl Violation for NativeCall {
    const ID: &'static str = "PN703";
    const NAME: &'static str = "native-call";
    const SOURCE: &'static str = include_str!("native_call.rs");
    const HELP: &'static str =
        "call mathematics, intrinsics, algorithms and containers of std, and functions that the source defines";

    fn message(&self) -> String {
        let instead = match self.subject.as_str() {
            "throw" | "try" | "catch" => ": return early, and check sizes in the replacement function",
            "printf()" | "std::printf()" | "fprintf()" | "puts()" => ": leave it out, because a kernel prints nothing",
            _ => "",
        };
        format!("`{}` is not allowed in a native kernel{instead}", self.subject)
    }
}
