//! The scan of a source. It finds what compiled code would be refused for, and what only the text shows.

use rustc_hash::FxHashSet;

use super::{
    finding::{ScanFinding, Span},
    language::NativeLanguage,
    names::{is_denied, is_header, is_pragma},
    tokens::{Token, TokenKind, lex, offset},
};
use crate::rules::{NativeCall, NativeInclude, NativeState};

/// Words that begin assembly.
const ASSEMBLY: &[&str] = &["asm", "__asm", "__asm__", "__asm_volatile__"];

/// Words that read the time of the compilation, or look for files.
const COMPILATION: &[&str] =
    &["__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include", "__has_include_next", "__has_embed"];

/// Directives that neither read files nor tell the time.
const DIRECTIVES: &[&str] =
    &["define", "undef", "if", "ifdef", "ifndef", "else", "elif", "elifdef", "elifndef", "endif", "error", "warning"];

/// Words after which a name with parentheses is a call, although words of types stand there in declarations.
const BEFORE_CALLS: &[&str] = &["return", "else", "do", "case", "throw", "and", "or", "not", "new", "delete"];

pub(super) fn scan_language(text: &str, language: NativeLanguage) -> Vec<(Span, ScanFinding)> {
    let whole = |subject: String| vec![((0, text.len()), ScanFinding::Call(NativeCall { subject }))];
    if joins_tokens(text) {
        return whole("a token that continues in the next line".to_owned());
    }
    // A macro may continue in the next line. Blanks keep the places of what follows.
    let joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let (tokens, directives) = match lex(&joined) {
        Ok(read) => read,
        Err(subject) => return whole(subject),
    };
    let mut found = Vec::new();
    for directive in &directives {
        let place = (directive.offset, directive.length);
        if !is_allowed(&directive.text, language) {
            found.push((place, ScanFinding::Include(NativeInclude { subject: directive.text.clone() })));
        }
        // Macros may hide words from the tokens of the text, but not from the compiler.
        let text = without_known_headers(&directive.text, language);
        for word in words(&text).filter(|word| is_refused_word(word)) {
            found.push((place, ScanFinding::Call(NativeCall { subject: word.to_owned() })));
        }
    }
    let scan = Scan::new(&tokens, language);
    for (at, token) in tokens.iter().enumerate() {
        if let Some(finding) = scan.check(at) {
            found.push(((offset(&joined, token.text), token.text.len()), finding));
        }
    }
    found
}

/// Returns whether a line break behind a backslash may join two characters to another token: a word, the end of a comment, a digraph.
/// Blanks in place of the break would hide this token from the scan.
fn joins_tokens(text: &str) -> bool {
    let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r')).peekable();
    while let Some(line) = lines.next() {
        let Some(line) = line.strip_suffix('\\') else { continue };
        let is_separate = match line.chars().next_back() {
            None => true,
            Some(last) if last.is_ascii_alphanumeric() || last == '_' => {
                lines.peek().is_none_or(|next| next.is_empty() || next.starts_with([' ', '\t']))
            }
            Some(last) => last.is_ascii_whitespace() || "(){}[];,=+-&|>".contains(last),
        };
        if !is_separate {
            return true;
        }
    }
    false
}

/// Returns a directive without its questions for headers that a source may include: `__has_include(<immintrin.h>)`.
fn without_known_headers(directive: &str, language: NativeLanguage) -> String {
    let mut parts = directive.split("__has_include(");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((header, behind)) if is_header(header.trim(), language) => rest += behind,
            _ => rest.extend(["__has_include(", part]),
        }
    }
    rest
}

