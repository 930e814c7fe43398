"""Options that take several values: `--yes a b c` as well as `--yes a --yes b --yes c`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose repeatable options take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each further value, then parse as usual."""
        several = {flag for option in self.params if getattr(option, "multiple", False) for flag in option.opts}
        spread: list[str] = []
        current, count = "", 0
        for word in args:
            if word.startswith("-") and word != "-":
                current, count = (word, 0) if word in several else ("", 0)
            elif current:
                count += 1
                if count > 1:
                    spread.append(current)
            spread.append(word)
        return super().parse_args(ctx, spread)
