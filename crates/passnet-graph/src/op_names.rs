use crate::{Callee, Graph};

impl Graph {
    /// Returns the names of the ops in program order; the position of a name is the op index.
    ///
    /// The name of a method is `Tensor.<method>`. The name of a function is the last part of its path (`conv2d`, `add`, `getattr`). Below
    /// `torch.ops.<namespace>`, it is everything after the namespace, so that an overload keeps its name (`sym_size.int`). Operators of
    /// Paddle keep their namespace (`paddle.matmul`), because they differ from those of PyTorch.
    pub fn op_names(&self) -> Vec<String> {
        self.nodes().map(|node| op_name(node.callee)).collect()
    }
}

fn op_name(callee: Callee<'_>) -> String {
    match callee {
        Callee::Method(method) => format!("Tensor.{method}"),
        Callee::Function(path) => {
            if let Some(name) = path.strip_prefix("torch.ops.").filter(|name| name.starts_with("paddle.")) {
                return name.to_owned();
            }
            let of_namespace = path.strip_prefix("torch.ops.").and_then(|rest| rest.split_once('.'));
            let name = of_namespace.map(|(_, name)| name).or_else(|| path.rsplit('.').next());
            name.unwrap_or(path).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        let cases = [
            (Callee::Method("view"), "Tensor.view"),
            (Callee::Function("torch._C._nn.linear"), "linear"),
            (Callee::Function("operator.iadd"), "iadd"),
            (Callee::Function("builtins.getattr"), "getattr"),
            (Callee::Function("torch.ops.aten.sym_size.int"), "sym_size.int"),
            (Callee::Function("torch.ops.aten.index"), "index"),
            (Callee::Function("torch.ops.paddle.matmul"), "paddle.matmul"),
        ];
        for (callee, name) in cases {
            assert_eq!(op_name(callee), name);
        }
    }
}
