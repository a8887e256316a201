//! CUDA sources. The referee judges the PTX that the compiler makes of them, so these rules need not know every name: they find what PTX
//! would be refused for, where the text already shows it, and headers outside a list.

use super::{
    finding::{ScanFinding, Span},
    names::{is_denied, is_device_header},
    tokens::{Token, lex, offset},
};
use crate::rules::{NativeCall, NativeInclude, NativeState};

/// Words that begin assembly.
const ASSEMBLY: &[&str] = &["asm", "__asm", "__asm__", "__asm_volatile__"];

/// Directives that neither read files nor tell the time.
const DIRECTIVES: &[&str] = &[
    "#define", "#undef", "#if", "#ifdef", "#ifndef", "#else", "#elif", "#endif", "#error", "#warning", "#pragma",
    "#line",
];

/// Scans a CUDA source.
pub(super) fn scan(text: &str) -> Vec<(Span, ScanFinding)> {
    if splits_word(text) {
        let subject = "a word that continues in the next line".to_owned();
        return vec![((0, text.len()), ScanFinding::Call(NativeCall { subject }))];
    }
    // A macro may continue in the next line. Blanks keep the places of what follows.
    let joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let (tokens, directives) = match lex(&joined) {
        Ok(read) => read,
        Err(subject) => return vec![((0, text.len()), ScanFinding::Call(NativeCall { subject }))],
    };
    let mut found = Vec::new();
    for directive in &directives {
        if !is_allowed(&directive.text) {
            let violation = NativeInclude { subject: directive.text.clone() };
            found.push(((directive.offset, directive.length), ScanFinding::Include(violation)));
        }
        // Pasting could spell every word in pieces.
        if directive.text.contains("##") {
            let violation = NativeCall { subject: "##".to_owned() };
            found.push(((directive.offset, directive.length), ScanFinding::Call(violation)));
        }
        // Macros may hide words from the tokens of the text, but not from the compiler.
        for word in words(&directive.text).filter(|word| is_refused_word(word)) {
            let violation = NativeCall { subject: word.to_owned() };
            found.push(((directive.offset, directive.length), ScanFinding::Call(violation)));
        }
    }
    for at in 0..tokens.len() {
        if let Some(finding) = check(&tokens, at) {
            let word = tokens[at].text;
            found.push(((offset(&joined, word), word.len()), finding));
        }
    }
    found
}

/// Returns whether a line break behind a backslash is inside of a word, which a scan of words would not see.
fn splits_word(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r')).peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        // A line with nothing but a backslash joins the lines around it.
        let joins = line.strip_suffix('\\').is_some_and(|line| line.is_empty() || line.ends_with(is_word));
        if joins && (next.starts_with(is_word) || next == "\\") {
            return true;
        }
    }
    false
}

