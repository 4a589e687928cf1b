"""Conducts an experiment: all steps in order, kept results, and the archive however it ends."""

from __future__ import annotations

import importlib.util
import os
import queue
import sys
import threading
import traceback
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import core
from hopcast.errors import InputError
from hopcast.experiment import engine, files
from hopcast.experiment.history import now
from hopcast.experiment.nodes import Aborted, Node, NodeDied, of_this_thread
from hopcast.experiment.pieces import LOST, Measured, Result, measured, perform
from hopcast.experiment.progress import PiecesProgress
from hopcast.experiment.store import opened
from hopcast.signals import without_end

if TYPE_CHECKING:
    from hopcast.experiment.archive import Unpacked
    from hopcast.experiment.base import Experiment

Tasks = Mapping[str, Mapping[str, Any]]


def conduct(experiment: Experiment, archive: Path) -> Path:
    """Takes all steps of an experiment, and writes its archive, also behind an exception or SIGTERM.

    Raises what the experiment raised.
    """
    from hopcast.experiment.base import Experiment

    if type(experiment).run is Experiment.run:
        # An earlier archive stays where nothing can be run.
        files.check_columns([piece.parameters for piece in experiment.pieces], "pieces", experiment.piece)
    raised: BaseException | None = None
    with experiment.stop:
        try:
            _steps(experiment)
        except Aborted:
            experiment.ended = experiment.stop.asked_by or "stopped"
        except BaseException as error:
            experiment.ended = f"{type(error).__name__}: {error}"
            raised = error
        if experiment.stop and not experiment.ended:
            experiment.ended = experiment.stop.asked_by or "stopped"
        experiment.stop_monitoring()
        with without_end():
            _put_back(experiment)
            experiment.save(archive)
    if raised is not None:
        raise raised
    return archive


def _put_back(experiment: Experiment) -> None:
    asked, experiment.stop.asked_by = experiment.stop.asked_by, None
    try:
        experiment.put_machine_back()
    except NodeDied as error:
        _bury(experiment, error)
    finally:
        experiment.stop.asked_by = asked


def _bury(experiment: Experiment, died: NodeDied, then: str = "") -> None:
    """Goes on without a node."""
    experiment.nodes.drop(died)
    experiment.notes.append(f"{died}{then}")


def _steps(experiment: Experiment) -> None:
    install = experiment.install
    experiment.set_machine()
    if period := install.get("monitoring"):
        experiment.start_monitoring(core.seconds("monitoring", period))
    if warm_up := install.get("warm_up"):
        with _step(experiment, "warm_up"):
            experiment.perform_stress(core.seconds("warm_up", warm_up))
    try:
        with _step(experiment, "setup"):
            experiment.setup()
        with _step(experiment, "run"):
            experiment.run()
    finally:
        if not experiment.stop:
            with _step(experiment, "teardown"):
                experiment.teardown()


@contextmanager
def _step(experiment: Experiment, name: str) -> Iterator[None]:
    experiment.steps[name] = {"start": now()}
    try:
        yield
    finally:
        experiment.steps[name]["end"] = now()


def run_pieces(experiment: Experiment) -> None:
    """Runs the pieces that have no result yet: one after the other, or one on each node at a time."""
    files.check_columns([piece.parameters for piece in experiment.pieces], "pieces", experiment.piece)
    compute = _by_nodes if experiment.each_node else _in_order
    with opened(experiment.folder) as store:
        kept = len(store.known(piece.key for piece in experiment.pieces))
        progress = PiecesProgress("piece", len({piece.key for piece in experiment.pieces}), kept)
        try:
            experiment.results = engine.run(
                experiment.pieces, partial(compute, experiment), store, progress, experiment.stop
            )
        finally:
            progress.close()
            experiment.results = experiment.results or store.known(piece.key for piece in experiment.pieces)


def _compute(experiment: Experiment, inputs: Mapping[str, Any]) -> Result:
    parameters = inputs["parameters"]

    def checked(_inputs: Mapping[str, Any]) -> Measured:
        found = measured(experiment.piece(**parameters))
        files.check_results(parameters, [found.values, *found.rows])
        return found

    return perform(checked, inputs, reraised=(NodeDied,))


