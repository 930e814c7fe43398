"""A statement: one thing that a person said about an item, as one line of text.

A line is a checksum of eight hexadecimal digits, a space and a JSON object. `encode` and `decode` convert between a
line and a `Statement`; `active` drops what was undone. Nothing here touches a file: `journal.py` does.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

from mediarank.labels import RELATIONS
from mediarank.types import DataError

LABEL_KINDS: Final = ("concept", "keyword", "class", "event", "pair")
RELEVANCE: Final = "relevance"
UNDO: Final = "undo"
STATEMENT_KINDS: Final = (*LABEL_KINDS, RELEVANCE, UNDO)
ORIGINS: Final = ("cli", "explorer", "import")

TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
"""UTC with microseconds; text order is time order."""
_MAY_LACK: Final = ("sha256", "other", "other_sha256")


@dataclass(frozen=True, slots=True)
class Statement:
    """What one person said at one time.

    id : unique; `<call>.<number>`, where all statements of one call share the first part
    time : UTC, as in TIME_FORMAT
    author : who said it
    kind : what it is about, one of STATEMENT_KINDS
    item : the item it speaks of; the first item of a pair; the query of a relevance statement
    sha256 : the content hash of that item when the statement was made
    name : the concept, keyword, class, event or attribute; for `undo` the id that is taken back
    value : true or false (the item shows the name or not), null (nothing is said any more), `>` or `=` for a pair,
        an object for relevance
    origin : one of ORIGINS
    other, other_sha256 : the second item of a pair
    """

    id: str
    time: str
    author: str
    kind: str
    item: str
    sha256: str
    name: str
    value: Any
    origin: str
    other: str = ""
    other_sha256: str = ""

    def __post_init__(self) -> None:
        if self.kind not in STATEMENT_KINDS:
            raise DataError(f"A statement's kind is one of {', '.join(STATEMENT_KINDS)}, not {self.kind!r}.")
        if self.origin not in ORIGINS:
            raise DataError(f"A statement's origin is one of {', '.join(ORIGINS)}, not {self.origin!r}.")
        texts = (self.id, self.time, self.author, self.item, self.sha256, self.name, self.other, self.other_sha256)
        if set(map(type, texts)) != {str}:
            raise DataError(f"A statement's id, time, author, items and name must be text, not {texts!r}.")
        if self.kind == "pair":
            fits = self.value is None or self.value in RELATIONS
        else:
            fits = self.kind not in LABEL_KINDS or self.value is None or isinstance(self.value, bool)
        if not fits:
            allowed = "`>`, `=` or null" if self.kind == "pair" else "true, false or null"
            raise DataError(f"The value of a statement about a {self.kind} is {allowed}, not {self.value!r}.")
        if not self.id or "\n" in self.id:
            raise DataError("A statement needs an id.")

    @property
    def call(self) -> str:
        """The part of the id that all statements of one call share."""
        return self.id.partition(".")[0]

    @property
    def subject(self) -> tuple[str, ...]:
        """What it speaks of: of two active statements with the same subject the later one wins."""
        if self.kind == "pair":
            return self.kind, self.name, *sorted((self.item, self.other))
        if self.kind in LABEL_KINDS:
            return self.kind, self.item, self.name
        return self.kind, self.id


def new_call() -> str:
    """A fresh first part of an id."""
    return secrets.token_hex(8)


def time_after(last: str = "") -> str:
    """Now, or one microsecond after `last` if the clock says an earlier time."""
    now = datetime.now(UTC).strftime(TIME_FORMAT)
    if now > last:
        return now
    try:
        return (datetime.strptime(last, TIME_FORMAT) + timedelta(microseconds=1)).strftime(TIME_FORMAT)
    except (ValueError, OverflowError):
        return now


def encode(statement: Statement) -> bytes:
    """The statement as one line, line end included."""
    fields = {name: getattr(statement, name) for name in Statement.__slots__}
    fields = {name: value for name, value in fields.items() if value != "" or name not in _MAY_LACK}
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(line: bytes) -> Statement:
    """The statement of a line; DataError if the line is damaged."""
    text = checked(line)
    if text is None:
        raise DataError("the checksum does not match")
    try:
        return made(json.loads(text))
    except ValueError as error:
        raise DataError(f"it is not a statement ({error})") from None


def decode_all(lines: Sequence[bytes]) -> list[Statement] | None:
    """The statements of many lines at once, which is quicker; None if any of them is damaged."""
    texts = [checked(line) for line in lines]
    if None in texts:
        return None
    try:
        return [made(fields) for fields in json.loads(b"[" + b",".join(texts) + b"]")]  # type: ignore[arg-type]
    except (ValueError, DataError):
        return None


def checked(line: bytes) -> bytes | None:
    """The JSON text of a line if its checksum is right."""
    text = line[9:].rstrip(b"\r")
    return text if len(text) > 1 and line[:9] == b"%08x " % zlib.crc32(text) else None


def made(fields: Any) -> Statement:
    """A statement from its fields as JSON gives them."""
    try:
        fields.setdefault("sha256", "")
        return Statement(**fields)
    except (TypeError, AttributeError) as error:
        raise DataError(f"it is not a statement ({error})") from None


def in_order(statements: Iterable[Statement]) -> list[Statement]:
    """Sorted by time, then id; a statement that occurs twice, as after a merge, counts once."""
    return sorted({statement.id: statement for statement in statements}.values(), key=attrgetter("time", "id"))


def active(statements: Sequence[Statement]) -> list[Statement]:
    """What still holds, in order: neither undone nor an undo. An undo can be undone as well.

    An undo names the id of one statement, or the shared first part of the ids of a call.
    """
    undone: set[str] = set()
    kept = []
    for statement in reversed(in_order(statements)):
        if undone and (statement.id in undone or statement.call in undone):
            continue
        if statement.kind == UNDO:
            undone.add(statement.name)
        else:
            kept.append(statement)
    return kept[::-1]


def latest(statements: Sequence[Statement]) -> list[Statement]:
    """Of the active statements the last one of each subject, in order."""
    return list({statement.subject: statement for statement in active(statements)}.values())
