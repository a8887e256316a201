"""The environment on a Ray cluster of this machine, for several trainers: verdicts, back pressure, a lost station, metrics."""

import json
import os
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from agent_command import ONE_GRAPH, QUICK, ROOT, TASK, binary, hand_written, writing, wrong
from fleet_processes import below, is_zombie, stations, variables, wait_for
from passnet.env import Env, EnvBusyError

SUITE = ROOT / "suites/demo"
SECRET = "a-token-that-no-worker-may-see"
FLEET = ["--fleet=local", "--stations-per-node", "2", "--check-every", "0", "--client-actions", "2", "--queue", "3"]
FLAGS = [*ONE_GRAPH, *QUICK, "--steps", "4", "--no-remeasure"]


@pytest.fixture(scope="module", autouse=True)
def _ray():
    pytest.importorskip("ray", reason="needs the package ray (pip install 'passnet[ray]')")


@contextmanager
def fleet():
    command = [binary(), "serve", "--env", str(SUITE), "--fleet=local", "--port", "0", "--", *FLAGS, *FLEET[1:]]
    environment = {**os.environ, "RAY_TEST_TOKEN": SECRET, "OPENAI_API_KEY": SECRET}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            everything = below(server.pid)
            server.kill()
            wait_for(lambda: all(is_zombie(pid) for pid in everything), 60)


def statuses(step):
    return [graph["status"] for graph in step.info["evaluations"][0]["graphs"]]


def keys(step):
    return [graph["key"] for graph in step.info["evaluations"][0]["graphs"]]


def variant(number):
    """Passes of their own, so that no verdict comes from the cache."""
    return {name: f"{text}\n# variant {number}\n" for name, text in hand_written().items() if name.endswith(".py")} | {
        name: text for name, text in hand_written().items() if not name.endswith(".py")
    }


def post(url, **request):
    call = urllib.request.Request(url, json.dumps(request).encode())
    try:
        with urllib.request.urlopen(call) as response:
            return response.status, dict(response.headers), json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), json.load(error)


def read(url):
    with urllib.request.urlopen(url) as response:
        return response.headers["content-type"], response.read().decode()


@pytest.mark.long
def test_a_fleet_serves_trainers():
    with Env(SUITE, binary=binary(), flags=FLAGS) as alone:
        alone.reset(TASK)
        expected = [alone.step(writing(files)) for files in (wrong(hand_written()), hand_written())]
    with fleet() as (server, url):
        trainer = Env.connect(url, client="trainer-1", timeout_s=300)
        prompt = trainer.reset(TASK)
        found = [trainer.step(writing(files)) for files in (wrong(hand_written()), hand_written())]
        # The same verdicts as one machine, under the same content keys; `unstable` is a matter of the moment.
        same = {"unstable": "correct"}
        for here, there in zip(found, expected, strict=True):
            assert [same.get(s, s) for s in statuses(here)] == [same.get(s, s) for s in statuses(there)]
            assert keys(here) == keys(there)

        # An action that arrives twice is carried out once.
        action = {"op": "step", "session": prompt.session, "action": "I am done.", "key": "k"}
        first, again = post(url, **action), post(url, **action)
        assert first == again and first[2]["done"]

        # A third action of one client is refused by its quota, a fourth of all by the queue. Two clients take 2 + 1 places.
        begin = lambda client, priority="training": post(  # noqa: E731
            url, op="reset", task=TASK, client=client, priority=priority
        )[2]["session"]
        sessions = [begin("trainer-1"), begin("trainer-1"), begin("trainer-2", "batch")]
        with ThreadPoolExecutor(3) as pool:
            work = [
                pool.submit(post, url, op="step", session=session, action=writing(variant(number)))
                for number, session in enumerate(sessions)
            ]
            wait_for(lambda: "passnet_fleet_actions 3" in read(url + "/metrics")[1], 60)
            status, headers, reply = post(url, op="step", session=begin("trainer-1"), action=writing(variant(7)))
            assert (status, reply["busy"]) == (429, "quota") and int(headers["retry-after"]) >= 1
            status, headers, reply = post(url, op="step", session=begin("trainer-3"), action=writing(variant(8)))
            assert (status, reply["busy"]) == (503, "queue") and int(headers["retry-after"]) >= 1
            impatient = Env.connect(url, client="trainer-3", timeout_s=0.5)
            impatient.reset(TASK)
            with pytest.raises(EnvBusyError):
                impatient.step(writing(variant(9)))
            # An edit needs no device and is served all the same.
            assert not impatient.step("nothing").info["evaluations"]

            # A station is lost while it works: only the time shows it.
            inside = [pid for station in stations(server.pid) for pid in (station, *below(station))]
            assert inside and all(SECRET not in variables(pid) and "\0RAY_" not in variables(pid) for pid in inside)
            working = wait_for(lambda: [pid for pid in stations(server.pid) if below(pid)])
            os.kill(working[0], signal.SIGKILL)
            replies = [job.result()[2] for job in work]
        for reply in replies:
            [graph] = reply["info"]["evaluations"][0]["graphs"]
            assert graph["status"] in ("correct", "unstable") and not graph["cached"]

        # A client that waits gets its turn.
        patient = Env.connect(url, client="trainer-3", timeout_s=300)
        prompts = patient.reset_many([TASK] * 5)
        steps = patient.step_many(
            [(prompt.session, writing(variant(20 + number))) for number, prompt in enumerate(prompts)]
        )
        assert all(statuses(step)[0] in ("correct", "unstable") for step in steps)

        kind, text = read(url + "/metrics")
        assert kind.startswith("text/plain; version=0.0.4")
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        done = [float(value) for name, value in values.items() if name.startswith("passnet_fleet_evaluations_total{")]
        # Two of the first client, three under the fault, five of the patient one: none is counted twice.
        assert sum(done) == 10, text
        assert float(values['passnet_fleet_refused_total{reason="quota"}']) >= 1
        assert float(values["passnet_fleet_actions"]) == 0
        kind, page = read(url)
        assert kind.startswith("text/html") and "trainer-3" in page and "Utilisation" in page


def test_a_broken_connection_is_made_again():
    """A proxy that breaks the connection after the request was carried out, and then carries the second one."""
    import socket

    with Env.connect("http://127.0.0.1:1", timeout_s=5) as client, pytest.raises(Exception, match="refused"):
        client.tasks()
    listener = socket.create_server(("127.0.0.1", 0))
    seen = []

    def serve():
        for number in range(2):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                length = 0
                while (line := lines.readline().strip()) != b"":
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                seen.append(json.loads(lines.read(length)))
                if number == 1:
                    body = json.dumps({"messages": [], "reward": 0.5, "done": True, "info": {}}).encode()
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))

    thread = threading.Thread(target=serve)
    thread.start()
    with Env.connect(f"http://127.0.0.1:{listener.getsockname()[1]}") as env:
        assert env.step("x", session=3).reward == 0.5
    thread.join()
    listener.close()
    # The server recognises the second one by its key.
    assert seen[0] == seen[1] and seen[0]["key"]
