"""What the Python facade refuses and gives; facade.mjs prints the same lines."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/python"))

from glovebox_answers import Answers, Batch, InvalidQuestion  # noqa: E402


def plain(value):
    """A whole float prints as JavaScript prints it."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def show(value):
    print(json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def batch(value: Batch):
    return {"events": [{"at": event.at, "kind": event.kind, "value": event.value} for event in value.events], "error": value.error}


def refuses(error, call):
    try:
        call()
    except error as caught:
        return caught
    raise AssertionError(f"no {error}")


answers = Answers(ROOT / "guest/dist/answers.wasm")
for wrong in ("text", [1, 2], None):
    refuses(TypeError, lambda: answers.parser().push(wrong))

request = answers.build(query="tides", enable_research=True, research_maximum_number_of_queries=3, seed=7, user_location={"city": "Bergen"})
show(request | {"body": json.loads(request["body"])})
show(refuses(InvalidQuestion, lambda: answers.build(query=" ", safesearch="maybe")).fields)
refuses(TypeError, lambda: answers.build(query="x", nonsense=1))
show(answers.failure(429, [("retry-after", "3")], b'{"error":{"code":"RATE_LIMITED","detail":"slow down"}}'))

parser = answers.parser(limits={"line_bytes": 400, "stream_bytes": 5_000_000_000})


def delta(content: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': {'content': content}}]}, separators=(',', ':'))}\n\n".encode()


show(batch(parser.push(delta('Hi<citation>{"number":4,"url":"https://example.org/","start_index":2,"end_index":2}</citation>'))))
show(batch(parser.push(b"data: " + b"x" * 500)))
finished = parser.finish()
show({"outcome": finished.outcome, "last": batch(finished.last)})
refuses(RuntimeError, lambda: parser.push(b"x"))
refuses(RuntimeError, parser.finish)
