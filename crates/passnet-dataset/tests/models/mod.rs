//! Sample folders of small models.

use std::{fs, path::Path};

/// A graph of `layers` equal layers; values are called after `name`.
pub(crate) fn write_model(root: &Path, path: &str, name: &str, layers: usize, width: u32) {
    let mut body = String::new();
    let mut last = "x".to_owned();
    for layer in 0..layers {
        let value = |op: &str| format!("{name}_{op}_{layer}");
        body += &format!("        {} = torch._C._nn.linear({last}, w, None)\n", value("linear"));
        body += &format!("        {} = torch.nn.functional.relu({}, inplace=False)\n", value("relu"), value("linear"));
        body += &format!("        {} = {}.view({width}, {width})\n", value("view"), value("relu"));
        body += &format!("        {} = {} + x\n", value("add"), value("view"));
        last = value("add");
    }
    let model = format!(
        "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x: torch.Tensor, w: torch.Tensor):\n\
         {body}        return ({last},)\n"
    );
    let meta = |name: &str| {
        format!(
            "class Program_weight_tensor_meta_{name}:\n    name = \"{name}\"\n    shape = [{width}, {width}]\n    \
             dtype = \"torch.float16\"\n    device = \"cpu\"\n    mean = 0.0\n    std = 1.0\n    data = None\n"
        )
    };
    let folder = root.join(path);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.py"), model).unwrap();
    fs::write(folder.join("weight_meta.py"), meta("x") + &meta("w")).unwrap();
    fs::write(folder.join("input_meta.py"), "").unwrap();
    fs::write(folder.join("graph_net.json"), "{\"framework\": \"torch\", \"source\": \"tests\"}").unwrap();
}
