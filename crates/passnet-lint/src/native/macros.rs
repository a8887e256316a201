//! Macros. They are expanded, so that the rules read the code that they produce.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    guards::Guards,
    names::{is_directive, is_free},
    tokens::{Directive, Token, TokenKind, lex, lex_body},
};

/// Largest number of tokens after expansion.
const MAX_TOKENS: usize = 100_000;
/// Deepest use of macros in macros.
const MAX_DEPTH: usize = 8;

/// Returns tokens with macros expanded, and directives with normalised white space. The error names the text that makes the
/// source ambiguous.
pub(super) fn tokenize(text: &str) -> Result<(Vec<Token<'_>>, Vec<Directive>, Guards), String> {
    let (tokens, mut directives) = lex(text)?;
    let guards = Guards::new(&directives);
    let tokens = expand(text, tokens, &mut directives, &guards)?;
    Ok((without_pragmas(tokens), directives, guards))
}

struct Macro<'t> {
    /// `None` for a macro without a list of parameters.
    parameters: Option<Vec<&'t str>>,
    body: Vec<Token<'t>>,
    /// Offset of the definition. The macro is defined from there on.
    at: usize,
}

/// Replaces uses of macros by their bodies, and drops the directives that define them. Pasting (`#`, `##`), variadic macros and
/// redefinitions of macros with parameters are refused. Definitions without parameters stay if they are inside of `#if`, or if there are
/// several of one name: the rules for directives judge them.
fn expand<'t>(
    text: &'t str,
    tokens: Vec<Token<'t>>,
    directives: &mut Vec<Directive>,
    guards: &Guards,
) -> Result<Vec<Token<'t>>, String> {
    let mut macros = BTreeMap::new();
    let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in directives.iter().filter_map(|directive| defined_name(&directive.text)) {
        *definitions.entry(name).or_default() += 1;
    }
    for directive in directives.iter() {
        let Some(line) = text.get(directive.offset..directive.offset + directive.length) else { continue };
        let Some((name, mut definition)) = definition(line)? else { continue };
        let is_single = definitions.get(name) == Some(&1);
        // The machine would decide which of several bodies is compiled, and the rules read only one.
        let is_certain = guards.is_unconditional(directive.offset);
        if definition.parameters.is_some() && !is_certain {
            return Err(format!("the macro `{name}` with parameters inside of #if"));
        }
        if definition.parameters.is_some() && !is_single {
            return Err(format!("a second definition of the macro `{name}`"));
        }
        if is_single && is_certain {
            definition.at = directive.offset;
            macros.insert(name, definition);
        }
    }
    let expanded: BTreeSet<usize> = macros.values().map(|found| found.at).collect();
    directives.retain(|directive| {
        !expanded.contains(&directive.offset)
            && !is_end(directive, &tokens, &macros, guards.is_unconditional(directive.offset))
    });
    if macros.is_empty() {
        return Ok(tokens);
    }
    let mut tokens = tokens;
    for _ in 0..MAX_DEPTH {
        let (expanded, changed) = expand_once(&tokens, &macros)?;
        tokens = expanded;
        if !changed {
            return Ok(tokens);
        }
    }
    Err("macros that nest too deeply".to_owned())
}

/// Returns the name that a directive defines.
fn defined_name(directive: &str) -> Option<&str> {
    directive.strip_prefix("#define ").and_then(|rest| rest.split([' ', '(']).next())
}

/// Returns whether a directive is the `#undef` of a macro that nothing uses behind it. Uses there would not be expanded by the compiler.
fn is_end(
    directive: &Directive,
    tokens: &[Token<'_>],
    macros: &BTreeMap<&str, Macro<'_>>,
    is_unconditional: bool,
) -> bool {
    let Some(name) = directive.text.strip_prefix("#undef ").map(str::trim) else { return false };
    let is_defined = macros.get(name).is_some_and(|found| found.at < directive.offset);
    let is_used = tokens.iter().any(|token| token.text == name && token.at > directive.offset)
        || macros.values().any(|found| found.body.iter().any(|token| token.text == name));
    is_defined && is_unconditional && !is_used
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns a directive `#define NAME(a, b) body` or `#define NAME body`, if it is one and may be expanded.
fn definition(line: &str) -> Result<Option<(&str, Macro<'_>)>, String> {
    let Some(rest) = line.trim_start().strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("define"))
    else {
        return Ok(None);
    };
    let rest = rest.trim_start();
    let (name, rest) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
    // A blank before the bracket makes the bracket part of the body of a macro without parameters.
    let Some(rest) = rest.strip_prefix('(') else {
        let is_whole = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace());
        if !is_whole || !(is_free(name) || name == "restrict") || rest.contains('#') {
            return Ok(None);
        }
        return Ok(Some((name, Macro { parameters: None, body: lex_body(rest)?, at: 0 })));
    };
    if !is_free(name) {
        return Err(format!("the macro `{name}()`, which hides a function"));
    }
    let (parameters, body) = rest.split_once(')').ok_or("an unterminated macro")?;
    let parameters: Vec<_> = parameters.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if parameters.iter().any(|name| !name.chars().all(is_word)) {
        return Err(format!("the macro `{name}` with parameters that are not names"));
    }
    if body.contains('#') {
        return Err(format!("pasting in the macro `{name}`"));
    }
    Ok(Some((name, Macro { parameters: Some(parameters), body: lex_body(body)?, at: 0 })))
}

