//! Bad input of every kind is an error that names the place and the remedy, never a panic.

use passnet_graphnet::{
    GraphNetMeta, MAX_SOURCE_BYTES, Sample, graph_module, metas,
    sample::{SampleTexts, read_sample_dir},
};

/// A `forward` with the given body.
fn forward(body: &str) -> String {
    format!("import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x, w):\n        {body}\n")
}

/// The messages for some texts, under their names.
fn messages<T>(cases: &[(&str, String)], parse: impl Fn(&str, &str) -> Result<T, passnet_graphnet::Error>) -> String {
    let message = |(name, text): &(&str, String)| match parse("model.py", text) {
        Ok(_) => panic!("{name} is accepted"),
        Err(error) => format!("== {name}\n{error}\n\n"),
    };
    cases.iter().map(message).collect()
}

#[test]
fn models() {
    let whole = forward("y = torch.relu(x)\n        return (y,)");
    let nested =
        |open: &str, close: &str| forward(&format!("return {}x{}", open.repeat(100_000), close.repeat(100_000)));
    let body = |text: &str| forward(&format!("{text}\n        return (x,)"));
    let cases = [
        ("empty", String::new()),
        ("truncated between statements", whole[..whole.find("        return").unwrap()].to_owned()),
        ("truncated in a call", whole[..whole.find("(x)").unwrap() + 2].to_owned()),
        ("garbage", "\u{0}\u{1}]]]%PDF-1.7 \u{fffd}".to_owned()),
        ("no python", body("y = = x")),
        ("no forward", "class GraphModule: pass".to_owned()),
        ("unbound name", body("y = torch.relu(z)")),
        ("used after it was dropped", body("y = x\n        y = None\n        z = torch.relu(y)")),
        ("missing return", forward("y = torch.relu(x)")),
        ("bare return", forward("return")),
        ("code after return", forward("return (x,)\n        y = x")),
        ("brackets", nested("(", ")")),
        ("signs", nested("-", "")),
        ("tuples", body(&format!("y = torch.cat({}x{})", "(".repeat(50), ",)".repeat(50)))),
        ("huge integer", body("y = x + 123456789012345678901234567890")),
        ("duplicate parameter", whole.replace("x, w", "x, x")),
        ("loop", body("for i in x: pass")),
        ("branch", body("if x: pass")),
        ("lambda", body("y = x.apply_(lambda v: v)")),
        ("formatted string", body("y = x.to(f'{x}')")),
        ("submodule", body("y = self.linear(x)")),
        ("foreign call", body("y = os.system('true')")),
        ("unknown builtin", body("y = eval('x')")),
        ("unknown operator", body("y = operator.methodcaller(x)")),
        ("starred", body("y = torch.cat(*x)")),
        ("double starred", body("y = torch.cat(x, **w)")),
        ("chained comparison", body("y = 0 < x < 1")),
        ("complex number", body("y = x * 1j")),
        ("reserved name", body("torch = x")),
        ("name that is not ASCII", body("é = torch.relu(x)")),
        ("default value", whole.replace("x, w", "x, w=None")),
        ("variadic", whole.replace("x, w", "x, *w")),
        ("malformed device", body("y = x.to(device(0))")),
        ("long line", body(&format!("y = torch.cat(({}z))", "x, ".repeat(1_000)))),
    ];
    insta::assert_snapshot!(messages(&cases, graph_module::parse));
}

#[test]
fn tensor_metas() {
    let class = |body: &str| format!("class Meta_x:\n    name = \"x\"\n    {}\n", body.replace("; ", "\n    "));
    let cases = [
        ("truncated", "class Meta_x:\n    name = \"x\"\n    shape = [1,".to_owned()),
        ("code", class("shape = [1]; import_ = __import__(\"os\")")),
        ("statement", "print(1)".to_owned()),
        ("no name", "class Meta_x:\n    shape = []".to_owned()),
        ("empty name", "class Meta_x:\n    name = \"\"".to_owned()),
        ("negative extent", class("shape = [2, -1]")),
        ("float extent", class("shape = [2.0]")),
        ("shape that is no list", class("shape = 5")),
        ("huge extent", class("shape = [99999999999999999999]")),
        ("huge shape", class("shape = [9223372036854775807, 3]")),
        ("unknown dtype", class("dtype = \"torch.float8\"")),
        ("mean that is text", class("mean = \"0\"")),
        ("data of another length", class("shape = [3]; data = [1, 2]")),
        ("nested data", class("shape = [2]; data = [[1], [2]]")),
        ("text as data", class("shape = [1]; data = [\"1\"]")),
        ("the same tensor twice", class("shape = []").repeat(2)),
    ];
    insta::assert_snapshot!(messages(&cases, metas::parse));
}

#[test]
fn samples() {
    let model = forward("return (x,)");
    let class = |name: &str| format!("class M:\n    name = \"{name}\"\n");
    let cases = [
        ("missing", class("x")),
        ("extra", class("x") + &class("w") + &class("y")),
        ("both", class("x") + &class("y")),
    ];
    let parse = |_: &str, weight_meta: &str| {
        Sample::parse(&SampleTexts {
            path: "sample",
            model: &model,
            weight_meta,
            input_meta: None,
            graph_net: None,
            constraints: None,
            graph_hash: None,
        })
    };
    insta::assert_snapshot!(messages(&cases, parse));
    let json = [("array", "[]".to_owned()), ("type", "{\n  \"dynamic\": 1}".to_owned()), ("cut", "{\"a\"".to_owned())];
    insta::assert_snapshot!(messages(&json, GraphNetMeta::parse));
}

#[test]
fn folders() {
    let dir = tempfile::tempdir().unwrap();
    let error = read_sample_dir(dir.path()).unwrap_err();
    assert!(error.path().ends_with("model.py"), "{error}");
    std::fs::write(dir.path().join("model.py"), b"\xff\xfe\x00").unwrap();
    std::fs::write(dir.path().join("weight_meta.py"), b"").unwrap();
    assert!(read_sample_dir(dir.path()).unwrap_err().to_string().contains("UTF-8"));
    let error = graph_module::parse("model.py", &" ".repeat(MAX_SOURCE_BYTES + 1)).unwrap_err();
    assert!(error.to_string().contains("67108865 bytes"), "{error}");
}

/// The stack of a thread pool's thread is 2 MiB; half of it must do.
#[test]
fn the_deepest_text_that_is_read_fits_a_small_stack() {
    let deep =
        |open: &str, close: &str, times| forward(&format!("return {}x{}", open.repeat(times), close.repeat(times)));
    let run = move || {
        let (mut accepted, mut quick_ones) = (0, 0);
        for times in 1..250 {
            for (open, close) in [("-", ""), ("(", ")"), ("torch.relu(", ")"), ("", "[0]"), ("", "+ x"), ("", ".T")] {
                let text = deep(open, close, times);
                let graph = graph_module::parse_by_tree("model.py", &text);
                accepted += usize::from(graph.is_ok());
                let quick = graph_module::parse_quickly(&text);
                quick_ones += usize::from(quick.is_some());
                assert!(quick.is_none() || quick == graph.ok(), "{text}");
                let _ = passnet_graphnet::unparse::unparse("model.py", &text);
            }
        }
        (accepted, quick_ones)
    };
    let (accepted, quick_ones) = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    assert!(accepted > 500 && quick_ones > 100, "{accepted}, {quick_ones}");
}
