//! Candidates: an author's code for one task.

use passnet_record::{CandidateSpec, ContentId, ExecutionPath, PassDirectory};

/// Candidate of an author for one task.
#[derive(Clone, Debug)]
pub enum Candidate {
    Eager,
    /// The path of passes, without any pass.
    Noop,
    /// TorchInductor in a mode.
    Inductor {
        /// The `mode` argument of `torch.compile`.
        mode: String,
    },
    /// Another compiler.
    Compiler {
        /// Name or path of the file that calls it.
        name: String,
        /// Text of the file; empty for a compiler of PassNet.
        source: String,
    },
    Passes(PassDirectory),
    /// An invalid pass directory, with the reason.
    Refused(String),
}

impl Candidate {
    /// Returns the part of a content key that identifies the candidate.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Eager => "eager".to_owned(),
            Self::Noop => "noop".to_owned(),
            Self::Inductor { mode } => format!("inductor:{mode}"),
            Self::Compiler { name, source } => {
                format!("compiler:{name}:{}", ContentId::of_parts([source.as_bytes()]))
            }
            Self::Passes(passes) => passes.id().to_string(),
            Self::Refused(why) => format!("refused:{why}"),
        }
    }

    /// Returns whether the candidate has code that is not trusted.
    pub(crate) const fn is_foreign(&self) -> bool {
        matches!(self, Self::Passes(_))
    }

    /// Returns the candidate's routes for the given paths. If it supports none of the paths, returns all its routes.
    pub(crate) fn routes(&self, paths: &[ExecutionPath], passes: &str) -> Vec<Route> {
        let on = |path, spec, control| Route { path, spec, control };
        let (direct, compiled) = (ExecutionPath::Direct, ExecutionPath::Compiled);
        let passes = |compiled| CandidateSpec::Passes { dir: passes.to_owned(), compiled };
        let all = match self {
            Self::Eager => vec![on(direct, CandidateSpec::Eager, None)],
            Self::Noop => vec![
                on(direct, CandidateSpec::Eager, None),
                on(compiled, CandidateSpec::Control, Some(CandidateSpec::Control)),
            ],
            Self::Inductor { mode } => {
                let spec = |compiled| CandidateSpec::Inductor { mode: mode.clone(), compiled };
                vec![on(direct, spec(false), None), on(compiled, spec(true), Some(CandidateSpec::Control))]
            }
            Self::Compiler { name, source } => {
                let spec = CandidateSpec::Compiler { name: name.clone(), source: source.clone() };
                vec![on(compiled, spec, Some(CandidateSpec::Control))]
            }
            Self::Refused(_) => Vec::new(),
            Self::Passes(_) => {
                vec![on(direct, passes(false), None), on(compiled, passes(true), Some(CandidateSpec::Control))]
            }
        };
        let asked: Vec<Route> =
            paths.iter().filter_map(|path| all.iter().find(|route| route.path == *path).cloned()).collect();
        if asked.is_empty() { all } else { asked }
    }
}

/// One way of running a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) path: ExecutionPath,
    pub(crate) spec: CandidateSpec,
    /// The same path without rewriting; `None` where this is eager mode itself.
    pub(crate) control: Option<CandidateSpec>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_follow_the_settings_where_the_author_has_them() {
        let both = [ExecutionPath::Compiled, ExecutionPath::Direct];
        let paths = |candidate: Candidate, paths: &[ExecutionPath]| -> Vec<ExecutionPath> {
            candidate.routes(paths, "/p").iter().map(|route| route.path).collect()
        };
        assert_eq!(paths(Candidate::Noop, &both), both);
        assert_eq!(paths(Candidate::Eager, &both), [ExecutionPath::Direct]);
        let inductor = Candidate::Inductor { mode: "default".to_owned() };
        assert_eq!(paths(inductor.clone(), &[ExecutionPath::Direct]), [ExecutionPath::Direct]);
        let direct = &inductor.routes(&both, "/p")[1];
        assert_eq!(direct.spec, CandidateSpec::Inductor { mode: "default".to_owned(), compiled: false });
        assert_eq!(direct.control, None, "eager mode itself");
    }
}
