"""Runs every vector through the component in Python and prints one JSON line a vector.

Each line has the name, what is wrong, and a hash of the outcome's JSON text, to compare runtimes to the byte.
usage: python vectors.py FIXTURES
"""

import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/python"))

from glovebox_answers import Answers, Finished  # noqa: E402

CUTS = (("whole", 1 << 30), ("in sevens", 7), ("byte by byte", 1))


def difference(path, expected, found):
    """The first difference in words, by the rules of fixtures/answers/README.md, or None."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if list(expected) != list(found) and set(expected) != set(found):
            return f"{path}: members {list(found)}, expected {list(expected)}"
        for name, value in expected.items():
            if value == "*" and name in ("detail", "message") and isinstance(found[name], str):
                continue
            if problem := difference(f"{path}.{name}", value, found[name]):
                return problem
        return None
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return f"{path}: {len(found)} entries, expected {len(expected)}"
        pairs = enumerate(zip(expected, found))
        return next((problem for index, (one, other) in pairs if (problem := difference(f"{path}[{index}]", one, other))), None)
    if isinstance(expected, bool) != isinstance(found, bool) or expected != found:
        return f"{path}: expected {expected!r}, found {found!r}"
    return None


def read(answers: Answers, stream: bytes, mode, headers, step: int) -> Finished:
    parser = answers.parser(mode, headers)
    for start in range(0, len(stream), step):
        parser.push(stream[start : start + step])
    return parser.finish()


def main(folder: Path) -> None:
    answers = Answers(ROOT / "guest/dist/answers.wasm")
    for path in sorted(folder.glob("*.sse")):
        stream = path.read_bytes()
        expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
        head = path.with_suffix(".headers")
        lines = head.read_text("utf-8").splitlines() if head.exists() else []
        headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines if ":" in line)]
        problems = []
        texts = set()
        for name, step in CUTS:
            finished = read(answers, stream, expected["mode"], headers, step)
            texts.add(finished.json)
            if problem := difference("outcome", expected, finished.outcome):
                problems.append(f"{name}: {problem}")
        whole = answers.parse(stream, expected["mode"], headers)
        texts.add(whole.json)
        if len(texts) > 1:
            problems.append("the JSON text depends on the cut")
        sha256 = hashlib.sha256(whole.json.encode()).hexdigest()
        print(json.dumps({"name": path.stem, "problems": problems, "sha256": sha256}), flush=True)


main(Path(sys.argv[1]))
