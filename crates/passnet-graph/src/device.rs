use crate::{Arg, Callee, DeviceConstant, Graph, Node, names::is_identifier};

impl Graph {
    /// Returns the same graph for another device.
    ///
    /// Replaces every device constant and every string of the form `cuda:N`. Replaces the strings `cuda` and `cpu` where they are an
    /// argument named `device` or the only argument of `.to`. `kind` is `cpu`, `cuda` ...; `index` is the ordinal to write, usually
    /// `None`. The device type of an autocast call stays, because it selects a mode and not a device. If `kind` is not an identifier, it
    /// cannot be a device, and the graph is returned unchanged.
    #[must_use]
    pub fn with_device(&self, kind: &str, index: Option<u32>) -> Self {
        let mut graph = self.clone();
        if !is_identifier(kind) {
            return graph;
        }
        let text = index.map_or_else(|| kind.to_owned(), |index| format!("{kind}:{index}"));
        // This change can only break a law if the string pool has no room for two more strings. The graph then keeps its device.
        let (Some(kind), Some(text)) = (graph.strings.push(kind), graph.strings.push(&text)) else {
            return graph;
        };
        let device = Arg::Device(DeviceConstant { kind, index });
        let replacement = |arg: Arg| match arg {
            Arg::Device(_) => Some(device),
            Arg::Str(id) if is_cuda_ordinal(self.str(id)) => Some(Arg::Str(text)),
            _ => None,
        };
        for arg in graph.args.iter_mut().chain(graph.kwargs.iter_mut().map(|(_, arg)| arg)) {
            *arg = replacement(*arg).unwrap_or(*arg);
        }
        // The strings `cuda` and `cpu` can mean other things elsewhere, such as a key, so they are replaced only
        // where they must be a device.
        for node in self.nodes() {
            let data = self.nodes[node.id.index()];
            if is_bare_to(self, &node) {
                graph.args[data.args.start as usize + 1] = Arg::Str(text);
            }
            for (position, &(key, arg)) in data.kwargs.indices().zip(node.kwargs) {
                if self.str(key) == "device" && is_device_name(self, arg) {
                    graph.kwargs[position].1 = Arg::Str(text);
                }
            }
        }
        graph
    }
}

fn is_bare_to(graph: &Graph, node: &Node<'_>) -> bool {
    node.callee == Callee::Method("to") && node.args.len() == 2 && is_device_name(graph, node.args[1])
}

fn is_device_name(graph: &Graph, arg: Arg) -> bool {
    matches!(arg, Arg::Str(id) if matches!(graph.str(id), "cuda" | "cpu"))
}

fn is_cuda_ordinal(text: &str) -> bool {
    text.strip_prefix("cuda:").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