fn is_allowed(directive: &str, language: NativeLanguage) -> bool {
    let body = directive.trim_start_matches('#');
    let (name, rest) = body.split_at(body.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(body.len()));
    match (name, language) {
        ("include", _) => is_header(rest.trim(), language),
        ("pragma", NativeLanguage::Cpp) => is_pragma(rest.trim()),
        // Line markers of C++ would make the text look like the text of a header.
        ("pragma" | "line", NativeLanguage::Cuda) => true,
        // A line with nothing but `#`.
        ("", _) => rest.is_empty(),
        _ => DIRECTIVES.contains(&name),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

fn is_refused_word(word: &str) -> bool {
    ASSEMBLY.contains(&word) || COMPILATION.contains(&word) || matches!(word, "thread_local" | "__managed__")
}

/// Longest list of parameters that is searched for the body of a function, in tokens.
const MAX_PARAMETERS: usize = 500;

struct Scan<'s, 't> {
    tokens: &'s [Token<'t>],
    language: NativeLanguage,
    /// Names of functions that the source seems to define. The compiled code decides, so a guess is enough.
    own: FxHashSet<&'t str>,
}

impl<'s, 't> Scan<'s, 't> {
    fn new(tokens: &'s [Token<'t>], language: NativeLanguage) -> Self {
        let mut scan = Self { tokens, language, own: FxHashSet::default() };
        scan.own = (1..tokens.len()).filter(|at| scan.is_definition(*at)).map(|at| scan.text(at)).collect();
        scan
    }

    /// Returns the text of a token; empty for an index beyond the ends.
    fn text(&self, index: usize) -> &'t str {
        self.tokens.get(index).map_or("", |token| token.text)
    }

    fn check(&self, at: usize) -> Option<ScanFinding> {
        let word = self.text(at);
        let call = |subject: &str| Some(ScanFinding::Call(NativeCall { subject: subject.to_owned() }));
        let state = |subject: String| Some(ScanFinding::State(NativeState { subject }));
        match word {
            "thread_local" | "__managed__" => state(word.to_owned()),
            "__device__" | "static" => self.outliving(at).and_then(state),
            // The compiler has no exceptions, so it would refuse these without saying what to write.
            "throw" | "try" | "catch" if self.language == NativeLanguage::Cpp => call(word),
            _ if is_refused_word(word) => call(word),
            _ if is_denied(word) && self.is_call(at) => call(&format!("{word}()")),
            _ => None,
        }
    }

    /// Returns whether a name is called, and not a member or the name of a function of the source.
    fn is_call(&self, at: usize) -> bool {
        let is_member = matches!(self.text(at.wrapping_sub(1)), "." | "->");
        self.text(at + 1) == "(" && !is_member && !self.own.contains(self.text(at))
    }

    /// Returns whether the token behind the first one seems to be the name of a function at its definition.
    fn is_definition(&self, at: usize) -> bool {
        let before = &self.tokens[at - 1];
        let is_type = matches!(before.text, "*" | "&" | ">")
            || before.kind == TokenKind::Name && !BEFORE_CALLS.contains(&before.text);
        is_type && self.tokens[at].kind == TokenKind::Name && self.text(at + 1) == "(" && self.has_body(at + 1)
    }

    /// Returns whether the parameters that begin at `open` are followed by the body of a function.
    fn has_body(&self, open: usize) -> bool {
        let mut depth = 0_usize;
        for at in open..self.tokens.len().min(open + MAX_PARAMETERS) {
            match self.text(at) {
                "(" => depth += 1,
                ")" if depth > 1 => depth -= 1,
                ")" => {
                    let mut behind = (at + 1..).map(|at| self.text(at));
                    return behind.find(|text| !matches!(*text, "const" | "noexcept")) == Some("{");
                }
                _ => {}
            }
        }
        false
    }

    /// Returns the declaration at a specifier if it declares a variable that can be written and outlives a call.
    fn outliving(&self, at: usize) -> Option<String> {
        let begins = |token: &Token<'_>| matches!(token.text, ";" | "{" | "}" | ")" | ">");
        let first = self.tokens[..at].iter().rposition(begins).map_or(0, |before| before + 1);
        let ends = |token: &Token<'_>| matches!(token.text, "(" | ";" | "=" | "[" | "{" | "]");
        let end = at + self.tokens[at..].iter().position(ends)?;
        let declaration = &self.tokens[first..end];
        let is_constant = |token: &Token<'_>| {
            matches!(
                token.text,
                "const" | "constexpr" | "__constant__" | "__shared__" | "struct" | "class" | "enum" | "operator"
            )
        };
        // Specifiers of functions end with a parenthesis, those of lambdas stand behind one.
        let is_variable = self.text(end) != "(" && end > at + 1;
        let shown = || declaration.iter().take(8).map(|token| token.text).collect::<Vec<_>>().join(" ");
        (is_variable && !declaration.iter().any(is_constant)).then(shown)
    }
}