fn is_allowed(directive: &str) -> bool {
    let (name, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    if name == "#include" { is_device_header(rest) } else { DIRECTIVES.contains(&name) }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

fn is_refused_word(word: &str) -> bool {
    ASSEMBLY.contains(&word)
        || matches!(word, "thread_local" | "__managed__" | "__DATE__" | "__TIME__" | "__TIMESTAMP__")
}

fn check(tokens: &[Token<'_>], at: usize) -> Option<ScanFinding> {
    let word = tokens[at].text;
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text);
    let call = |subject: &str| Some(ScanFinding::Call(NativeCall { subject: subject.to_owned() }));
    let state = |subject: String| Some(ScanFinding::State(NativeState { subject }));
    match word {
        "thread_local" | "__managed__" => state(word.to_owned()),
        "__device__" | "static" => outliving(tokens, at).and_then(state),
        _ if is_refused_word(word) => call(word),
        // A member of this name is another function.
        _ if is_denied(word) && text(at + 1) == "(" && !matches!(text(at.wrapping_sub(1)), "." | "->") => {
            call(&format!("{word}()"))
        }
        _ => None,
    }
}

/// Returns the declaration at a specifier if it declares a variable that can be written and outlives a launch.
fn outliving(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let begins = |token: &Token<'_>| matches!(token.text, ";" | "{" | "}" | ")" | ">");
    let first = tokens[..at].iter().rposition(begins).map_or(0, |before| before + 1);
    let length = tokens[at..].iter().position(|token| matches!(token.text, "(" | ";" | "=" | "[" | "{" | "]"))?;
    let declaration = &tokens[first..at + length];
    let is_constant = |token: &Token<'_>| {
        matches!(
            token.text,
            "const" | "constexpr" | "__constant__" | "__shared__" | "struct" | "class" | "enum" | "operator"
        )
    };
    // Specifiers of functions end with a parenthesis, those of lambdas stand behind one.
    let is_variable = tokens[at + length].text != "(" && length > 1;
    let shown = || declaration.iter().take(8).map(|token| token.text).collect::<Vec<_>>().join(" ");
    (is_variable && !declaration.iter().any(is_constant)).then(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let shown = scan(text).into_iter().map(|(_, found)| match found {
            ScanFinding::Include(rule) => format!("include {}", rule.subject),
            ScanFinding::Call(rule) => format!("call {}", rule.subject),
            ScanFinding::State(rule) => format!("state {}", rule.subject),
        });
        shown.collect()
    }

    #[test]
    fn ordinary_code_is_accepted() {
        for text in [
            "extern __shared__ float tile[]; __global__ void k(float* x) { tile[threadIdx.x] = x[0]; __syncthreads(); }",
            "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(float* x) { auto block = cg::this_thread_block(); block.sync(); }",
            "#define LOAD(p) \\\n    __ldg(p)\n__global__ void k(const float* x, float* y) { y[0] = LOAD(x); }",
            "template <typename T, int N> struct Pack { T data[N]; __device__ T& operator[](int i) { return data[i]; } };",
            "__device__ __forceinline__ float act(float v) { return fmaxf(v, 0.0f); }\nstatic __device__ float twice(float v) { return v + v; }",
            "__constant__ float SCALE[2] = {0.5f, 2.0f};\nstatic constexpr int N = 4;\n__device__ constexpr float HALF = 0.5f;",
            "__global__ void k(float* x) { static __shared__ float part[32]; part[threadIdx.x] = x[0]; }",
            "__global__ void k(float* x) { auto f = [] __device__ (float v) { return v * 2; }; x[0] = f(x[0]); }",
            "typedef float (*Function)(float);",
            "struct Clock { __device__ int read() const { return 1; } }; __global__ void k(int* x) { Clock clock; x[0] = clock.read(); }",
        ] {
            assert_eq!(findings(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn hints_name_what_ptx_is_refused_for() {
        let shown: Vec<String> = [
            "__device__ float cache[16];",
            "__device__ int calls = 0;",
            "__global__ void k(float* x) { static int calls; x[0] = ++calls; }",
            "__managed__ int calls;",
            "__global__ void k(long long* x) { x[0] = clock64(); }",
            "__global__ void k(int* x) { asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(x[0])); }",
            "#define NOW asm(\"\")\n__global__ void k(int* x) { NOW; }",
            "#include \"/etc/hostname\"\n",
            "#inc\\\nlude \"/etc/hostname\"\n",
            "#define JOIN(a, b) a##b\n__global__ void k(int* x) { JOIN(a, sm)(\"\"); }",
            "__global__ void k(int* x) { as\\\nm(\"\"); }",
            "__global__ void k(int* x) { as\\\r\n\\\nm(\"\"); }",
            "#embed \"/proc/uptime\"\n",
            "__global__ void k(char* x) { x[0] = __TIME__[7]; }",
            "__global__ void k(float* x) { printf(\"%f\", x[0]); }",
        ]
        .iter()
        .map(|text| findings(text).join("; "))
        .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
