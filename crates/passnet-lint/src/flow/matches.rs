//! `match` statements over plain values.

use ruff_python_ast::{Pattern, StmtMatch};

use super::{CodeLocation, Flow, Value};
use crate::rules::StatementNotAllowed;

impl<'a> Flow<'a> {
    /// Runs all cases, because the value of the subject is not followed. It has to be plain: the patterns compare it.
    pub(super) fn run_match(&mut self, frame: CodeLocation, stmt: &'a StmtMatch) {
        let subject = self.eval(frame, &stmt.subject);
        self.require_plain(frame, &*stmt.subject, &subject, "matching it");
        let subject = subject.shared();
        for case in &stmt.cases {
            self.run_pattern(frame, &case.pattern, &subject);
            if let Some(guard) = &case.guard {
                self.condition(frame, guard);
            }
            self.run_block(frame, &case.body);
        }
    }

    fn run_pattern(&mut self, frame: CodeLocation, pattern: &'a Pattern, subject: &Value) {
        match pattern {
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchValue(value) => self.plain(frame, &value.value, "matching it"),
            Pattern::MatchSequence(parts) => {
                let element = self.element(frame, pattern, subject.clone());
                parts.patterns.iter().for_each(|part| self.run_pattern(frame, part, &element));
            }
            Pattern::MatchOr(parts) => parts.patterns.iter().for_each(|part| self.run_pattern(frame, part, subject)),
            Pattern::MatchStar(star) => {
                let rest = self.container(frame, star, subject.clone());
                star.name.iter().for_each(|name| self.bind_name(frame, name.as_str(), rest.clone()));
            }
            Pattern::MatchAs(bound) => {
                bound.pattern.iter().for_each(|inner| self.run_pattern(frame, inner, subject));
                bound.name.iter().for_each(|name| self.bind_name(frame, name.as_str(), subject.clone()));
            }
            // These call methods of the subject's class or of a class of the pattern.
            Pattern::MatchMapping(_) | Pattern::MatchClass(_) => {
                let subject = "a pattern with a class or a dictionary".to_owned();
                self.report(frame.module, pattern, &StatementNotAllowed { subject });
            }
        }
    }
}