fn expand_once<'t>(tokens: &[Token<'t>], macros: &BTreeMap<&str, Macro<'t>>) -> Result<(Vec<Token<'t>>, bool), String> {
    let mut expanded = Vec::with_capacity(tokens.len());
    let mut changed = false;
    let mut index = 0;
    while let Some(&token) = tokens.get(index) {
        index += 1;
        let is_called = tokens.get(index).is_some_and(|next| next.text == "(");
        let used = macros.get(token.text).filter(|found| {
            token.kind == TokenKind::Name && found.at < token.at && (found.parameters.is_none() || is_called)
        });
        let Some(used) = used else {
            expanded.push(token);
            continue;
        };
        changed = true;
        let parameters = used.parameters.as_deref().unwrap_or_default();
        let mut given = Vec::new();
        if used.parameters.is_some() {
            (given, index) = arguments(tokens, index).ok_or("an unterminated use of a macro")?;
        }
        for part in &used.body {
            match parameters.iter().position(|parameter| *parameter == part.text) {
                Some(place) => expanded.extend(given.get(place).copied().unwrap_or_default()),
                None => expanded.push(Token { at: token.at, ..*part }),
            }
        }
        if expanded.len() > MAX_TOKENS {
            return Err("macros that grow too large".to_owned());
        }
    }
    Ok((expanded, changed))
}

/// Drops `_Pragma("...")` where the same text is allowed in a directive.
fn without_pragmas(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let is_pragma = |at: usize| {
        let directive = text(at + 2).strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
        text(at) == "_Pragma"
            && text(at + 1) == "("
            && text(at + 3) == ")"
            && directive.is_some_and(|directive| is_directive(&format!("#pragma {directive}")))
    };
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        if is_pragma(at) {
            at += 4;
        } else {
            kept.push(token);
            at += 1;
        }
    }
    kept
}

/// Returns the arguments of a use whose bracket opens at `open`, and the index behind its end.
fn arguments<'s, 't>(tokens: &'s [Token<'t>], open: usize) -> Option<(Vec<&'s [Token<'t>]>, usize)> {
    let mut depth = 0_usize;
    let mut start = open + 1;
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    found.push(&tokens[start..index]);
                    return Some((found, index + 1));
                }
            }
            "," if depth == 1 => {
                found.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{is_directive, tokenize};

    fn expanded(text: &str) -> Result<String, String> {
        let (tokens, directives, _) = tokenize(text)?;
        assert!(directives.is_empty());
        Ok(tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn uses_become_bodies() {
        let text = "#define TWICE(name, f) float name(float x) { return f(f(x)); }\nTWICE(a, expf) TWICE(b, g<int, 1>)";
        assert_eq!(
            expanded(text).as_deref(),
            Ok(
                "float a ( float x ) { return expf ( expf ( x ) ) ; } float b ( float x ) { return g < int ( g < int ( x ) ) ; }"
            )
        );
        assert_eq!(expanded("getpid()\n#define getpid() 0").as_deref(), Ok("getpid ( )"));
        assert_eq!(expanded("#define A(x) x\n#define B(x) A(A(x))\nB(c)").as_deref(), Ok("c"));
        assert_eq!(expanded("#define A(x) x\nA(c)\n#undef A\nd").as_deref(), Ok("c d"));
        assert_eq!(expanded("#define A B\n#define B -INFINITY // least\nA").as_deref(), Ok("- INFINITY"));
        assert_eq!(expanded("#define A\n#define HALF (N / 2)\n#define N 8\nA HALF").as_deref(), Ok("( 8 / 2 )"));
        assert_eq!(expanded("#define A(x) \\\n    x; \\\n    x\nA(c)").as_deref(), Ok("c ; c"));
        assert_eq!(expanded("#define A b // \\\n    c\nA").as_deref(), Ok("b"));
        assert_eq!(expanded("#define U _Pragma(\"GCC unroll 4\")\nU x").as_deref(), Ok("x"));
    }

    #[test]
    fn the_end_of_a_macro_remains_a_directive_where_it_changes_a_meaning() {
        for text in [
            "#define A(x) x\nA(c)\n#undef A\nA(d)",
            "#define A(x) x\n#define B(x) A(x)\n#undef A\nB(d)",
            "#undef A\n#define A(x) x\nA(c)",
            "#define A(x) x\n#if 0\n#undef A\n#endif\nA(c)",
            "#define A(x) x\n#undef expf\nA(c)",
        ] {
            let (_, directives, _) = tokenize(text).unwrap();
            assert!(directives.iter().any(|directive| directive.text.starts_with("#undef")), "{text}");
        }
    }

    #[test]
    fn definitions_that_vary_remain_directives() {
        for text in [
            "#if 0\n#define A b\n#endif\nA",
            "#define A b\n#define A c\nA",
            "#define expf system\nexpf",
            "#define A #b\nA",
        ] {
            let (tokens, directives, _) = tokenize(text).unwrap();
            assert!(directives.iter().any(|directive| !is_directive(&directive.text)), "{text}");
            assert_eq!(tokens.len(), 1, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for text in [
            "#define A(x) A(x) A(x)\nA(1)",
            "#define A(x) x ## m\nA(syste)",
            "#define A(x) #x\nA(1)",
            "#define A(...) __VA_ARGS__\nA(1)",
            "#define A(x) x\n#define A(x) y\nA(1)",
            "#define A(x) x\nA(1",
            "#if 0\n#define getpid() 0\n#endif\ngetpid()",
            "#define expf(x) system(x)\nexpf(1)",
            "#define A A\nA",
            "#define sys\\\ntem 1\nA",
            "a // \\\nb",
            "/* *\\\n/ a /* */",
            "/* *\\ \n/ a /* */",
            "sys\\\ntem",
        ] {
            assert!(expanded(text).is_err(), "{text}");
        }
    }
}
