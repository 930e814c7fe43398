"""Stage `check_manifest`: refuse a collection that can't be right, before anything is computed from it."""

from __future__ import annotations

from mediarank.ops.checks import check_manifest

__all__ = ["check_manifest"]
