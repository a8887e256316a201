"""A rollout with the real `verifiers` library, against a scripted model behind real HTTP."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("verifiers.v1", reason="needs the library verifiers")

import verifiers.v1 as vf

from agent_command import ONE_GRAPH, QUICK, ROOT, TASK, binary, hand_written, served


def create(name, text):
    arguments = {"command": "create", "path": f"/passes/{name}", "file_text": text}
    return {"type": "function", "function": {"name": "file_editor", "arguments": json.dumps(arguments)}}


EVALUATE = {"type": "function", "function": {"name": "pass_evaluator", "arguments": "{}"}}


def script(turn):
    """Writes a wrong pass and has it evaluated, then the right one, then is content."""
    good = hand_written()
    wrong = {name: text.replace("0.044715f", "0.5f") for name, text in good.items()}
    turns = [[*(create(*file) for file in files.items()), EVALUATE] for files in (wrong, good)]
    calls = turns[turn] if turn < len(turns) else []
    return [{**call, "id": f"call_{turn}_{index}"} for index, call in enumerate(calls)]


class Scripted(BaseHTTPRequestHandler):
    """A model that follows the script."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        calls = script(sum(message["role"] == "assistant" for message in request["messages"]))
        message = {"role": "assistant", "content": "" if calls else "done", "tool_calls": calls or None}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body = {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
        data = json.dumps({**body, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


async def rollout(url, **agent):
    taskset = {"id": "passnet-verifiers", "suite": str(ROOT / "suites/demo")}
    taskset["flags"] = [*ONE_GRAPH, *QUICK, "--steps", "6"]
    env = vf.load_environment(vf.resolve_env_config({"taskset": taskset, "agent": agent}))
    (task,) = env.taskset
    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY_AT_ALL")
    context = vf.ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())
    async with env.serving():
        return await env.run_episode(task, context)


def test_a_rollout_is_rewarded_for_its_best_passes(model, monkeypatch):
    monkeypatch.setenv("PASSNET_BINARY", binary())
    episode = asyncio.run(rollout(model))
    assert episode.ok, episode.errors or episode.traces[0].errors
    (trace,) = episode.traces
    assert trace.task.data.name == TASK
    assert trace.info["passnet"]["statuses"] in ([["accuracy"], ["correct"]], [["accuracy"], ["unstable"]])
    assert trace.reward == pytest.approx(trace.info["passnet"]["return"])
    assert 0.0 <= trace.reward <= 1.0
    assert trace.metrics["evaluations"] == 2.0
    # The limit of the rollout ends it after the wrong pass, which is worth nothing.
    episode = asyncio.run(rollout(model, max_turns=1))
    (trace,) = episode.traces
    assert trace.info["passnet"]["statuses"] == [["accuracy"]]
    assert trace.reward == 0.0


def test_tools_by_the_model_context_protocol():
    """The toolset behind the protocol's own server. The library's harnesses download their agents, so none runs here."""
    from types import SimpleNamespace

    from mcp.server.mcpserver import MCPServer

    from passnet_verifiers import PassTaskset, PassToolset

    async def episode(url):
        taskset = PassTaskset(vf.TasksetConfig.model_validate({"id": "passnet-verifiers"}))
        taskset.config = SimpleNamespace(suite="", url=url, flags=[], tools=True, task=vf.TaskConfig())
        (task,) = taskset.load()
        (toolset,) = task.toolsets(task.config)
        assert isinstance(toolset, PassToolset)
        await toolset.setup_task(task.data)
        server = MCPServer("passnet")
        toolset.register(server)
        tools = {tool.name: tool for tool in await server.list_tools()}
        assert "file_text" in tools["file_editor"].input_schema["properties"]
        for name, text in hand_written().items():
            await server.call_tool("file_editor", {"command": "create", "path": f"/passes/{name}", "file_text": text})
        answer = await server.call_tool("pass_evaluator", {})
        rollout = toolset._rollout
        state = SimpleNamespace(session=rollout.session, reward=rollout.reward, done=rollout.done)
        return str(answer), await task.passes(SimpleNamespace(state=state))

    with served("--steps", "20") as url:
        answer, reward = asyncio.run(episode(url))
    assert "1 of 1 graph" in answer or "unstable" in answer
    assert 0.0 <= reward <= 1.0
