"""The example passes of the agent's prompt."""

import importlib.util
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "crates/passnet-agent/prompts"


def load(folder, device):
    """Imports the example for a device."""
    text = (EXAMPLES / f"example-{device}.md").read_text().strip()
    path = folder / "relu_add.py"
    path.write_text(text.removeprefix("```python\n").removesuffix("```"))
    spec = importlib.util.spec_from_file_location(f"example_{device}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "device",
    ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))],
)
def test_an_example_is_right_for_its_types_and_refuses_others(tmp_path, device):
    module = load(tmp_path, device)
    replacement = module.replacement_func()
    x, y = torch.randn(2, 3, 100).to(device)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        a, b = x.to(dtype), y.to(dtype)
        for _ in range(3):
            assert torch.equal(replacement(*module.replacement_args(a, b)), module.pattern(a, b)), dtype
    refused = [(x.double(), y.double()), (x, y.half()), (x, y[:1]), (x.t(), y.t())]
    for a, b in refused:
        with pytest.raises(ValueError, match="relu_add"):
            replacement(a, b)
