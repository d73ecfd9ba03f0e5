"""Brave Answers streams, read by the Glovebox component under wasmtime.

Bytes in, typed values out, under the documented snake_case names: the same ones as in the outcome's JSON.
Needs the `wasmtime` package and `answers.wasm`; the component imports nothing, so nothing is linked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from wasmtime import Config, Engine, Store
from wasmtime.component import Component, Func, Instance, Linker, Record, Variant

Mode = Literal["answer", "research"]
Format = Literal["markdown", "plain", "json"]
EventKind = Literal[
    "text", "citation", "entity", "queries", "analyzing", "thinking",
    "progress", "blindspots", "draft", "answer", "usage", "warning",
]
Headers = Mapping[str, str] | Iterable[tuple[str, str]]

PACKAGE = "glovebox:answers"
VERSION = "0.2.0"


class Limits(TypedDict, total=False):
    """Bounds of one stream; an absent one takes its documented default."""

    line_bytes: int
    tag_bytes: int
    text_bytes: int
    stream_bytes: int


class Source(TypedDict):
    number: int
    url: str
    snippets: list[str]
    positions: list[int]
    upstream_numbers: list[int]
    cited: bool


class Cost(TypedDict):
    requests: float | None
    queries: float | None
    tokens_in: float | None
    tokens_out: float | None
    total: float | None


class Usage(TypedDict):
    requests: int | None
    queries: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: Cost
    cost_usd_estimate: float | None


class Problem(TypedDict):
    kind: str
    message: str


class Warning_(TypedDict):
    code: str
    detail: str


class Outcome(TypedDict):
    """What came of a stream, as documented."""

    mode: Mode
    complete: bool
    truncated: bool
    finish_reason: str | None
    model: str | None
    answer: str
    text: str
    draft: str
    sources: list[Source]
    entities: list[dict[str, Any]]
    queries: list[str]
    blindspots: list[str]
    thinking: list[dict[str, Any]]
    progress: list[dict[str, Any]]
    usage: Usage | None
    error: Problem | None
    warnings: list[Warning_]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; `at` is the byte offset of the end of the event that completed it."""

    at: int
    kind: EventKind
    value: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """What one push gave: the events, then at most one error, which is sticky."""

    events: list[Event]
    error: dict[str, Any] | None


class InvalidQuestion(ValueError):
    """Every field of a question that is wrong, at once."""

    def __init__(self, fields: list[dict[str, str]]) -> None:
        super().__init__("; ".join(f"{field['field']}: {field['problem']}" for field in fields))
        self.fields = fields


class _Exports:
    """One instance of the component."""

    def __init__(self, engine: Engine, component: Component) -> None:
        self.store = Store(engine)
        self._instance: Instance = Linker(engine).instantiate(self.store, component)

    def call(self, interface: str, name: str, *arguments: Any) -> Any:
        return self.function(interface, name)(self.store, *arguments)

    def function(self, interface: str, name: str) -> Func:
        inside = self._instance.get_export_index(self.store, f"{PACKAGE}/{interface}@{VERSION}")
        index = inside and self._instance.get_export_index(self.store, name, inside)
        found = index and self._instance.get_func(self.store, index)
        if not found:
            raise LookupError(f"the component does not export {PACKAGE}/{interface}@{VERSION}#{name}")
        return found


class Finished:
    """What the end of a stream brings."""

    def __init__(self, exports: _Exports, raw: Record, last: Batch) -> None:
        self._exports = exports
        self._raw = raw
        self.last = last
        #: The outcome as JSON, the same bytes in every runtime.
        self.json: str = self.render("json")
        self.outcome: Outcome = json.loads(self.json)

    def render(self, format: Format) -> str:
        return self._exports.call("normalize", "render", self._raw, format)


