"""COMPUTE_GRAPHICS_MODEL_*: the video cards that an emulator on this host offers for any machine type.

libvirt calls the absence of a card ``none``. The agent handles ``none`` like any other model, because ``none`` has a
trait too (COMPUTE_GRAPHICS_MODEL_NONE).
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, emulators, wish_of_emulators

_MODELS = ("bochs", "cirrus", "gop", "none", "qxl", "vga", "virtio", "vmvga", "xen")


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Set or clear each trait; change no trait while the domain capabilities are unknown."""
    asked = emulators(snapshot)
    if asked is None:
        return Wish()
    offered = frozenset().union(*(one.video_models for one in asked))
    answers = {f"COMPUTE_GRAPHICS_MODEL_{model.upper()}": model in offered for model in _MODELS}
    return wish_of_emulators(answers, snapshot)
