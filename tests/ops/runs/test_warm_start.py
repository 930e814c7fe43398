"""Commands from the fork server: the same as `python -m`, but warm, with the current code, ended like others."""

from __future__ import annotations

import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_project
from waiting import wait_for

from mediarank.ops.runs import warm_start
from mediarank.ops.runs.stage_processes import Children, shell_command
from mediarank.ops.runs.warm_start import WarmStart

pytestmark = pytest.mark.skipif(not warm_start.possible(), reason="forking is safe on Linux only")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a package of the product's name in it, as a server there would import it."""
    return tmp_path


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmStart]:
    monkeypatch.setattr(warm_start, "MODULES", ("decimal",))
    opened = WarmStart(folder, grace=2.0)
    yield opened
    opened.close()


def module(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return name


def output(server: WarmStart, folder: Path, *command: str, **variables: str) -> tuple[int, list[str]]:
    with server.start(command, folder, variables) as process:
        lines = process.stdout.read().splitlines()
        return process.wait(), lines


def test_it_is_python_m_with_arguments_variables_and_folder(server: WarmStart, folder: Path) -> None:
    module(
        folder, "told",
        """
        import os, sys
        print(__name__, sys.argv[1:], os.environ["COLOUR"], os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
        print(sys.stdin.read() == "", file=sys.stderr)
        """,
    )  # fmt: skip
    assert output(server, folder, "told", "a", "b c", COLOUR="red") == (0, ["__main__ ['a', 'b c'] red True", "True"])


def test_modules_are_imported_already(server: WarmStart, folder: Path) -> None:
    module(folder, "asks", "import sys; print('decimal' in sys.modules, 'fractions' in sys.modules)")
    wait_for(lambda: output(server, folder, "asks") == (0, ["True False"]))  # it imports while nobody asks


def test_a_function_that_is_named_is_called_already(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(
        folder, "tables", "class Filled:\n    rows = []\n    def fill(self): self.rows.append(1)\nfilled = Filled()\n"
    )
    module(folder, "asks", "import tables; print(len(tables.filled.rows))")
    monkeypatch.setattr(warm_start, "MODULES", ("tables:filled.fill", "missing:call", "tables:none.at.all"))
    server = WarmStart(folder, grace=2.0)
    try:
        wait_for(lambda: output(server, folder, "asks") == (0, ["1"]))
    finally:
        server.close()


def test_it_ends_as_python_does(server: WarmStart, folder: Path) -> None:
    """Threads are waited for, then what was registered is called, and all output arrives; see `quick_end.py`."""
    module(
        folder, "ends",
        """
        import atexit, sys, threading, time
        atexit.register(lambda: sys.stdout.write("registered\\nlast"))
        threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
        sys.exit(3)
        """,
    )  # fmt: skip
    assert output(server, folder, "ends") == (3, ["thread", "registered", "last"])


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(7)", 7), ("1 / 0", 1), ("sys.exit('no')", 1), ("os.kill(os.getpid(), 9)", 137)]
)
def test_exit_codes_are_those_of_python(server: WarmStart, folder: Path, end: str, code: int) -> None:
    module(folder, "ends", f"import os, sys\n{end}\n")
    assert output(server, folder, "ends")[0] == code


def test_each_command_runs_the_code_as_it_is(server: WarmStart, folder: Path) -> None:
    module(folder, "code", "print('old')")
    assert output(server, folder, "code") == (0, ["old"])
    module(folder, "code", "print('new one')")
    assert output(server, folder, "code") == (0, ["new one"])


def test_no_module_of_ours_is_kept_from_the_server(server: WarmStart, folder: Path) -> None:
    module(folder, "kept", "import sys; print([name for name in sys.modules if name.startswith('mediarank')])")
    assert output(server, folder, "kept") == (0, ["[]"])


def test_letting_go_ends_the_whole_group(server: WarmStart, folder: Path) -> None:
    module(
        folder, "stays",
        """
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
        print(os.getpid(), child.pid, flush=True)
        time.sleep(600)
        """,
    )  # fmt: skip
    with server.start(["stays"], folder, {}) as process:
        pids = [int(word) for word in process.stdout.readline().split()]
        process.stdin.close()
        assert process.wait(120) == 128 + signal.SIGKILL
    wait_for(lambda: all(map(toy_project.gone, pids)))


def test_children_start_mediarank_warm_and_all_else_cold(folder: Path) -> None:
    with Children(folder, lambda: 1) as these:
        these.warm_up()
        warm = these.run([sys.executable, "-m", "mediarank", "--help"], lambda _: None, seconds=200)
        cold = these.run([sys.executable, "-c", "print('cold')"], lambda _: None, seconds=200)
    assert warm.code == 0
    assert any("rollback" in line for line in warm.lines), "its help"
    assert cold.lines == ("cold",)


def test_which_lines_of_dvc_yaml_need_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("MEDIARANK_PYTHON", sys.executable)
    warm = (sys.executable, "-m", "mediarank", "features", "hog")
    assert shell_command("bin/mediarank features hog", tmp_path) == warm
    for line in ("bin/mediarank features hog > out", "bin/mediarank find $HOME", "python x.py", "bin/mediarank; ls"):
        assert shell_command(line, tmp_path) == ("/bin/bash", "--noprofile", "--norc", "-c", line)
    monkeypatch.setenv("MEDIARANK_PYTHON", "/usr/bin/python3-of-another-place")
    assert shell_command("bin/mediarank collect", tmp_path)[-2:] == ("-c", "bin/mediarank collect")
