"""The body of a request to a served model: JSON in the forms that MLflow's server takes.

`{"dataframe_split": {"columns": [...], "data": [[...]]}}`, `{"dataframe_records": [{...}]}`, or `{"inputs": ...}` with
either one list per column or a list of records; beside it `{"params": {"count": 5}}`.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from mediarank.ops.models.serving_limits import ServingLimits
from mediarank.types import DataError

FORMS: Final = ("dataframe_split", "dataframe_records", "inputs")
DEFAULT_COUNT: Final = 20


def read_body(body: bytes, names: int, limits: ServingLimits) -> tuple[list[dict[str, Any]], int]:
    """The rows of a request, and how many answers each asks for.

    names : how many can be answered at all
    """
    given = _parsed(body, limits)
    if not isinstance(given, dict):
        raise DataError(f"The body must be a JSON object with one of {', '.join(FORMS)}.")
    form = [name for name in FORMS if name in given]
    unknown = [name for name in given if name not in (*FORMS, "params")]
    if len(form) != 1 or unknown:
        other = f" It has {unknown[0][:60]!r}." if unknown else ""
        raise DataError(f"The body must have exactly one of {', '.join(FORMS)}, and may have params.{other}")
    rows = _rows(form[0], given[form[0]])
    if len(rows) > limits.max_rows:
        raise DataError(f"The request has {len(rows):,} rows; {limits.max_rows} are allowed. Send several requests.")
    count = min(_count(given.get("params")), names)
    if count * len(rows) > limits.max_answers:
        raise DataError(f"{len(rows)} rows with count {count} ask for more than {limits.max_answers:,} answers.")
    return rows, count


def _parsed(body: bytes, limits: ServingLimits) -> Any:
    values = sum(body.count(sign) for sign in (b",", b"[", b"{"))
    if values > limits.max_values:
        raise DataError(f"The body has about {values:,} values; {limits.max_values:,} are allowed.")
    try:
        return json.loads(body, parse_constant=_refuse)
    except RecursionError:
        raise DataError("The body is nested too deeply.") from None
    except ValueError as error:  # bad JSON, bad UTF-8, and numbers with thousands of digits
        raise DataError(f"The body is not JSON: {str(error)[:200]}.") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON; give null for a missing value")


def _rows(form: str, given: Any) -> list[dict[str, Any]]:
    if form == "dataframe_split":
        return _of_split(given)
    if form == "inputs" and isinstance(given, dict):
        columns = list(given.values())
        if not all(isinstance(column, list) for column in columns) or len({len(column) for column in columns}) > 1:
            raise DataError("inputs must hold one list per column, all of the same length, or be a list of records.")
        return [dict(zip(given, values, strict=True)) for values in zip(*columns, strict=True)]
    if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
        raise DataError(f"{form} must be a list of objects, one per query.")
    return given


def _of_split(given: Any) -> list[dict[str, Any]]:
    columns, data = (given.get("columns"), given.get("data")) if isinstance(given, dict) else (None, None)
    if not isinstance(columns, list) or not isinstance(data, list) or not all(isinstance(c, str) for c in columns):
        raise DataError(
            "dataframe_split must be an object with `columns`, a list of names, and `data`, a list of rows."
        )
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        raise DataError(f"Each row of dataframe_split's `data` must be a list of {len(columns)} values.")
    return [dict(zip(columns, row, strict=True)) for row in data]


def _count(params: Any) -> int:
    params = {} if params is None else params
    if not isinstance(params, dict) or set(params) - {"count"}:
        raise DataError('params must be an object such as {"count": 5}.')
    count = params.get("count", DEFAULT_COUNT)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise DataError("params.count must be a whole number, 1 or more.")
    return count
