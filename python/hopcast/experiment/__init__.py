"""Experiments: a list of pieces, run somewhere, kept in an archive, looked at."""

from hopcast.experiment.base import Experiment
from hopcast.experiment.nodes import Command, Node, Nodes

__all__ = ["Command", "Experiment", "Node", "Nodes"]
