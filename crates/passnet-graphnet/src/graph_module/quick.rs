//! A reader for the Python in which graphs are printed: from bytes to graph in one pass, without tokens or a tree.
//!
//! It reads only what `torch.fx` and formatters print, and it has no errors: `None` means that the text has
//! something it does not know, right or wrong, and that the parser has to be asked. Where it does answer, the answer is
//! that of the parser and [`super::lower`], so all text read here is checked as strictly as there:
//!
//! - Words that are keywords never get into a graph: names of values are checked by [`Local::is_value_name`], all others
//!   by the laws of the graph ([`passnet_graph::verify`]).
//! - Nesting is counted in tokens, as [`crate::nesting`] does, and stays below half of what is allowed there.
//! - Nodes, arguments and names come in the order in which a walk over the tree finds them.

mod cursor;
mod expr;
mod statements;

use passnet_graph::{
    Arg, Graph,
    names::{is_identifier, is_torch_path},
};

use self::cursor::Cursor;
use super::{body::ModuleBody, scope::Local};
use crate::nesting::MAX_NESTING;

/// Reads a graph; `None` if the text is for the parser.
pub(super) fn read(text: &str) -> Option<Graph> {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        body: ModuleBody::of_text(text.len()),
        indent: 0,
        depth: 0,
        brackets: 0,
        targets: Vec::new(),
    };
    reader.head()?;
    let outputs = reader.statements()?;
    reader.body.finish(&outputs).ok()
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    body: ModuleBody<'a>,
    /// Columns before each statement.
    indent: usize,
    /// At least as many tokens as there are levels of the syntax tree here.
    depth: u32,
    /// Number of open brackets.
    brackets: u32,
    /// Names left of the `=` of the statement that is being read.
    targets: Vec<Local<'a>>,
}

/// An open bracket.
#[derive(Clone, Copy)]
struct Bracket {
    /// The closing bracket.
    close: u8,
    /// The depth right after it.
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Counts tokens towards the nesting.
    fn deepen(&mut self, tokens: u32) -> Option<()> {
        self.depth += tokens;
        // Half of the limit, as a margin: the quick reader must never accept text that the parser refuses.
        (self.depth < MAX_NESTING / 2).then_some(())
    }

    /// Steps over a round or square bracket.
    fn open(&mut self) -> Option<Bracket> {
        let close = if self.cursor.byte() == b'(' { b')' } else { b']' };
        self.cursor.step(1);
        self.deepen(1)?;
        self.brackets += 1;
        self.cursor.trivia();
        Some(Bracket { close, depth: self.depth })
    }

    /// Steps over the end of a bracket, if it is here.
    fn closes(&mut self, bracket: Bracket) -> bool {
        let is_end = self.cursor.eat(bracket.close);
        if is_end {
            self.depth = bracket.depth;
            self.brackets -= 1;
        }
        is_end
    }

    /// After one thing in a bracket: true after a comma that something follows, false after the end of the bracket.
    fn continues(&mut self, bracket: Bracket) -> Option<bool> {
        self.cursor.trivia();
        if self.cursor.eat(b',') {
            self.depth = bracket.depth;
            self.cursor.trivia();
            return Some(!self.closes(bracket));
        }
        self.closes(bracket).then_some(false)
    }

    /// The rest of a line on which nothing more may stand.
    fn end_of_line(&mut self) -> Option<()> {
        self.cursor.spaces();
        if self.cursor.byte() == b'#' {
            self.cursor.comment();
        }
        self.cursor.expect(b'\n')
    }

    /// Steps over empty lines and to the first thing on the next one; gives its column.
    fn next_line(&mut self) -> Option<usize> {
        loop {
            let column = self.cursor.spaces();
            match self.cursor.byte() {
                b'\n' | b'#' => self.end_of_line()?,
                _ => return Some(column),
            }
        }
    }

    /// Imports, the class, and `forward` to the end of its parameters.
    fn head(&mut self) -> Option<()> {
        loop {
            if self.next_line()? != 0 {
                return None;
            }
            if self.cursor.eat_word("import") {
                self.module()?;
            } else if self.cursor.eat_word("from") {
                self.module()?;
                self.cursor.spaces();
                self.cursor.eat_word("import").then_some(())?;
                self.cursor.spaces();
                self.identifier()?;
            } else {
                break;
            }
            self.end_of_line()?;
        }
        self.cursor.expect_text("class ")?;
        self.identifier()?;
        self.cursor.expect_text("(torch.nn.Module):")?;
        self.end_of_line()?;
        let column = self.next_line()?;
        self.cursor.expect_text("def forward(")?;
        self.parameters()?;
        self.cursor.expect(b':')?;
        self.end_of_line()?;
        self.indent = self.next_line()?;
        // Indentation counts as nesting. (An empty body begins with the text at the column of `def` or before.)
        (column > 0 && self.indent > column && self.indent < MAX_NESTING as usize / 4).then_some(())
    }

    /// `a.b.c` in an import, which has no meaning for the graph.
    fn module(&mut self) -> Option<()> {
        self.depth = 0;
        self.cursor.spaces();
        self.identifier()?;
        while self.cursor.eat(b'.') {
            self.deepen(2)?;
            self.identifier()?;
        }
        Some(())
    }

    fn identifier(&mut self) -> Option<&'a str> {
        self.cursor.word().filter(|word| is_identifier(word))
    }

    /// `self, x: torch.Tensor, y)`
    fn parameters(&mut self) -> Option<()> {
        self.cursor.trivia();
        self.cursor.eat_word("self").then_some(())?;
        loop {
            self.cursor.trivia();
            if self.cursor.eat(b')') {
                return Some(());
            }
            self.cursor.expect(b',')?;
            self.cursor.trivia();
            if self.cursor.eat(b')') {
                return Some(());
            }
            let name = self.cursor.word()?;
            let local = self.value_name(name)?;
            if !self.body.parameter(local) {
                return None;
            }
            self.cursor.trivia();
            if self.cursor.eat(b':') {
                self.annotation()?;
            }
        }
    }

    /// The annotation of a parameter, which has no meaning for the graph.
    fn annotation(&mut self) -> Option<()> {
        self.cursor.trivia();
        if matches!(self.cursor.byte(), b'\'' | b'"') {
            return self.cursor.string().map(|_| ());
        }
        let start = self.cursor.at();
        self.cursor.word()?;
        self.depth = 0;
        let path = self.dotted(start)?;
        (matches!(path, "torch.Tensor" | "torch.nn.parameter.Parameter") || is_torch_path(path)).then_some(())
    }

    /// The rest of a dotted name whose first word, at `start`, was read.
    fn dotted(&mut self, start: usize) -> Option<&'a str> {
        while self.cursor.eat(b'.') {
            self.deepen(2)?;
            self.cursor.word()?;
        }
        self.cursor.since(start)
    }

    /// Returns a name that a value may have.
    fn value_name(&mut self, name: &'a str) -> Option<Local<'a>> {
        Some(self.body.scope.local(name)).filter(|local| local.is_value_name)
    }

    /// Pushes an argument on the stack of arguments.
    fn push(&mut self, arg: Arg) {
        self.body.args.push(arg);
    }
}
