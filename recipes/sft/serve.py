"""A small OpenAI-compatible server of a transformers model, to try a checkpoint as `--author llm:NAME`.

    python recipes/sft/serve.py out/sft --port 8000
    passnet bench run suites/demo --author llm:sft --base-url http://127.0.0.1:8000/v1

It answers one request at a time and reads tool calls in the Hermes notation (`<tool_call>{...}</tool_call>`); for real work use
vLLM or SGLang. With port 0 the system chooses the port; the address is printed.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_BODY = 64 << 20


class Model:
    """A checkpoint and its tokenizer."""

    def __init__(self, path: str, device: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.model = AutoModelForCausalLM.from_pretrained(path).to(device).eval()
        self.lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the body of an answer."""
        torch = self.torch
        text = self.tokenizer.apply_chat_template(
            request["messages"], tools=request.get("tools"), tokenize=False, add_generation_prompt=True
        )
        context = getattr(self.model.config, "max_position_embeddings", 1 << 20)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        wanted = int(request.get("max_tokens") or request.get("max_completion_tokens") or 512)
        if ids.shape[1] >= context:
            raise ValueError(f"maximum context length is {context} tokens, the messages have {ids.shape[1]}")
        temperature = float(request.get("temperature", 1.0))
        sampling = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
        with self.lock, torch.inference_mode():
            if "seed" in request:
                torch.manual_seed(int(request["seed"]))
            output = self.model.generate(
                ids.to(self.model.device),
                attention_mask=torch.ones_like(ids).to(self.model.device),
                max_new_tokens=min(wanted, context - ids.shape[1]),
                pad_token_id=self.tokenizer.pad_token_id or self.tokenizer.eos_token_id,
                **sampling,
            )[0, ids.shape[1] :]
        ended = len(output) > 0 and int(output[-1]) == self.tokenizer.eos_token_id
        content = self.tokenizer.decode(output, skip_special_tokens=True)
        calls = []
        if request.get("tools"):
            content, calls = split_calls(content)
        message = {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})
        return {
            "object": "chat.completion",
            "model": request.get("model"),
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if calls else "stop" if ended else "length",
                }
            ],
            "usage": {"prompt_tokens": ids.shape[1], "completion_tokens": len(output)},
        }


def split_calls(text: str) -> tuple[str, list[dict[str, Any]]]:
    """Splits `<tool_call>` blocks from a text. A block that is not a call stays text."""
    calls: list[dict[str, Any]] = []

    def take(block: re.Match[str]) -> str:
        try:
            call = json.loads(block[1])
            name, arguments = call["name"], call.get("arguments", {})
        except (KeyError, TypeError, ValueError):
            return block[0]
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append({"id": f"call_{len(calls)}", "type": "function", "function": {"name": name, "arguments": written}})
        return ""

    rest = re.sub(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", take, text, flags=re.DOTALL)
    return rest.strip(), calls


def handler(model: Model) -> type[BaseHTTPRequestHandler]:
    """Returns a request handler for the model."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path.rstrip("/") != "/v1/chat/completions":
                return self._send(404, {"error": {"message": f"no such path: {self.path}"}})
            length = int(self.headers.get("content-length", 0))
            if length > MAX_BODY:
                return self._send(413, {"error": {"message": "the request is too large"}})
            try:
                return self._send(200, model.answer(json.loads(self.rfile.read(length))))
            except (KeyError, TypeError, ValueError) as error:
                return self._send(400, {"error": {"message": str(error)}})

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="path of a checkpoint, or a name on the Hugging Face hub")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    server = ThreadingHTTPServer((arguments.host, arguments.port), handler(Model(arguments.model, arguments.device)))
    print(f"http://{arguments.host}:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
