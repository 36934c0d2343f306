"""Draw the starts of a fleet as SVG: requests and errors per second, and the number of converged agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH, HEIGHT, GAP = 760, 190, 56
LEFT, RIGHT, TOP = 60, 60, 40
MOST_BARS = 240
BLUE, RED, GREEN, GREY = "#3b76af", "#c0392b", "#3f8f4f", "#666"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One start. Seconds count from its beginning; ``requests`` and ``errors`` are by second."""

    requests: Counter[int]
    errors: Counter[int]
    converged: tuple[float, ...]
    agents: int

    @property
    def seconds(self) -> int:
        """The length of the curve in seconds."""
        return max([*self.requests, *self.errors, *map(int, self.converged), 1]) + 1


def draw(curves: Iterable[tuple[str, Curve]]) -> str:
    """Return one picture with a panel for each named curve."""
    panels = list(curves)
    height = TOP + len(panels) * (HEIGHT + GAP)
    body = [_panel(name, curve, TOP + number * (HEIGHT + GAP)) for number, (name, curve) in enumerate(panels)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *_legend(),
            *body,
            "</svg>\n",
        ]
    )


def _legend() -> list[str]:
    words = ((BLUE, "requests a second"), (RED, "errors a second"), (GREEN, "agents that have converged"))
    return [
        f'<rect x="{LEFT + number * 190}" y="10" width="10" height="10" fill="{colour}"/>'
        f'<text x="{LEFT + 15 + number * 190}" y="19">{text}</text>'
        for number, (colour, text) in enumerate(words)
    ]


def _panel(name: str, curve: Curve, top: int) -> str:
    # If there are too many seconds, each bar is the mean of several.
    step = curve.seconds // MOST_BARS + 1
    rates = _rates(curve.requests, step)
    most = max([*rates.values(), 1.0])
    wide = WIDTH - LEFT - RIGHT
    bottom = top + HEIGHT

    def x(second: float) -> float:
        return LEFT + wide * second / curve.seconds

    def bars(found: dict[int, float], colour: str) -> list[str]:
        width = max(0.5, wide * step / curve.seconds - 0.3)
        return [
            f'<rect x="{x(slot * step):.1f}" y="{bottom - HEIGHT * rate / most:.1f}" width="{width:.2f}" '
            f'height="{HEIGHT * rate / most:.1f}" fill="{colour}"/>'
            for slot, rate in sorted(found.items())
        ]

    steps = [
        f"{x(at):.1f},{bottom - HEIGHT * number / curve.agents:.1f}" for number, at in enumerate(curve.converged, 1)
    ]
    line = f'<polyline fill="none" stroke="{GREEN}" stroke-width="1.5" points="{x(0):.1f},{bottom} {" ".join(steps)}"/>'
    share = 100 * curve.errors.total() / max(1, curve.requests.total())
    told = (
        f"{name}: {curve.agents} agents within one second, {curve.requests.total()} requests, {share:.2f} % errors, "
        f"all converged after {max(curve.converged, default=0):.0f} s"
    )
    return "\n".join(
        [
            f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{told}</text>',
            *bars(rates, BLUE),
            *bars(_rates(curve.errors, step), RED),
            line,
            f'<path d="M{LEFT},{top} V{bottom} H{WIDTH - RIGHT} V{top}" fill="none" stroke="{GREY}"/>',
            *_labels(curve, most, top),
        ]
    )


def _labels(curve: Curve, most: float, top: int) -> list[str]:
    bottom, right = top + HEIGHT, WIDTH - RIGHT
    quarters = [(curve.seconds * part // 4, LEFT + (right - LEFT) * part / 4) for part in range(5)]
    return [
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end" fill="{BLUE}">{most:.0f}/s</text>',
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end" fill="{BLUE}">0</text>',
        f'<text x="{right + 6}" y="{top + 10}" fill="{GREEN}">{curve.agents}</text>',
        f'<text x="{right + 6}" y="{bottom}" fill="{GREEN}">0</text>',
        *(f'<text x="{at:.0f}" y="{bottom + 16}" text-anchor="middle">{second} s</text>' for second, at in quarters),
    ]


def _rates(counts: Counter[int], step: int) -> dict[int, float]:
    """Return the mean count per second by slots of ``step`` seconds."""
    slots: Counter[int] = Counter()
    for second, count in counts.items():
        slots[max(0, second) // step] += count
    return {slot: count / step for slot, count in slots.items()}
