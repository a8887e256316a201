"""A server of chat completions that gives fixed answers: it looks at the graph, writes passes, evaluates them, and ends."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def tool_call(index: int, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{index}", "type": "function", "function": function}


class ScriptedModel:
    """A model that writes these files, on a local port. Use it as a context manager; `url` is its address."""

    def __init__(self, files: dict[str, str]) -> None:
        write = [
            tool_call(index, "file_editor", command="create", path=f"/passes/{name}", file_text=text)
            for index, (name, text) in enumerate(files.items())
        ]
        turns = [[tool_call(0, "graph_info")], [*write, tool_call(len(write), "pass_evaluator")], []]

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                done = sum(message["role"] == "assistant" for message in request["messages"])
                calls = turns[min(done, len(turns) - 1)]
                message = {"role": "assistant", "content": "", **({"tool_calls": calls} if calls else {})}
                finish = "tool_calls" if calls else "stop"
                usage = {"prompt_tokens": 100, "completion_tokens": 10}
                reply = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Writes nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
