"""The training environment, with the real command and the real referee."""

import json
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent_command import ONE_GRAPH, QUICK, ROOT, TASK, binary, hand_written
from passnet.env import Env, EnvError

FLAGS = [*ONE_GRAPH, *QUICK, "--steps", "4"]


def call(name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{name}", "type": "function", "function": function}


def write(files):
    calls = [
        call("file_editor", command="create", path=f"/passes/{name}", file_text=text) for name, text in files.items()
    ]
    return {"role": "assistant", "content": "", "tool_calls": [*calls, call("pass_evaluator")]}


def test_only_what_is_right_and_fast_is_rewarded():
    good = hand_written()
    wrong = {name: text.replace("0.044715f", "0.5f") for name, text in good.items()}
    cheat = {name: text.replace("import torch\n", "import torch\nimport os\n", 1) for name, text in good.items()}
    with Env(ROOT / "suites/demo", binary=binary(), flags=FLAGS) as env:
        assert env.tasks() == [TASK]
        prompt = env.reset(TASK)
        assert [message["role"] for message in prompt.messages] == ["system", "user"]
        for files, status in [(wrong, "accuracy"), (cheat, "integrity")]:
            step = env.step(write(files))
            assert (step.reward, step.done) == (0.0, False)
            assert step.info["evaluations"][0]["graphs"][0]["status"] == status, step.observation[-1]["content"]
        step = env.step(write(good))
        assert step.info["evaluations"][0]["graphs"][0]["status"] in ("correct", "unstable")
        middle = step.reward
        step = env.step("I am done.")
        assert step.done
        assert step.info["return"] == pytest.approx(middle + step.reward)
        assert 0.0 <= step.info["return"] <= 1.0
        with pytest.raises(EnvError, match="over"):
            env.step("more")
        # Doing nothing is worth nothing.
        env.reset(TASK)
        step = env.step("nothing to do")
        assert (step.done, step.reward) == (True, 0.0)


def test_over_http():
    command = [binary(), "serve", "--env", str(ROOT / "suites/demo"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            for body, headers, expected in [
                (b"\xff\n", {}, "not JSON"),
                (b'{"op": "tasks"}', {"Origin": "http://elsewhere.example"}, "web pages"),
            ]:
                try:
                    reply = urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
                except urllib.error.HTTPError as error:
                    reply = error.read()
                assert expected in reply.decode()
            env = Env.connect(url)
            assert TASK in env.tasks()
            prompt = env.reset(TASK)
            step = env.step({"content": "", "tool_calls": [call("file_editor", command="view")]})
            assert step.observation[0]["content"].startswith("/passes is empty")
            assert {tool["function"]["name"] for tool in prompt.tools} >= {"file_editor", "pass_evaluator", "profile"}
            env.close()
        finally:
            server.kill()


def test_many_sessions_share_one_evaluation_and_bad_requests_are_refused():
    with Env(ROOT / "suites/demo", binary=binary(), flags=[*FLAGS, "--no-remeasure"]) as env:
        # A line that is not a text is answered, without a session; the sessions of others continue.
        child = env._transport._child
        child.stdin.buffer.write(b"\xff\xfe\n")
        prompts = env.reset_many([TASK] * 8)
        steps = env.step_many([(prompt.session, write(hand_written())) for prompt in prompts])
        graphs = [step.info["evaluations"][0]["graphs"][0] for step in steps]
        assert sorted(graph["cached"] for graph in graphs) == [False] + [True] * 7
        assert len({step.reward for step in steps}) == 1
        text = '<tool_call>{"name": "file_editor", "arguments": {"command": "view"}}</tool_call>'
        assert "fuse_gelu_tanh.py" in env.step(text, prompts[0].session).observation[0]["content"]
        with ThreadPoolExecutor(4) as pool:
            assert len(list(pool.map(lambda _: env.tasks(), range(8)))) == 8
        with pytest.raises(EnvError, match="no task"):
            env.reset("nothing-of-the-kind")
        with pytest.raises(EnvError, match="no session"):
            env.step("x", session=10**6)
