"""The adapter that all trainers share, against the real server and referee."""

import json
import multiprocessing
import os
import pickle
import socket
import threading

import pytest

from agent_command import ROOT, TASK, answering, hand_written, served, tool_call, writing, wrong
from passnet.env import Env, EnvError
from passnet.trainers.answers import ORDER_FILE, files_of
from passnet.trainers.rollout import URLS, Servers


@pytest.fixture(scope="module")
def servers():
    with served("--steps", "6") as url:
        yield Servers((url,))


def test_text_actions_are_rewarded_as_messages_are(servers):
    assert servers.tasks() == [TASK]
    with servers.rollout(TASK) as rollout:
        system, user = rollout.prompt()
        assert "<tools>" in system["content"] and '"pass_evaluator"' in system["content"]
        assert user == rollout.messages[1]
        turn = rollout.act("I look first.\n" + tool_call("graph_info"))
        assert turn.text.startswith("<tool_response>\ngraph 000") and not turn.done
        assert rollout.act(writing(wrong(hand_written()))).reward == 0.0
        rollout.act(writing(hand_written()))
        last = rollout.act("That is all.")
        assert last.done and rollout.reward == pytest.approx(last.info["return"])
        assert rollout.statuses[0] == ["accuracy"] and rollout.statuses[1][0] in ("correct", "unstable")
        assert rollout.metrics()["passnet/evaluations"] == 2.0
        assert rollout.act("more").done and not rollout.failure, "nothing happens after the end"


@pytest.mark.parametrize(
    ("answer", "statuses"),
    [
        (answering(hand_written()), [["correct"], ["unstable"]]),
        (answering(wrong(hand_written())), [["accuracy"]]),
        ("I have no idea.", [[]]),
        ("```python ../../etc/passwd\nx = 1\n```", [[]]),
        ("<think>\n" + answering(hand_written()) + "</think>\nNo.", [[]]),
    ],
)
def test_an_answer_of_one_turn(servers, answer, statuses):
    with servers.rollout(TASK) as rollout:
        turn = rollout.submit(answer)
        assert turn.done and not rollout.failure
        assert rollout.statuses in [[status] if status else [] for status in statuses]
        if rollout.statuses != [["correct"]]:
            assert rollout.reward == 0.0


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("```python a.py\ndef pattern(): ...\n```\n```python b.py\ndef pattern(): ...\n```", ["a", "b"]),
        ("```python b.py\ndef pattern(): ...\n```\n```python a.py\nHELP = 1\n```", ["b"]),
        ("```python a.py\n1\n```\n```python a.py\ndef pattern(): ...\n```", ["a"]),
        ('```python a.py\ndef pattern(): ...\n```\n```json sorted_output_pass_rule_names.json\n["x"]\n```', ["x"]),
    ],
)
def test_files_of_an_answer(answer, names):
    assert json.loads(files_of(answer)[ORDER_FILE]) == names
    assert files_of("```python\nno name\n```") == {}


def _in_child(pickled, results):
    handle = pickle.loads(pickled)
    with handle.rollout(TASK) as rollout:
        rollout.act(tool_call("file_editor", command="view"))
        results.put((os.environ.get("CUDA_VISIBLE_DEVICES"), rollout.session))


def test_a_handle_works_in_another_process_that_sees_no_gpu(servers, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    child = context.Process(target=_in_child, args=(pickle.dumps(servers), results))
    child.start()
    visible, session = results.get(timeout=120)
    child.join()
    assert visible == "" and session >= 0


def test_rollouts_of_a_task_share_a_server_and_tasks_spread():
    many = Servers(tuple(f"http://127.0.0.1:{port}" for port in range(9001, 9005)))
    places = {task: many.server_of(task) for task in map(str, range(200))}
    assert set(places.values()) == set(many.urls)
    assert all(pickle.loads(pickle.dumps(many)).server_of(task) == place for task, place in places.items())


def test_a_server_that_does_not_answer_fails_the_rollout_and_not_the_trainer(servers):
    with servers.rollout(TASK) as rollout, silent() as url:
        rollout.env = Env.connect(url, timeout_s=0.2)
        turn = rollout.act(writing(hand_written()))
        assert turn.done and turn.reward == rollout.reward == 0.0
        assert "timed out" in rollout.failure and rollout.metrics()["passnet/failed"] == 1.0


def test_what_is_missing_is_named(servers, monkeypatch):
    monkeypatch.delenv(URLS, raising=False)
    with pytest.raises(ValueError, match="passnet env serve"):
        Servers.of()
    monkeypatch.setenv(URLS, "http://a, http://b")
    assert Servers.of().urls == ("http://a", "http://b")
    with pytest.raises(EnvError, match="no task"):
        servers.rollout("no-such-task")
    assert URLS in (ROOT / "docs/reference/environment.md").read_text()


class silent:
    """A server that accepts connections and says nothing."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def _accept(self):
        self.held = []
        try:
            while True:
                self.held.append(self.socket.accept())
        except OSError:
            pass

    def __exit__(self, *_):
        self.socket.close()