def _in_order(experiment: Experiment, tasks: Tasks) -> Generator[tuple[str, Result], None, None]:
    """One piece at a time, on all nodes; without a node the rest cannot be run."""
    died: NodeDied | None = None
    for key, inputs in tasks.items():
        if experiment.stop:
            return
        if died is None:
            try:
                yield key, _compute(experiment, inputs)
                continue
            except NodeDied as error:
                died = error
                _bury(experiment, error)
        yield key, Result(LOST, str(died))


def _by_nodes(experiment: Experiment, tasks: Tasks) -> Generator[tuple[str, Result], None, None]:
    """A piece on each node at a time; those of a node that dies run on others."""
    waiting: queue.SimpleQueue[tuple[str, Mapping[str, Any]]] = queue.SimpleQueue()
    for task in tasks.items():
        waiting.put(task)
    done: queue.SimpleQueue[tuple[str, Result] | Node | BaseException] = queue.SimpleQueue()
    over = threading.Event()
    for node in experiment.nodes:
        threading.Thread(target=_work, args=(experiment, node, waiting, done, over), daemon=True).start()
    left, alive = set(tasks), len(experiment.nodes)
    try:
        while left and alive:
            came = done.get()
            if isinstance(came, Node):
                alive -= 1
            elif isinstance(came, BaseException):
                raise came
            else:
                left.discard(came[0])
                yield came
    finally:
        over.set()
    if not experiment.stop:
        for key in sorted(left):
            yield key, Result(LOST, f"all nodes died: {'; '.join(experiment.notes)}")


def _work(
    experiment: Experiment,
    node: Node,
    waiting: queue.SimpleQueue,
    done: queue.SimpleQueue,
    over: threading.Event,
) -> None:
    """Runs pieces on one node until all have their results, or it dies."""
    try:
        with of_this_thread(node):
            while not experiment.stop and not over.is_set():
                try:
                    task = waiting.get(timeout=_LOOK_S)
                except queue.Empty:
                    continue
                try:
                    done.put((task[0], _compute(experiment, task[1])))
                except NodeDied as error:
                    waiting.put(task)
                    _bury(experiment, error, "; its pieces run elsewhere")
                    return
    except BaseException as error:
        done.put(error)
    finally:
        done.put(node)


_LOOK_S = 0.1


def load(text: str, folder: Path) -> tuple[type[Experiment], Unpacked | None]:
    """The class that a name, `FILE.py`, `FILE.py:CLASS` or an archive means, and what the archive holds."""
    from hopcast.experiment import archive, builtin

    if text in builtin.EXPERIMENTS:
        return builtin.EXPERIMENTS[text], None
    path, _, name = text.partition(":")
    if path.endswith(".zip"):
        found = archive.unpack(Path(path), folder)
        if found.built_in in builtin.EXPERIMENTS:
            return builtin.EXPERIMENTS[found.built_in], found
        return _class(found.script, name), found
    if not path.endswith(".py"):
        raise InputError(
            f"{text}: unknown experiment; known: {', '.join(builtin.EXPERIMENTS)}, or a file NAME.py"
        )
    return _class(Path(path), name), None


def _class(file: Path, name: str) -> type[Experiment]:
    from hopcast.experiment.base import Experiment

    spec = importlib.util.spec_from_file_location(f"hopcast_experiment_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError(f"{file}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{file}: {_where(error, file)}{type(error).__name__}: {error}") from error
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Experiment) and value.__module__ == spec.name
    }
    if name:
        found = {name: found[name]} if name in found else {}
    if len(found) != 1:
        known = ", ".join(found) or "none"
        raise InputError(
            f"{file}: one class of hopcast.experiment.Experiment is wanted, as FILE:CLASS; here: {known}"
        )
    return next(iter(found.values()))


def _where(error: Exception, file: Path) -> str:
    """Line of a script at which its error arose: "line 3: ", or nothing if that is not known."""
    if isinstance(error, SyntaxError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == os.path.abspath(file)]
    return f"line {lines[-1]}: " if lines else ""
