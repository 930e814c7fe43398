"""MLflow's registry: one registered model per system, one version per dvc.lock, aliases `champion` and `challenger`.

A version is the packed model (`packing.py`) with the script that loads it (`mlflow_model.py`), kept among the artifacts
of the system's run. It also carries what a later version is compared with, and the digest of its packed files, which
`verified` compares. Importing MLflow costs seconds, so it is imported when a `Registry` is opened.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from mediarank import disk, store
from mediarank.ops.models.answering import FILES, ITEM
from mediarank.ops.models.packing import Packed, digest, require_digest
from mediarank.ops.models.request_body import DEFAULT_COUNT
from mediarank.ops.runs.tracking import prepare_database
from mediarank.ops.services.access import redacted
from mediarank.ops.services.environment import state_folder
from mediarank.types import DataError, MediarankError

CHAMPION: Final = "champion"
CHALLENGER: Final = "challenger"
ARTIFACT: Final = "model"
PACKED: Final = "packed"
LOCK_TAG: Final = "mediarank.lock"
METHOD_TAG: Final = "mediarank.method"
DIGEST_TAG: Final = "mediarank.sha256"
MOST_CARD: Final = 4000
"""Characters of a description; MLflow's database takes 5000."""
SCRIPT: Final = Path(__file__).with_name("mlflow_model.py")


@dataclass(frozen=True)
class Version:
    """A registered version.

    run : MLflow's id of the run that has its files
    lock : the key of the dvc.lock it came from
    method : that it serves
    digest : of its packed files; empty if it was registered before digests were kept
    """

    system: str
    number: str
    run: str
    lock: str
    method: str
    digest: str
    aliases: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"models:/{model_name(self.system)}/{self.number}"


def model_name(system: str) -> str:
    return f"mediarank-{system}"


class Registry:
    """The registry beside the project's tracking store.

    uri : of the store; by default `MLFLOW_TRACKING_URI`, or else `mlflow.db` in the project
    """

    def __init__(self, root: Path, uri: str | None = None) -> None:
        os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false")
        self.root = root.resolve()
        self.uri = prepare_database(self.root, uri)
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)

    def versions(self, system: str) -> list[Version]:
        """All of a system, newest first."""
        with _explained(self.uri):
            found = self._client.search_model_versions(f"name = '{model_name(system)}'")
            # A search does not say which aliases a version bears, the model does.
            aliases = self._aliases(system) if found else {}
            made = [_version(system, v, aliases) for v in found]
        return sorted(made, key=lambda v: int(v.number), reverse=True)

    def bearing(self, system: str, alias: str) -> Version | None:
        """The version that bears the alias, if one does."""
        return next((v for v in self.versions(system) if alias in v.aliases), None)

    def of_lock(self, system: str, key: str) -> Version | None:
        """The version of a dvc.lock. One without a digest can't be verified, so it does not count."""
        return next((v for v in self.versions(system) if v.lock == key and v.digest), None)

    def register(self, packed: Packed, run: str, lock: str) -> Version:
        """Keep a packed model in the system's run and register it."""
        from mlflow.pyfunc import save_model

        system, method, files = packed.system, packed.model.served, packed.workspace.data
        tags = {LOCK_TAG: lock, METHOD_TAG: method, DIGEST_TAG: digest(files)}
        with self._scratch() as folder, _explained(self.uri), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*input example.*")
            model = folder / ARTIFACT
            save_model(
                path=str(model),
                python_model=str(SCRIPT),
                artifacts={PACKED: str(files)},
                signature=_signature(packed),
                input_example=_example(packed),
                # Given, not inferred: inferring would load the model in yet another environment.
                pip_requirements=[f"mediarank=={package_version('mediarank')}"],
            )
            self._client.log_artifacts(run, str(model), ARTIFACT)
            card = _card(self.root, system)
            if not self._client.search_registered_models(f"name = '{model_name(system)}'"):
                self._client.create_registered_model(model_name(system), description=card)
            about = f"`{method}` answers. {card}"
            made = self._client.create_model_version(
                model_name(system), f"runs:/{run}/{ARTIFACT}", run, tags=tags, description=about
            )
        return Version(system, str(made.version), run, lock, method, tags[DIGEST_TAG])

    def call(self, alias: str, version: Version) -> None:
        """Move an alias to a version."""
        with _explained(self.uri):
            self._client.set_registered_model_alias(model_name(version.system), alias, version.number)

    def call_no_more(self, alias: str, system: str) -> None:
        with _explained(self.uri):
            self._client.delete_registered_model_alias(model_name(system), alias)

    def note(self, version: Version, key: str, value: str) -> None:
        """Leave a tag on a version."""
        with _explained(self.uri):
            self._client.set_model_version_tag(model_name(version.system), version.number, key, value)

    def keep(self, version: Version, name: str, content: Any) -> None:
        """Keep JSON among the artifacts of the version's run."""
        with self._scratch() as folder, _explained(self.uri):
            store.write_json(folder / name, content)
            self._client.log_artifact(version.run, str(folder / name))

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A temporary folder of ours, also for MLflow: a killed process leaves nothing that nobody removes."""
        before = tempfile.tempdir
        with disk.scratch(state_folder(self.root) / "registering", tempfile.mkdtemp) as folder:
            tempfile.tempdir = str(folder)
            try:
                yield folder
            finally:
                tempfile.tempdir = before

    def sweep(self, run: str) -> None:
        """Remove what a killed process has left half-written among a run's files on this machine."""
        if (files := self._files(run)) is not None:
            disk.sweep_below(files, depth=3)

    def _files(self, run: str) -> Path | None:
        """Where a run's files are; None if they are kept elsewhere."""
        with _explained(self.uri):
            address = urlparse(self._client.get_run(run).info.artifact_uri)
        return Path(unquote(address.path)) if address.scheme in ("", "file") else None

    def folder(self, version: Version) -> Path:
        """The version's files on this machine; what is kept elsewhere is fetched once."""
        if (files := self._files(version.run)) is not None:
            return files / ARTIFACT
        with _explained(self.uri):
            kept = state_folder(self.root) / "models" / f"{model_name(version.system)}-{version.run}"
            if not kept.exists():
                with store.atomic_folder(kept) as folder:
                    fetched = self._client.download_artifacts(version.run, ARTIFACT, str(folder))
                    for path in Path(fetched).iterdir():
                        shutil.move(path, folder / path.name)
                    Path(fetched).rmdir()
        return kept

    def packed(self, version: Version) -> Path:
        """The packed model among the version's files."""
        return self.folder(version) / "artifacts" / PACKED

    def verified(self, version: Version) -> Path:
        """The packed model, after its files have been compared with the version's digest."""
        if not version.digest:
            raise DataError(
                f"Version {version.number} of {version.system} was registered without a digest of its files, so they "
                "can't be verified. Run `mediarank promote`, which registers it again."
            )
        packed = self.packed(version)
        require_digest(packed, version.digest)
        return packed

    def _aliases(self, system: str) -> dict[str, list[str]]:
        aliases: dict[str, list[str]] = {}
        for alias, number in self._client.get_registered_model(model_name(system)).aliases.items():
            aliases.setdefault(str(number), []).append(alias)
        return aliases


