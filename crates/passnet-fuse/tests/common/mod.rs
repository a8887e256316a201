//! Typed graphs from their text form, and passes as text.
//!
//! The text form is that of [`passnet_graph::Graph`] without op indices, with a type after each input and call:
//!
//! ```text
//! inputs x: float32[4, 6], ids: int64[4]
//! turned = x.transpose(0, 1): float32[6, 4]{1, 6}
//! set = operator.setitem(turned, slice(1, None, None), ids): ?
//! return turned
//! ```
//! Strides are in braces where a tensor is not row-major, `host` is before a tensor in host memory, `?` is an unknown type.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside their functions")]

use std::{collections::BTreeMap, iter::Peekable, str::Chars};

use passnet_graph::{Arg, Builder, Graph, TensorType, Type, TypedGraph, ValueId};
use passnet_record::PassDirectory;

/// Reads a graph; panics at the first thing that is not of the text form.
pub(crate) fn typed_graph(text: &str) -> TypedGraph {
    let mut reader =
        Reader { rest: text.chars().peekable(), builder: Graph::builder(), values: BTreeMap::new(), types: Vec::new() };
    reader.keyword("inputs");
    loop {
        let name = reader.word();
        let value = reader.builder.input(&name);
        reader.define(name, value);
        if !reader.takes(',') {
            break;
        }
    }
    loop {
        let name = reader.word();
        if name == "return" {
            break;
        }
        reader.expect('=');
        let value = reader.call(&name);
        reader.define(name, value);
    }
    let mut outputs = vec![reader.arg()];
    while reader.takes(',') {
        outputs.push(reader.arg());
    }
    TypedGraph::new(reader.builder.finish(&outputs).unwrap(), reader.types).unwrap()
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    builder: Builder,
    values: BTreeMap<String, ValueId>,
    types: Vec<Type>,
}

impl Reader<'_> {
    /// Takes a character if it is next.
    fn takes(&mut self, character: char) -> bool {
        while self.rest.next_if(|next| next.is_whitespace()).is_some() {}
        self.rest.next_if_eq(&character).is_some()
    }

    fn expect(&mut self, character: char) {
        assert!(self.takes(character), "`{character}` is missing before `{}`", self.rest.clone().collect::<String>());
    }

    /// A name with points, or a number.
    fn word(&mut self) -> String {
        while self.rest.next_if(|next| next.is_whitespace()).is_some() {}
        let mut word = String::new();
        while let Some(next) = self.rest.next_if(|&next| next.is_alphanumeric() || "_.+-".contains(next)) {
            word.push(next);
        }
        assert!(!word.is_empty(), "a word is missing before `{}`", self.rest.clone().collect::<String>());
        word
    }

    fn keyword(&mut self, keyword: &str) {
        assert_eq!(self.word(), keyword);
    }

    /// The type of a value, after which it can be named.
    fn define(&mut self, name: String, value: ValueId) {
        self.expect(':');
        let ty = if self.takes('?') { Type::Unknown } else { self.tensor() };
        self.types.push(ty);
        self.values.insert(name, value);
    }

    fn tensor(&mut self) -> Type {
        let word = self.word();
        let (is_on_host, dtype) = if word == "host" { (true, self.word()) } else { (false, word) };
        self.expect('[');
        let shape = self.numbers(']');
        let dtype = serde_json::from_value(dtype.into()).unwrap();
        let mut tensor = TensorType::contiguous(&shape, dtype);
        if self.takes('{') {
            tensor.stride = self.numbers('}');
        }
        if is_on_host { Type::Host { host: tensor } } else { Type::Tensor(tensor) }
    }

    fn numbers(&mut self, end: char) -> Vec<i64> {
        let mut numbers = Vec::new();
        while !self.takes(end) {
            numbers.push(self.word().parse().unwrap());
            self.takes(',');
        }
        numbers
    }

    fn call(&mut self, name: &str) -> ValueId {
        let target = self.word();
        self.expect('(');
        let (mut args, mut keywords) = (Vec::new(), Vec::new());
        while !self.takes(')') {
            match self.argument_name() {
                Some(name) => keywords.push((name, self.arg())),
                None => args.push(self.arg()),
            }
            self.takes(',');
        }
        let keywords: Vec<(&str, Arg)> = keywords.iter().map(|(name, arg)| (name.as_str(), *arg)).collect();
        match target.split_once('.').and_then(|(receiver, method)| Some((*self.values.get(receiver)?, method))) {
            Some((receiver, method)) => {
                args.insert(0, receiver.into());
                self.builder.call_method(name, method, &args, &keywords)
            }
            None => self.builder.call_function(name, &target, &args, &keywords),
        }
    }

    /// The name before `=`, where the next argument has one.
    fn argument_name(&mut self) -> Option<String> {
        let rest = self.rest.clone();
        let name = (!"([\'".contains(self.rest.peek().copied()?)).then(|| self.word())?;
        if self.takes('=') {
            return Some(name);
        }
        self.rest = rest;
        None
    }

    fn args(&mut self, end: char) -> Vec<Arg> {
        let mut args = Vec::new();
        while !self.takes(end) {
            args.push(self.arg());
            self.takes(',');
        }
        args
    }

    fn arg(&mut self) -> Arg {
        if self.takes('(') {
            let elements = self.args(')');
            return self.builder.tuple(&elements);
        }
        if self.takes('[') {
            let elements = self.args(']');
            return self.builder.list(&elements);
        }
        if self.takes('\'') {
            let mut text = String::new();
            while let Some(next) = self.rest.next_if(|&next| next != '\'') {
                text.push(next);
            }
            self.expect('\'');
            return self.builder.str(&text);
        }
        match self.word().as_str() {
            "None" => Arg::None,
            "True" => Arg::Bool(true),
            "False" => Arg::Bool(false),
            "..." => Arg::Ellipsis,
            "slice" => {
                self.expect('(');
                let [start, stop, step] = self.args(')')[..] else { panic!("a slice has three elements") };
                self.builder.slice(start, stop, step)
            }
            word => match (word.parse(), word.parse()) {
                (Ok(int), _) => Arg::Int(int),
                (_, Ok(float)) => Arg::Float(float),
                _ => self.values.get(word).copied().unwrap_or_else(|| panic!("no value `{word}`")).into(),
            },
        }
    }
}

/// All passes, one after the other.
pub(crate) fn text(passes: &PassDirectory) -> String {
    let file = |(name, bytes): &(String, Vec<u8>)| format!("== {name}\n{}", std::str::from_utf8(bytes).unwrap());
    passes.files().iter().map(file).collect()
}
