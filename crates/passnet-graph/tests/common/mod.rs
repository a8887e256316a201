//! A shorthand for graphs in tests: `inputs | statements | outputs`, words separated by blanks.
//!
//! ```text
//! x w | a = torch.conv2d x w ( 1 1 ) ; b = .add_ a 1.0 ; torch.relu b inplace=True | a b
//! ```
//! A target that begins with a point is a method. A statement without a name gets one (`_0`, `_1` ...).

use passnet_graph::{Arg, Builder, Graph, ValueId};

pub(crate) fn graph(text: &str) -> Graph {
    let [inputs, statements, outputs] = text.split('|').collect::<Vec<_>>()[..] else { panic!("{text}") };
    let mut reader = Reader { builder: Graph::builder(), names: Vec::new() };
    for name in inputs.split_whitespace() {
        let value = reader.builder.input(name);
        reader.names.push((name.to_owned(), value));
    }
    for (index, statement) in statements.split(';').filter(|statement| !statement.trim().is_empty()).enumerate() {
        let (name, call) = statement.split_once(" = ").unwrap_or(("", statement));
        let name = if name.is_empty() { format!("_{index}") } else { name.trim().to_owned() };
        let mut words = call.split_whitespace();
        let target = words.next().unwrap();
        let (args, kwargs) = reader.args(&mut words);
        let kwargs: Vec<(&str, Arg)> = kwargs.iter().map(|(key, arg)| (key.as_str(), *arg)).collect();
        let value = match target.strip_prefix('.') {
            Some(method) => reader.builder.call_method(&name, method, &args, &kwargs),
            None => reader.builder.call_function(&name, target, &args, &kwargs),
        };
        reader.names.push((name, value));
    }
    let (outputs, _) = reader.args(&mut outputs.split_whitespace());
    reader.builder.finish(&outputs).unwrap()
}

struct Reader {
    builder: Builder,
    names: Vec<(String, ValueId)>,
}

impl Reader {
    /// Reads up to a closing bracket or the end.
    fn args<'t>(&mut self, words: &mut impl Iterator<Item = &'t str>) -> (Vec<Arg>, Vec<(String, Arg)>) {
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        while let Some(word) = words.next() {
            match word {
                "]" | ")" => break,
                "[" => {
                    let elements = self.args(words).0;
                    args.push(self.builder.list(&elements));
                }
                "(" => {
                    let elements = self.args(words).0;
                    args.push(self.builder.tuple(&elements));
                }
                _ => match word.split_once('=') {
                    Some((key, word)) => kwargs.push((key.to_owned(), self.atom(word))),
                    None => args.push(self.atom(word)),
                },
            }
        }
        (args, kwargs)
    }

    fn atom(&mut self, word: &str) -> Arg {
        match word {
            "None" => Arg::None,
            "True" => Arg::Bool(true),
            "False" => Arg::Bool(false),
            "..." => Arg::Ellipsis,
            _ if word.starts_with('\'') => self.builder.str(word.trim_matches('\'')),
            _ => match (word.parse(), word.parse()) {
                (Ok(int), _) => Arg::Int(int),
                (_, Ok(float)) => Arg::Float(float),
                _ => self.names.iter().find(|(name, _)| name == word).unwrap_or_else(|| panic!("{word}")).1.into(),
            },
        }
    }
}
