"""A picture of CPU per unit of work relative to sluice: an SVG of bars, by our own hand."""

from xml.sax.saxutils import escape

from harness import figures
from harness.scenarios import CONNECTIONS, KINDS, SCENARIOS

_WIDTH, _LEFT, _RIGHT = 900, 130, 60
_BAR, _GAP, _HEAD = 13, 16, 46
_MOST = 4.0  # longer bars are cut off there
_COLORS = {"sluice": "#1f6f8b", "floor": "#b8b8b8", "copies": "#d9903d", "splices": "#a0522d"}


def draw(rows, known, kind, subject):
    """The SVG text for the scenarios of a kind; None where nothing can be compared. `subject` is the proxy that is 1."""
    groups = []
    for scenario in figures.names(rows, "scenario"):
        if SCENARIOS[scenario].kind != kind or SCENARIOS[scenario].work == CONNECTIONS:
            continue
        bars = []
        for proxy in figures.names([row for row in rows if row["scenario"] == scenario], "proxy"):
            result = (1.0, None, 1) if proxy == subject else figures.ratio(rows, scenario, proxy, subject)
            if result and proxy in known and figures.values(rows, scenario, subject, "cpu_per_unit"):
                bars.append((proxy, result[0]))
        if len(bars) > 1:
            groups.append((SCENARIOS[scenario].load.name, sorted(bars, key=lambda bar: bar[1])))
    return _svg(f"{KINDS[kind]}: CPU per unit of work, {subject} = 1 (shorter is better)", groups, known) if groups else None


def color(about):
    """Of what is known of a proxy."""
    for name in ("sluice", "floor"):
        if about.get(name):
            return _COLORS[name]
    return _COLORS["splices" if about["splices"] else "copies"]


def _svg(title, groups, known):
    height = _HEAD + sum(_GAP + _BAR * len(bars) + 8 for _, bars in groups) + 8
    scale = (_WIDTH - _LEFT - _RIGHT) / _MOST
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(10, 18, title, size=14, weight="bold"),
        *_legend(10, 35),
    ]
    line = _LEFT + scale
    parts.append(f'<line x1="{line:.1f}" y1="{_HEAD}" x2="{line:.1f}" y2="{height - 6}" stroke="#888888" stroke-dasharray="3,3"/>')
    y = _HEAD
    for name, bars in groups:
        parts.append(_text(10, y + 12, name, weight="bold"))
        y += _GAP
        for proxy, value in bars:
            parts += _bar(y, proxy, value, scale, color(known[proxy]))
            y += _BAR
        y += 8
    return "\n".join(parts + ["</svg>"]) + "\n"


def _bar(y, proxy, value, scale, fill):
    length = min(value, _MOST) * scale
    label = f"{value:.2f}" + (" →" if value > _MOST else "")
    return [
        _text(_LEFT - 6, y + 10, proxy, anchor="end"),
        f'<rect x="{_LEFT}" y="{y + 1}" width="{length:.1f}" height="{_BAR - 2}" fill="{fill}"/>',
        _text(_LEFT + length + 4, y + 10, label),
    ]


def _legend(x, y):
    parts = []
    for name, fill in _COLORS.items():
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{fill}"/>')
        parts.append(_text(x + 14, y, {"floor": "floor: no proxy's work"}.get(name, name)))
        x += 150
    return parts


def _text(x, y, text, size=11, weight="normal", anchor="start"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )
