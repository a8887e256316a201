//! Macros with parameters. They are expanded, so that the rules read the code that they produce.

use std::collections::BTreeMap;

use super::{
    guards::Guards,
    names::is_free,
    tokens::{Directive, Token, TokenKind, lex},
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
    Ok((tokens, directives, guards))
}

struct Macro<'t> {
    parameters: Vec<&'t str>,
    body: Vec<Token<'t>>,
    /// Offset of the definition. The macro is defined from there on.
    at: usize,
}

/// Replaces uses of macros with parameters by their bodies, and drops the directives that define them. Pasting (`#`,
/// `##`), variadic macros and redefinitions are refused.
fn expand<'t>(
    text: &'t str,
    tokens: Vec<Token<'t>>,
    directives: &mut Vec<Directive>,
    guards: &Guards,
) -> Result<Vec<Token<'t>>, String> {
    let mut macros = BTreeMap::new();
    for directive in directives.iter() {
        let Some(line) = text.get(directive.offset..directive.offset + directive.length) else { continue };
        let Some((name, mut definition)) = definition(line)? else { continue };
        // The machine would decide which of several bodies is compiled, and the rules read only one.
        if !guards.is_unconditional(directive.offset) {
            return Err(format!("the macro `{name}` with parameters inside of #if"));
        }
        definition.at = directive.offset;
        if macros.insert(name, definition).is_some() {
            return Err(format!("a second definition of the macro `{name}`"));
        }
    }
    directives.retain(|directive| {
        !is_function_like(&directive.text)
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

fn is_function_like(directive: &str) -> bool {
    directive.strip_prefix("#define ").and_then(|rest| rest.split(' ').next()).is_some_and(|name| name.contains('('))
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

/// Returns a directive `#define NAME(a, b) body`, if it is one.
fn definition(line: &str) -> Result<Option<(&str, Macro<'_>)>, String> {
    let Some(rest) = line.trim_start().strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("define"))
    else {
        return Ok(None);
    };
    let Some((name, rest)) = rest.trim_start().split_once('(') else { return Ok(None) };
    // A blank before the bracket makes the bracket part of the body of a macro without parameters.
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(None);
    }
    if !is_free(name) {
        return Err(format!("the macro `{name}()`, which hides a function"));
    }
    let (parameters, body) = rest.split_once(')').ok_or("an unterminated macro")?;
    let parameters: Vec<_> = parameters.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if parameters.iter().any(|name| !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
        return Err(format!("the macro `{name}` with parameters that are not names"));
    }
    if body.contains('#') {
        return Err(format!("pasting in the macro `{name}`"));
    }
    let (body, _) = lex(body)?;
    Ok(Some((name, Macro { parameters, body, at: 0 })))
}

fn expand_once<'t>(tokens: &[Token<'t>], macros: &BTreeMap<&str, Macro<'t>>) -> Result<(Vec<Token<'t>>, bool), String> {
    let mut expanded = Vec::with_capacity(tokens.len());
    let mut changed = false;
    let mut index = 0;
    while let Some(&token) = tokens.get(index) {
        index += 1;
        let used = macros.get(token.text).filter(|found| {
            token.kind == TokenKind::Name
                && found.at < token.at
                && tokens.get(index).is_some_and(|next| next.text == "(")
        });
        let Some(used) = used else {
            expanded.push(token);
            continue;
        };
        let (arguments, after) = arguments(tokens, index).ok_or("an unterminated use of a macro")?;
        index = after;
        changed = true;
        for part in &used.body {
            match used.parameters.iter().position(|parameter| *parameter == part.text) {
                Some(place) => expanded.extend(arguments.get(place).copied().unwrap_or_default()),
                None => expanded.push(Token { at: token.at, ..*part }),
            }
        }
        if expanded.len() > MAX_TOKENS {
            return Err("macros that grow too large".to_owned());
        }
    }
    Ok((expanded, changed))
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
    use super::tokenize;

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
        ] {
            assert!(expanded(text).is_err(), "{text}");
        }
    }
}
