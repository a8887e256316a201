//! Patterns that select tasks.

use passnet_record::SuiteTask;

/// Returns whether one of the patterns matches the name of the task or its op sequence.
pub(super) fn matches_any(task: &SuiteTask, patterns: &[String]) -> bool {
    let ops = task.ops.join(",");
    patterns.iter().any(|pattern| {
        if pattern.contains(['*', '?']) {
            fits(pattern.as_bytes(), task.id.as_bytes()) || fits(pattern.as_bytes(), ops.as_bytes())
        } else {
            task.id.contains(pattern) || ops.contains(pattern)
        }
    })
}

/// Returns whether a pattern matches a whole text. In the pattern, `*` stands for any number of bytes and `?` for one byte.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Place to continue from after a mismatch: behind the last star, which then matches one more byte.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t + 1));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == text[t] => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((after, next)) => {
                    (p, t) = (after, next);
                    retry = Some((after, next + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("a?c*", "abc", true),
            ("*b*b", "abab", true),
            ("a", "", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