def _version(system: str, found: Any, aliases: dict[str, list[str]]) -> Version:
    number, tags = str(found.version), found.tags
    lock, method, files = (tags.get(tag, "") for tag in (LOCK_TAG, METHOD_TAG, DIGEST_TAG))
    return Version(system, number, found.run_id, lock, method, files, tuple(aliases.get(number, ())))


def _example(packed: Packed) -> Any:
    """One item of the collection, as a request names it."""
    import pandas as pd

    return pd.DataFrame({ITEM: [packed.example]})


def _card(root: Path, system: str) -> str:
    """The beginning of the system's card, up to its tables: what it does, in Markdown."""
    path = root / "docs/papers" / f"{system}.md"
    return path.read_text().split("\n## What is here")[0][:MOST_CARD] if path.exists() else ""


def _signature(packed: Packed) -> Any:
    """What a request may hold: types that keep frames take one list of numbers per frame."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import Array

    asked = [ColSpec("string", name, required=False) for name in (ITEM, *FILES)]
    for name in packed.model.needs.features:
        kind = Array(DataType.double)
        asked.append(ColSpec(Array(kind) if packed.keeps_frames(name) else kind, name, required=False))
    columns = {"query": "string", "rank": "long", "name": "string", "score": "double"}
    answered = [ColSpec(kind, name) for name, kind in columns.items()]
    return ModelSignature(Schema(asked), Schema(answered), ParamSchema([ParamSpec("count", "long", DEFAULT_COUNT)]))


@contextmanager
def _explained(uri: str) -> Iterator[None]:
    """What MLflow refuses becomes an error of ours, with a remedy."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        raise MediarankError(
            redacted(f"MLflow's registry {uri} can't be used: {error}")
            + "\nWhat to do: check its address, or that its server runs."
        ) from error
