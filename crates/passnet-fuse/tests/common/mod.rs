//! What tests of whole passes share: a builder of typed graphs, and passes as text.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside their functions")]

use passnet_fuse::{PassDir, TensorType, Type, TypedGraph};
use passnet_graph::{Arg, Builder, ValueId};
use passnet_record::DType;

/// A graph under construction with the types of its values.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) builder: Builder,
    types: Vec<Type>,
}

impl Draft {
    /// A row-major tensor from outside.
    pub(crate) fn input(&mut self, name: &str, shape: &[i64], dtype: DType) -> ValueId {
        self.types.push(tensor(shape, dtype));
        self.builder.input(name)
    }

    /// A call of a function by its full name, and the type of its result.
    pub(crate) fn function(&mut self, target: &str, args: &[Arg], ty: Type) -> ValueId {
        self.types.push(ty);
        self.builder.call_function(&format!("v{}", self.types.len()), target, args, &[])
    }

    /// A call of a method of the first argument, and the type of its result.
    pub(crate) fn method(&mut self, target: &str, args: &[Arg], ty: Type) -> ValueId {
        self.types.push(ty);
        self.builder.call_method(&format!("v{}", self.types.len()), target, args, &[])
    }

    pub(crate) fn finish(self, outputs: &[ValueId]) -> TypedGraph {
        let outputs: Vec<Arg> = outputs.iter().map(|&output| output.into()).collect();
        TypedGraph::new(self.builder.finish(&outputs).unwrap(), self.types).unwrap()
    }
}

/// A row-major tensor.
pub(crate) fn tensor(shape: &[i64], dtype: DType) -> Type {
    Type::Tensor(TensorType::contiguous(shape, dtype))
}

/// All passes, without the functions that every kernel in C++ begins with.
pub(crate) fn text(passes: &PassDir) -> String {
    let own = |content: &String| match (content.split_once("SOURCE = \"\"\"\n"), content.split_once("extern \"C\"")) {
        (Some((before, _)), Some((_, after))) => format!("{before}SOURCE = ...\nextern \"C\"{after}"),
        _ => content.clone(),
    };
    passes.files.iter().map(|(name, content)| format!("== {name}\n{}", own(content))).collect()
}
