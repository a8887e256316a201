//! A reader for the Python in which graphs are printed: from bytes to graph in one pass, without tokens or a tree.
//!
//! It reads only the forms that `torch.fx` and formatters print, and it reports no errors. `None` means that the text contains a
//! form that this reader does not know, right or wrong, and that the parser has to read it. If this reader returns a graph, the
//! parser and [`super::lower`] would return the same graph, so the checks are equally strict:
//!
//! - Words that are keywords never get into a graph: names of values are checked by [`Local::is_value_name`], all others
//!   by the laws of the graph ([`passnet_graph::verify`]).
//! - Nesting is counted in tokens, as [`crate::nesting`] does, and has to stay below half of the limit there.
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

/// Reads a graph; `None` if the parser has to read the text.
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
    /// Upper bound of the number of levels of the syntax tree at this place, in tokens.
    depth: u32,
    /// Number of open brackets.
    brackets: u32,
    /// Names to the left of the `=` of the current statement.
    targets: Vec<Local<'a>>,
}

/// An open bracket.
#[derive(Clone, Copy)]
struct Bracket {
    /// The closing bracket.
    close: u8,
    /// Value of `depth` after the open bracket.
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Adds tokens to the depth. Returns `None` if the text may be too deep.
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

    /// Steps over the closing bracket, if it is next.
    fn closes(&mut self, bracket: Bracket) -> bool {
        let is_end = self.cursor.eat(bracket.close);
        if is_end {
            self.depth = bracket.depth;
            self.brackets -= 1;
        }
        is_end
    }

    /// Reads what follows an element in brackets: returns true after a comma before a further element, false after the closing
    /// bracket.
    fn continues(&mut self, bracket: Bracket) -> Option<bool> {
        self.cursor.trivia();
        if self.cursor.eat(b',') {
            self.depth = bracket.depth;
            self.cursor.trivia();
            return Some(!self.closes(bracket));
        }
        self.closes(bracket).then_some(false)
    }

    /// Steps over the rest of a line, which may contain only blanks and a comment.
    fn end_of_line(&mut self) -> Option<()> {
        self.cursor.spaces();
        if self.cursor.byte() == b'#' {
            self.cursor.comment();
        }
        self.cursor.expect(b'\n')
    }

    /// Steps over empty lines and to the first word of the next line. Returns its column.
    fn next_line(&mut self) -> Option<usize> {
        loop {
            let column = self.cursor.spaces();
            match self.cursor.byte() {
                b'\n' | b'#' => self.end_of_line()?,
                _ => return Some(column),
            }
        }
    }

    /// Reads the imports, the class, and `forward` up to the end of its parameters.
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
        // Indentation counts as nesting. (If the body is empty, the text after it begins at the column of `def` or before.)
        (column > 0 && self.indent > column && self.indent < MAX_NESTING as usize / 4).then_some(())
    }

    /// Steps over `a.b.c` in an import, which has no meaning for the graph.
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

    /// Reads parameters: `self, x: torch.Tensor, y)`.
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

    /// Steps over the annotation of a parameter, which has no meaning for the graph.
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

    /// Returns a dotted name whose first word, at `start`, was read already.
    fn dotted(&mut self, start: usize) -> Option<&'a str> {
        while self.cursor.eat(b'.') {
            self.deepen(2)?;
            self.cursor.word()?;
        }
        self.cursor.since(start)
    }

    /// Returns a name, if a value may have it.
    fn value_name(&mut self, name: &'a str) -> Option<Local<'a>> {
        Some(self.body.scope.local(name)).filter(|local| local.is_value_name)
    }

    /// Pushes an argument on the stack of arguments.
    fn push(&mut self, arg: Arg) {
        self.body.args.push(arg);
    }
}
