use std::{fmt, path::Path};

/// A problem in a file of a sample, and its place.
///
/// The printed form shows the place, the line, and how to fix the problem:
///
/// ```text
/// model.py:7:26: `y` is not defined here
///   |
/// 7 |         z = torch.relu(y)
///   |                        ^
///   = help: assign it before, or add it as a parameter of forward
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<Details>);

#[derive(Clone, PartialEq)]
struct Details {
    path: String,
    line: usize,
    column: usize,
    snippet: String,
    kind: ErrorKind,
}

/// The problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ErrorKind {
    #[error("{0}")]
    Io(String),
    #[error("the file is not UTF-8")]
    NotUtf8,
    #[error("the file has {found} bytes; the limit is {limit}")]
    TooLarge { found: usize, limit: usize },
    #[error("the code is nested deeper than {limit} levels")]
    TooDeep { limit: u32 },
    #[error("not valid Python: {0}")]
    Syntax(String),
    #[error("{what} cannot be part of a {part}")]
    Unsupported { what: String, part: &'static str },
    #[error("`{0}` is not defined here")]
    Unbound(String),
    #[error("`{0}` cannot be assigned to")]
    ReservedName(String),
    #[error("forward has two parameters called `{0}`")]
    DuplicateParameter(String),
    #[error("there is no class with a method `forward`")]
    NoForward,
    #[error("forward does not return")]
    NoReturn,
    #[error("the integer {0} does not fit into 64 bits")]
    HugeInteger(String),
    #[error("invalid graph: {0}")]
    Graph(#[from] passnet_graph::VerifyError),
    #[error("`{attribute}` must be {expected}")]
    BadAttribute { attribute: String, expected: &'static str },
    #[error("`{0}` is not an attribute of a tensor")]
    UnknownAttribute(String),
    #[error("the class has no `name`")]
    NoName,
    #[error("{0}")]
    UnknownDType(#[from] passnet_record::UnknownDType),
    #[error("`data` has {found} values, but the shape has {expected} elements")]
    DataLength { found: usize, expected: u64 },
    #[error("the shape has more elements than 64 bits can count")]
    HugeShape,
    #[error("tensor `{0}` is described twice")]
    DuplicateTensor(String),
    #[error("parameter `{0}` of forward is not described")]
    MissingTensor(String),
    #[error("tensor `{0}` is described but is not a parameter of forward")]
    ExtraTensor(String),
    #[error("not the JSON of a sample: {0}")]
    Json(String),
}

impl ErrorKind {
    /// Returns the fix.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io(_) => return None,
            Self::NotUtf8 => "save the file as UTF-8 text",
            Self::TooLarge { .. } => "split the graph, or leave large tensors out of the file",
            Self::TooDeep { .. } => "assign parts of the expression to names of their own",
            Self::Syntax(_) => "check whether the file was cut off, and run it through Python",
            Self::Unsupported { part: "graph", .. } => {
                "a graph is straight-line code: calls of torch functions and tensor methods, operators, and a return"
            }
            Self::Unsupported { part: "Paddle graph", .. } => {
                "a graph of Paddle is straight-line code: calls below `paddle`, lists, tuples, literals, and a return"
            }
            Self::Unsupported { part: "tensor meta", .. } => "write classes whose attributes are literals",
            Self::Unsupported { .. } => "remove it; the files of a sample are straight-line code and literals",
            Self::Unbound(_) => "assign it before, or add it as a parameter of forward",
            Self::ReservedName(_) => "choose another name; this one has a meaning of its own in the text of a graph",
            Self::DuplicateParameter(_) => "rename one of them",
            Self::NoForward => "define `class GraphModule(torch.nn.Module)` with `def forward(self, ...)`",
            Self::NoReturn => "end forward with `return (x,)`; a file that was cut off looks like this",
            Self::HugeInteger(_) => "use a float, or a smaller integer",
            Self::Graph(_) => "see the laws in the documentation of passnet_graph::verify",
            Self::BadAttribute { .. } => "see the tensor metas in docs/reference/inputs.md",
            Self::UnknownAttribute(_) => {
                "use name, original_name, shape, dtype, device, mean, std, data, min_val (or low) or max_val (or high)"
            }
            Self::NoName => "add `name = \"...\"`, the parameter of forward that the class describes",
            Self::UnknownDType(_) => "use a PyTorch dtype such as \"torch.float32\"",
            Self::DataLength { .. } => "list every element in row-major order, or write `data = None`",
            Self::HugeShape => "use smaller dimensions",
            Self::DuplicateTensor(_) => "remove one of the classes",
            Self::MissingTensor(_) => "add a class with that `name` to weight_meta.py",
            Self::ExtraTensor(_) => "remove the class, or correct its `name`",
            Self::Json(_) => "write one flat JSON object",
        })
    }
}

impl Error {
    pub(crate) fn at(path: &str, text: &str, offset: usize, kind: ErrorKind) -> Self {
        // The parser's offset may lie behind the text, or inside a character of more than one byte.
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let snippet = text[line_start..].lines().next().unwrap_or_default();
        Self(Box::new(Details {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[line_start..offset].chars().count() + 1,
            snippet: snippet.to_owned(),
            kind,
        }))
    }

    pub(crate) fn of_file(path: impl Into<String>, kind: ErrorKind) -> Self {
        Self(Box::new(Details { path: path.into(), line: 0, column: 0, snippet: String::new(), kind }))
    }

    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::of_file(path.display().to_string(), ErrorKind::Io(error.to_string()))
    }

    /// Returns the file, as the caller named it.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the line, counted from 1; 0 if the error is about the whole file.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// Returns the column in characters, counted from 1; 0 if the error is about the whole file.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// Returns the line of text that contains the error; empty if the error is about the whole file.
    pub fn snippet(&self) -> &str {
        &self.0.snippet
    }

    /// Returns the problem.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }
}

/// Largest number of columns of a line that are shown.
const SHOWN_COLUMNS: usize = 100;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { path, line, column, snippet, kind } = &*self.0;
        if *line == 0 {
            write!(f, "{path}: {kind}")?;
        } else {
            let gutter = line.to_string().len();
            // Lines of graphs can have thousands of columns, so only the columns up to the error are shown.
            let skipped = column.saturating_sub(SHOWN_COLUMNS);
            let shown: String = snippet.chars().skip(skipped).take(SHOWN_COLUMNS).map(printable).collect();
            write!(f, "{path}:{line}:{column}: {kind}\n{:gutter$} |\n{line} | {shown}\n{:gutter$} | ", "", "")?;
            write!(f, "{:>1$}", "^", column - skipped)?;
        }
        match kind.help() {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// Returns a character that is safe and one column wide, because hostile files may contain control characters for terminals.
fn printable(char: char) -> char {
    if char.is_control() { ' ' } else { char }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
