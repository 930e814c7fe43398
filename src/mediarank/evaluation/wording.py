"""Methods in a user's words; the paper's name and what it does come as a hint.

Each system lists its own in `systems/<name>/wording.py`. A method that is not listed there keeps its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """What a method is called on pages.

    plain : a few common words
    paper : the name in the literature, and in half a sentence what it does
    """

    plain: str
    paper: str = ""


Wording = Mapping[str, Words]


def plain(words: Wording, method: str) -> str:
    """The method in a user's words.

    >>> plain({"opr": Words("learned weights")}, "opr"), plain({}, "my_method")
    ('learned weights', 'my method')
    """
    return words[method].plain if method in words else method.replace("_", " ")


def hint(words: Wording, method: str) -> str:
    """What a method's hint says: how to name it in a command, and what the paper calls it.

    >>> hint({"opr": Words("learned weights", "OPR, a perceptron")}, "opr")
    '--method opr: OPR, a perceptron'
    """
    paper = words[method].paper if method in words else ""
    return f"--method {method}: {paper}" if paper else f"--method {method}"
