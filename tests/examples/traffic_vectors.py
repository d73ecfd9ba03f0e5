"""Runs every vector of the traffic component in Python and prints one JSON line a vector: its name and what is wrong with it.

usage: python traffic_vectors.py FIXTURES
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

from wasmtime import Config, Engine, Store
from wasmtime.component import Component, Linker, Record, Variant

ROOT = Path(__file__).resolve().parents[2]
KEY = b"the key of the golden vectors"
CALL_KEY = b"the key of the call"
NOW_MS = 1_767_225_600_000


def camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(word.capitalize() for word in rest)


def text_of(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "base64:"
    return "base64:" + base64.b64encode(value).decode() if text.startswith("base64:") else text


def plain(value: Any) -> Any:
    """A value as the vectors write it."""
    if isinstance(value, Record):
        return {camel(name): plain(member) for name, member in vars(value).items()}
    if isinstance(value, Variant):
        return {"tag": value.tag, "val": plain(value.payload)}
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, list):
        return [plain(member) for member in value]
    return value


def record(**members: Any) -> Record:
    made = Record()
    for name, value in members.items():
        setattr(made, name.replace("_", "-"), value)
    return made


def wire(data: bytes) -> Record:
    return record(bytes=data, provenance="wire", decoded=False)


class Guest:
    """One instance of the component, and the calls of the vectors."""

    def __init__(self, engine: Engine, component: Component) -> None:
        self.store = Store(engine)
        self.instance = Linker(engine).instantiate(self.store, component)

    def call(self, interface: str, name: str, *arguments: Any) -> Any:
        inside = self.instance.get_export_index(self.store, f"glovebox:traffic/{interface}@0.1.0")
        index = self.instance.get_export_index(self.store, name, inside)
        return self.instance.get_func(self.store, index)(self.store, *arguments)

    def read(self, form: str, data: bytes) -> tuple[list[Variant], Record]:
        reader = self.call("intake", "[constructor]reader", form, self.call("intake", "default-limits"))
        items = self.call("intake", "[method]reader.push", reader, data).items
        finished = self.call("intake", "[static]reader.finish", reader)
        return items + finished.last.items, finished.report

    def exchanges(self, data: bytes) -> list[Record]:
        items, _ = self.read(self.call("intake", "detect", data).format, data)
        return [item.payload for item in items if item.tag == "exchange"]

    def redactor(self, options: dict) -> Any:
        return self.call("redact", "[constructor]redactor", options.get("mode", "balanced"), KEY, CALL_KEY, [])

    def run(self, call: str, data: bytes, options: dict) -> Any:
        name = "call_" + call.replace("-", "_")
        return getattr(self, name)(data, options)

    def call_detect(self, data: bytes, _: dict) -> Any:
        return self.call("intake", "detect", data)

    def call_intake(self, data: bytes, options: dict) -> Any:
        form = options.get("format") or self.call("intake", "detect", data).format
        items, report = self.read(form, data)
        return record(items=items, report=report)

    def call_redact(self, data: bytes, options: dict) -> Any:
        redactor = self.redactor(options)
        return [self.call("redact", "[method]redactor.exchange", redactor, one) for one in self.exchanges(data)]

    def call_redact_text(self, data: bytes, options: dict) -> Any:
        supplied = options.get("supplied", False)
        return self.call("redact", "[method]redactor.text", self.redactor(options), data.decode(), supplied)

    def call_checks(self, data: bytes, _: dict) -> Any:
        checker = self.call("checks", "[constructor]checker", KEY, NOW_MS)
        return [found for one in self.exchanges(data) for found in self.call("checks", "[method]checker.push", checker, one)]

    def call_endpoints(self, data: bytes, _: dict) -> Any:
        endpoints = self.call("message", "[constructor]endpoints")
        for one in self.exchanges(data):
            self.call("message", "[method]endpoints.push", endpoints, one)
        return self.call("message", "[static]endpoints.finish", endpoints)

    def call_har(self, data: bytes, _: dict) -> Any:
        entries = [self.call("har", "entry", one) for one in self.exchanges(data)]
        return self.call("har", "head", "1") + ",\n".join(entries) + self.call("har", "tail")

    def call_view(self, data: bytes, options: dict) -> Any:
        wanted = record(json=options.get("json", False), budget=options.get("budget", 16_384), request=True, response=True,
                        bodies=True, request_offset=0, response_offset=0)
        return [self.call("view", "render", one, wanted) for one in self.exchanges(data)]

    def call_parameters(self, data: bytes, _: dict) -> Any:
        return self.call("message", "parameters", wire(data))

    def call_insertion_points(self, data: bytes, options: dict) -> Any:
        return self.call("message", "insertion-points", wire(data), options.get("append", False))

    def call_parse_request(self, data: bytes, _: dict) -> Any:
        return self.call("message", "parse-request", data)

    def call_parse_response(self, data: bytes, _: dict) -> Any:
        return self.call("message", "parse-response", data)

    def call_decode_body(self, data: bytes, options: dict) -> Any:
        limits = self.call("message", "default-body-limits")
        return self.call("message", "decode-body", wire(data), options.get("request", False), limits)

    def call_cookies(self, data: bytes, _: dict) -> Any:
        return [cookie for one in self.exchanges(data) for cookie in self.call("message", "cookies", one)]

    def call_decode_jwt(self, data: bytes, _: dict) -> Any:
        return self.call("message", "decode-jwt", data.decode())

    def call_search(self, data: bytes, options: dict) -> Any:
        pattern = self.call("search", "[static]pattern.compile", options["pattern"], False, options.get("ignoreCase", False))
        # A result whose two sides differ in type comes as the side itself.
        if isinstance(pattern, str):
            return {"error": pattern}
        return self.call("search", "[method]pattern.find", pattern, data, [], 10)

    def call_frame(self, _: bytes, options: dict) -> Any:
        framer = self.call("h1", "[constructor]framer", record(body=8 << 20, pipeline=1000))
        events = []
        for side in ("client", "server"):
            events += self.call("h1", "[method]framer.push", framer, side, options[side].encode())
        for side in ("client", "server"):
            events += self.call("h1", "[method]framer.finish", framer, side)
        return events

    def call_websocket(self, _: bytes, options: dict) -> Any:
        deflate = self.call("websocket", "deflate-of", options.get("response", "").encode())
        resets = deflate is not None and getattr(deflate, "client-resets")
        decoder = self.call("websocket", "[constructor]decoder", deflate is not None, resets, options.get("limit", 1 << 20))
        frames = base64.b64decode(options["frames"])
        return {"deflate": plain(deflate), "frames": plain(self.call("websocket", "[method]decoder.push", decoder, frames))}

    def call_hash(self, data: bytes, options: dict) -> Any:
        # Both sides are texts, so it comes with its side.
        return self.call("codec", "hash", data, options["algorithm"]).payload


def difference(expected: Any, found: Any, path: str = "result") -> str | None:
    """The first difference in words, or None."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if set(expected) != set(found):
            return f"{path}: members {sorted(found)}, expected {sorted(expected)}"
        pairs = [(f"{path}.{name}", value, found[name]) for name, value in expected.items()]
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return f"{path}: {len(found)} entries, expected {len(expected)}"
        pairs = [(f"{path}[{at}]", one, other) for at, (one, other) in enumerate(zip(expected, found))]
    else:
        same = isinstance(expected, bool) == isinstance(found, bool) and expected == found
        return None if same else f"{path}: expected {expected!r}, found {found!r}"
    return next((problem for at, one, other in pairs if (problem := difference(one, other, at))), None)


def main(folder: Path) -> None:
    engine = Engine(Config())
    component = Component(engine, (ROOT / "guest/dist/traffic.wasm").read_bytes())
    for path in sorted((folder / "vectors").glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        data = (folder / vector["file"]).read_bytes() if vector.get("file") else vector.get("text", "").encode()
        found = plain(Guest(engine, component).run(vector["call"], data, vector.get("options") or {}))
        print(json.dumps({"name": path.stem, "problem": difference(vector["expect"], found)}), flush=True)


main(Path(sys.argv[1]))
