"""Say what items show, take it back, list it, and move it between projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mediarank import store
from mediarank.cli.app import DATA, JOURNAL, app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.many_values import ManyValues

if TYPE_CHECKING:
    from mediarank.teaching.labelling import Items, Vocabulary
    from mediarank.teaching.statements import Statement

Kind = Literal["concept", "keyword", "class", "event", "pair"]
Name = Annotated[str, typer.Option(help="a concept, keyword, class, event or attribute")]
KindOption = Annotated[Kind | None, typer.Option(help="what the name is; by default its known kind, or a concept")]
New = Annotated[bool, typer.Option("--new", help="the name is new, although a similar one exists")]

label = typer.Typer(no_args_is_help=True, help="Say what items show; nothing is overwritten, everything can be undone.")
app.add_typer(label, name="label")


@label.command(cls=ManyValues)
def add(
    name: Name,
    yes: Annotated[list[str] | None, typer.Option(help="items that show it")] = None,
    no: Annotated[list[str] | None, typer.Option(help="items that do not show it")] = None,
    more: Annotated[str | None, typer.Option(help="the item that has more of an attribute")] = None,
    less: Annotated[str | None, typer.Option(help="the item that has less of it")] = None,
    equal: Annotated[bool, typer.Option("--equal", help="--more and --less have as much of it")] = False,
    kind: KindOption = None,
    new: New = False,
) -> None:
    """Say which items show a name and which do not, or which of two has more of an attribute."""
    from mediarank.teaching.labelling import label_rows, pair_rows
    from mediarank.types import DataError

    items, vocabulary = _known()
    if (more is None) != (less is None):
        raise DataError("Give both --more and --less. Nothing was written.")
    if more is not None and less is not None:
        if yes or no:
            raise DataError("Give --more and --less, or --yes and --no, not both. Nothing was written.")
        rows = pair_rows(items, vocabulary, name, more, less, "=" if equal else ">", new)
    else:
        rows = label_rows(items, vocabulary, name, yes or [], no or [], (), kind, new)
    _report(_write(rows, "cli"))


@label.command(cls=ManyValues)
def remove(
    name: Name,
    item: Annotated[list[str], typer.Option(help="items whose statements are withdrawn")],
    kind: KindOption = None,
) -> None:
    """Withdraw statements: say neither that the items show a name nor that they do not."""
    from mediarank.teaching.labelling import label_rows

    items, vocabulary = _known()
    _report(_write(label_rows(items, vocabulary, name, removed=item, kind=kind), "cli"))


@label.command("list")
def list_statements(
    name: Annotated[str | None, typer.Option(help="only statements about this name")] = None,
    author: Annotated[str | None, typer.Option(help="only statements by this author")] = None,
    count: Annotated[int, typer.Option(min=1, help="how many of the last statements to show")] = 50,
    json: Json = False,
) -> None:
    """List the statements that hold, the last at the end, with what the source says."""
    from mediarank.teaching.current import current_labels

    merged = current_labels(DATA, JOURNAL)
    said = merged.said
    for column, wanted in (("name", name), ("author", author)):
        said = said if wanted is None else said[said[column] == wanted]
    columns = ["id", "time", "author", "name", "value", "item", "other", "effect", "source"]
    if json:
        print_json(said.tail(count)[columns])
        return
    for row in said.tail(count)[columns].astype(str).to_numpy().tolist():
        identity, time, who, about, value, item, other, effect, source = row
        than, says = f" than {other}" if other else "", f"; the source says {source}" if source else ""
        print(f"{identity}  {time[:19]}  {who}: {about} {value} {item}{than} ({effect}{says})")
    print(f"{len(said)} statements hold")
    for place, reason in merged.refused[["source", "reason"]].to_numpy().tolist():
        print(f"not used: {place} {reason}")


@label.command()
def undo(
    statement: Annotated[
        str | None, typer.Argument(help="an id, or the part before its dot; by default your last")
    ] = None,
) -> None:
    """Take statements back. By default those of your last `label` command."""
    from mediarank.teaching.undoing import undo_statements

    undone = undo_statements(JOURNAL, statement, "cli")
    print(f"{len(undone)} taken back; `mediarank label list` shows what holds")


@label.command("import")
def import_table(
    table: Annotated[Path, typer.Argument(help="a CSV: kind,item,name,value,other, or a label table")],
    new: New = False,
) -> None:
    """Read statements from a CSV file. If one line is wrong, nothing is written."""
    import pandas as pd

    from mediarank.teaching.labelling import imported_rows
    from mediarank.types import DataError

    try:
        read = pd.read_csv(table, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{table} can't be read as CSV: {error}") from None
    _report(_write(imported_rows(*_known(), read, new), "import"))


@label.command("export")
def export_table(to: Annotated[Path, typer.Argument(help="the CSV file to write")]) -> None:
    """Write what people said and still holds as a CSV file, which `label import` reads."""
    from mediarank.teaching.journal import Journal
    from mediarank.teaching.labelling import exported
    from mediarank.teaching.statements import LABEL_KINDS, latest

    held = [s for s in latest(Journal(JOURNAL).read().statements) if s.kind in LABEL_KINDS]
    store.write_csv(to, exported(held))
    print(f"{len(held)} statements in {to}")


def _known() -> tuple[Items, Vocabulary]:
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.labelling import Items, Vocabulary

    manifest = store.read_manifest(DATA / "manifest/manifest.parquet")
    return Items(manifest), Vocabulary.of(current_labels(DATA, JOURNAL).labels)


def _write(rows: list[dict[str, Any]], origin: str) -> list[Statement]:
    from mediarank.teaching.journal import Journal, current_author, statements_of_call

    return Journal(JOURNAL).append(statements_of_call(current_author(), origin, rows))


def _report(written: list[Statement]) -> None:
    call = written[0].call if written else ""
    print(
        f"{len(written)} statements written to {JOURNAL}; `mediarank label undo {call}` takes them back, "
        f"`mediarank learn` learns them now, `dvc repro` learns them for good"
    )
