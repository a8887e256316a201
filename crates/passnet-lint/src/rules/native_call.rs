use crate::rule::Violation;

/// ## What it does
///
/// Allows C++ sources to call functions they define, mathematics, intrinsics, and those parts of `std` that
/// do not access the system. Lambdas, functors and function templates can be called, too. Rejects assembly,
/// declarations without a definition, functions used as values, types of functions, and numeric escapes. A definition
/// inside of `#if` counts only for code under the same condition.
///
/// CUDA sources may call everything except assembly, clocks, `printf` and `malloc`, because the rules for PTX decide.
///
/// ## Why
///
/// `system`, `dlopen`, `fork`, `socket`, `asm` and calls through computed addresses leave the kernel. From the
/// address of any function, code can reach all other functions in the process. Macros are expanded before the checker reads the
/// code.
///
/// ## Example
///
/// ```cpp
/// extern "C" int system(const char*);      // PN703
/// ```
///
/// ## How to fix
///
/// Write the computation itself. Pass a lambda instead of a function: `[](float v) { return std::exp(v); }`.
pub(crate) struct NativeCall {
    /// The construct.
    pub(crate) subject: String,
}

impl Violation for NativeCall {
    const ID: &'static str = "PN703";
    const NAME: &'static str = "native-call";
    const SOURCE: &'static str = include_str!("native_call.rs");
    const HELP: &'static str =
        "call functions that the source defines, mathematics, intrinsics and algorithms of std, by their names";

    fn message(&self) -> String {
        let instead = match self.subject.as_str() {
            "new" | "delete" => ": use a `std::vector` or `std::make_unique<float[]>`",
            "throw" | "try" | "catch" => ": return early, and check sizes in the replacement function",
            "virtual" | "dynamic_cast" => ": use a template parameter or a `switch`",
            _ => "",
        };
        format!("`{}` is not allowed in a native kernel{instead}", self.subject)
    }
}
