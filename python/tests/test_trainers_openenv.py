"""PassNet behind a real OpenEnv server, used by OpenEnv's own client."""

import socket
import threading
import time

import pytest

pytest.importorskip("openenv.core", reason="needs the library openenv")
pytest.importorskip("uvicorn", reason="needs the library uvicorn")

import httpx
import uvicorn
from openenv.core.generic_client import GenericEnvClient

from agent_command import TASK, hand_written, served, tool_call, writing
from passnet.trainers.openenv import application
from passnet.trainers.rollout import Servers


@pytest.fixture(scope="module")
def address():
    with served("--steps", "6") as url:
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application(Servers((url,))), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_an_episode_over_the_protocol(address):
    with GenericEnvClient(base_url=f"http://{address}").sync() as client:
        begin = client.reset(task=TASK)
        assert [message["role"] for message in begin.observation["messages"]] == ["system", "user"]
        assert {tool["function"]["name"] for tool in begin.observation["tools"]} >= {"file_editor", "pass_evaluator"}
        step = client.step({"text": tool_call("graph_info")})
        assert step.observation["messages"][0]["content"].startswith("graph 000") and not step.done
        middle = client.step({"text": writing(hand_written())})
        last = client.step({"message": {"role": "assistant", "content": "done"}})
        assert last.done
        state = client.state()
        assert state["task"] == TASK and state["step_count"] == 3
        assert state["total_reward"] == pytest.approx(middle.reward + last.reward)


def test_sessions_are_separate_and_tasks_are_listed(address):
    with (
        GenericEnvClient(base_url=f"http://{address}").sync() as one,
        GenericEnvClient(base_url=f"http://{address}").sync() as two,
    ):
        one.reset(seed=7)
        two.reset(index=0)
        one.step({"text": tool_call("file_editor", command="create", path="/passes/a.py", file_text="A = 1\n")})
        assert (
            "empty"
            in two.step({"text": tool_call("file_editor", command="view")}).observation["messages"][0]["content"]
        )
    assert httpx.get(f"http://{address}/health").status_code == 200
    schema = httpx.get(f"http://{address}/schema").json()
    assert set(schema["action"]["properties"]) >= {"text", "message"}