class Parser:
    """Reads one reply in chunks of any size, in a store of its own."""

    def __init__(self, exports: _Exports, mode: Mode, headers: Headers, limits: Limits) -> None:
        self._exports = exports
        self._push = exports.function("reply", "[method]parser.push")
        names = ("line_bytes", "tag_bytes", "text_bytes", "stream_bytes")
        bounds = _record({name: limits.get(name) for name in names})
        self._inner = exports.call("reply", "[constructor]parser", mode, bounds)
        if pairs := _headers(headers):
            exports.call("reply", "[method]parser.head", self._inner, pairs)

    def push(self, chunk: bytes) -> Batch:
        if not isinstance(chunk, bytes):
            raise TypeError(f"a chunk must be bytes, not {type(chunk).__name__}")
        if self._inner is None:
            raise RuntimeError("this stream is finished; make a new parser for the next one")
        return _batch(self._push(self._exports.store, self._inner, chunk))

    def finish(self) -> Finished:
        """Ends the stream; the parser is used up."""
        if self._inner is None:
            raise RuntimeError("this stream is finished already")
        inner, self._inner = self._inner, None
        finished = self._exports.call("reply", "[static]parser.finish", inner)
        return Finished(self._exports, finished.outcome, _batch(finished.last))


class Answers:
    """The compiled component. Each parser gets an instance of its own."""

    def __init__(self, wasm: str | Path | bytes) -> None:
        self._engine = Engine(Config())
        bytes_ = wasm if isinstance(wasm, bytes) else Path(wasm).read_bytes()
        self._component = Component(self._engine, bytes_)

    def _exports(self) -> _Exports:
        return _Exports(self._engine, self._component)

    def parser(self, mode: Mode = "answer", headers: Headers = (), limits: Limits | None = None) -> Parser:
        return Parser(self._exports(), mode, headers, limits or {})

    def parse(self, reply: bytes, mode: Mode = "answer", headers: Headers = ()) -> Finished:
        """One reply that is all there."""
        exports = self._exports()
        raw = exports.call("reply", "parse-all", mode, _headers(headers), reply)
        return Finished(exports, raw, Batch([], None))

    def infer_mode(self, reply: bytes) -> Mode:
        return self._exports().call("reply", "infer-mode", reply)

    def build(self, **question: Any) -> dict[str, Any]:
        """The request to send: method, path, headers and body. Raises `InvalidQuestion`."""
        unknown = question.keys() - set(_QUESTION)
        if unknown:
            raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
        fields = {name: question.get(name) for name in _QUESTION}
        if (place := fields["user_location"]) is not None:
            fields["user_location"] = _record({name: place.get(name) for name in ("city", "country", "region", "timezone")})
        built = self._exports().call("request", "build", _record(fields))
        # A result whose two sides differ in type comes as the side itself.
        if isinstance(built, list):
            raise InvalidQuestion(_plain(built))
        return _plain(built)

    def failure(self, status: int, headers: Headers, body: bytes) -> dict[str, Any]:
        """What an unsuccessful HTTP reply means."""
        return _plain(self._exports().call("reply", "failure", status, _headers(headers), body))


_QUESTION = (
    "query", "model", "stream", "country", "language", "safesearch", "max_completion_tokens", "metadata", "seed",
    "enable_citations", "enable_entities", "enable_research", "research_allow_thinking",
    "research_maximum_number_of_tokens_per_query", "research_maximum_number_of_queries",
    "research_maximum_number_of_iterations", "research_maximum_number_of_seconds",
    "research_maximum_number_of_results_per_query", "search_context_size", "user_location",
)


def _record(members: Mapping[str, Any]) -> Record:
    record = Record()
    for name, value in members.items():
        setattr(record, name.replace("_", "-"), value)
    return record


def _headers(headers: Headers) -> list[Record]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [_record({"name": name, "value": value}) for name, value in pairs]


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return {name.replace("-", "_"): _plain(member) for name, member in vars(value).items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value


def _batch(raw: Record) -> Batch:
    events = []
    for event in raw.events:
        kind: Variant = event.kind
        events.append(Event(event.at, kind.tag, _plain(kind.payload)))
    return Batch(events, _plain(raw.error))
