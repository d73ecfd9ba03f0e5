"""Reads a captured stream as it would come from the network, and tells what it says and what it cost.

usage: python example.py STREAM [answer|research]
"""

import sys
from pathlib import Path

from glovebox_answers import Answers

ROOT = Path(__file__).resolve().parents[2]

answers = Answers(ROOT / "guest/dist/answers.wasm")
captured = Path(sys.argv[1]).read_bytes()
mode = sys.argv[2] if len(sys.argv) > 2 else answers.infer_mode(captured)

parser = answers.parser(mode)
for start in range(0, len(captured), 512):
    batch = parser.push(captured[start : start + 512])
    for event in batch.events:
        if event.kind == "text":
            print(event.value, end="", flush=True)
        elif event.kind == "queries":
            print("searching:", "; ".join(event.value))
    if batch.error:
        break

finished = parser.finish()
outcome = finished.outcome
print("\n--\n" + finished.render("plain"))
print("complete" if outcome["complete"] else "incomplete", file=sys.stderr)
