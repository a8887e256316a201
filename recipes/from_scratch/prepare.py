"""Makes the training data: lessons as tokens, the tokenizer, and the prompts of the evaluation tasks.

    python recipes/from_scratch/prepare.py --out data --tasks EVAL_SAMPLES --lessons SAMPLES PASSES [--lessons ...] \\
        [--trajectories FILE SAMPLES]

README.md in this folder has the commands that make these folders. No lesson shares an op sequence or a graph with an evaluation task;
`data/report.json` has the counts and hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy
from graphs import GraphError, read_graph
from lessons import Lesson, from_folders, from_trajectories, tokens_of
from tokenizer import Tokenizer

SAMPLE_FOR_TOKENIZER = 2000


def main() -> None:
    arguments = parse()
    tasks = evaluation_tasks(arguments.tasks, arguments.task_step)
    found = [lesson for samples, passes in arguments.lessons for lesson in from_folders(samples, passes)]
    for path, samples in arguments.trajectories:
        found += from_trajectories(path, samples, arguments.device)
    practice = [task for task in _practice(arguments) if task["prompt"]]
    kept, dropped = disjoint(found, tasks, {task["id"] for task in practice})
    if not kept:
        raise SystemExit("no lesson is left; are the folders of --lessons and --trajectories right?")
    arguments.out.mkdir(parents=True, exist_ok=True)
    step = max(1, len(kept) // SAMPLE_FOR_TOKENIZER)
    tokenizer = Tokenizer.learn((lesson.prompt + lesson.answer for lesson in kept[::step]), arguments.vocabulary)
    tokenizer.save(arguments.out / "tokenizer.json")
    rows = [(lesson, *tokens_of(tokenizer, lesson.prompt, lesson.answer)) for lesson in kept]
    fitting = [row for row in rows if len(row[1]) + len(row[2]) <= arguments.context]
    save(arguments.out, fitting)
    (arguments.out / "tasks.json").write_text(json.dumps(tasks, indent=1))
    for task in tasks:
        sample = min(path for path in (arguments.tasks / task["id"]).iterdir() if path.is_dir())
        shutil.copytree(sample, arguments.out / "graphs" / task["id"] / sample.name, dirs_exist_ok=True)
    (arguments.out / "practice.json").write_text(json.dumps(practice, indent=1))
    (arguments.out / "tasks.txt").write_text("".join(f"{task['id']}\n" for task in tasks))
    report = {
        "schema_version": 1,
        "lessons": len(fitting),
        "tokens": sum(len(prompt) + len(answer) for _, prompt, answer in fitting),
        "sources": Counter(lesson.source for lesson, *_ in fitting),
        "op_sequences": len({lesson.ops for lesson, *_ in fitting}),
        "too_long": len(rows) - len(fitting),
        "dropped": dropped,
        "tasks": len(tasks),
        "practice": len(practice),
        "shared_op_sequences": len({lesson.ops for lesson, *_ in fitting} & {tuple(task["ops"]) for task in tasks}),
        "sha256": hashlib.sha256((arguments.out / "lessons.npz").read_bytes()).hexdigest(),
    }
    (arguments.out / "report.json").write_text(json.dumps(report, indent=1))
    print(json.dumps(report))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", type=Path, required=True, help="task folders of the evaluation suite")
    parser.add_argument("--task-step", type=int, default=2, help="take each n-th task, in order of their names")
    parser.add_argument("--practice", type=Path, help="task folders of the training split, to practise on")
    parser.add_argument(
        "--practice-step", type=int, default=10, help="take each n-th; there is no lesson of these tasks"
    )
    parser.add_argument("--lessons", type=Path, nargs=2, action="append", default=[], metavar=("SAMPLES", "PASSES"))
    parser.add_argument("--trajectories", type=Path, nargs=2, action="append", default=[], metavar=("FILE", "SAMPLES"))
    parser.add_argument("--device", default="cuda", help="device of the trajectories to use")
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--context", type=int, default=2048, help="longer lessons are left out")
    return parser.parse_args()


def _practice(arguments: argparse.Namespace) -> list[dict[str, object]]:
    return evaluation_tasks(arguments.practice, arguments.practice_step) if arguments.practice else []


def evaluation_tasks(folder: Path, step: int) -> list[dict[str, object]]:
    """Returns the prompt of the first graph of tasks, which is the one that `--graphs-per-task 1` evaluates.

    A task whose graph cannot be read here stays, without a prompt: it counts as one that the model has no passes for.
    """
    tasks = []
    for task in sorted(path for path in folder.iterdir() if path.is_dir())[::step]:
        sample = min(path for path in task.iterdir() if path.is_dir())
        try:
            graph = read_graph(sample)
        except GraphError:
            tasks.append({"id": task.name, "prompt": None, "ops": []})
            continue
        tasks.append({"id": task.name, "prompt": graph.prompt(), "ops": graph.ops()})
    return tasks


def disjoint(
    lessons: list[Lesson], tasks: list[dict[str, object]], practice: set[str]
) -> tuple[list[Lesson], dict[str, int]]:
    """Drops lessons that share an op sequence or a graph with a task, those of tasks to practise on, and repeated ones."""
    sequences = {tuple(task["ops"]) for task in tasks}
    prompts = {task["prompt"] for task in tasks}
    kept: dict[tuple[str, str], Lesson] = {}
    dropped: Counter[str] = Counter()
    for lesson in lessons:
        if lesson.ops in sequences or lesson.prompt in prompts:
            dropped["shared with a task"] += 1
        elif lesson.name.partition("--")[0] in practice:
            dropped["to practise on"] += 1
        elif (lesson.prompt, lesson.answer) in kept:
            dropped["repeated"] += 1
        else:
            kept[lesson.prompt, lesson.answer] = lesson
    return list(kept.values()), dict(dropped)


def save(out: Path, rows: list[tuple[Lesson, list[int], list[int]]]) -> None:
    """Writes all tokens in one array, with the length of each prompt and answer, and names for the copy baseline."""
    flat = [token for _, prompt, answer in rows for token in prompt + answer]
    numpy.savez_compressed(
        out / "lessons.npz",
        tokens=numpy.array(flat, dtype=numpy.uint16),
        prompts=numpy.array([len(prompt) for _, prompt, _ in rows], dtype=numpy.int32),
        answers=numpy.array([len(answer) for _, _, answer in rows], dtype=numpy.int32),
        names=numpy.array([lesson.name for lesson, *_ in rows]),
    )


if __name__ == "__main__":
    main()
