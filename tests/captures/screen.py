"""Draws a screen with its escape sequences as an SVG picture."""

import re
import unicodedata
from xml.sax.saxutils import escape

CELL = 8.4
LINE = 18
MARGIN = 14
BACKGROUND, FOREGROUND = "#14161a", "#d8dee6"
COLOURS = {30: "#4b5563", 31: "#e06c75", 32: "#7fbf6a", 33: "#d7b45a", 34: "#6aa3e8", 35: "#c48ad8", 36: "#56c2cf", 37: "#d8dee6"}
SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b[()][A-Z0-9]|[\x0e\x0f]")


class Style:
    """How text looks."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.bold = self.dim = self.italic = self.underline = self.strike = False
        self.colour = None

    def apply(self, codes: str) -> None:
        for code in [int(code or 0) for code in codes.replace(":", ";").split(";")]:
            match code:
                case 0:
                    self.reset()
                case 1:
                    self.bold = True
                case 2:
                    self.dim = True
                case 3:
                    self.italic = True
                case 4:
                    self.underline = True
                case 9:
                    self.strike = True
                case 22:
                    self.bold = self.dim = False
                case 23:
                    self.italic = False
                case 24:
                    self.underline = False
                case 29:
                    self.strike = False
                case 39:
                    self.colour = None
                case _ if code in COLOURS:
                    self.colour = COLOURS[code]

    def attributes(self) -> str:
        parts = []
        if self.bold:
            parts.append('font-weight="bold"')
        if self.italic:
            parts.append('font-style="italic"')
        if self.dim:
            parts.append('opacity="0.65"')
        lines = [name for name, on in (("underline", self.underline), ("line-through", self.strike)) if on]
        if lines:
            parts.append(f'text-decoration="{" ".join(lines)}"')
        if self.colour:
            parts.append(f'fill="{self.colour}"')
        return " ".join(parts)


def width(text: str) -> int:
    """The columns of a text."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 0 if unicodedata.combining(letter) else 1 for letter in text)


def svg(screen: str, columns: int) -> str:
    """The picture of a screen."""
    lines = screen.rstrip("\n").split("\n")
    total, height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height:.0f}" viewBox="0 0 {total:.0f} {height:.0f}" role="img">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" fill="{FOREGROUND}" xml:space="preserve">',
    ]
    style = Style()
    for number, line in enumerate(lines):
        column, at = 0, 0
        for found in [*SEQUENCE.finditer(line), None]:
            text = line[at : found.start() if found else len(line)]
            if text.strip() or (text and style.underline):
                x, y = MARGIN + column * CELL, MARGIN + number * LINE + 13
                out.append(
                    f'<text x="{x:.1f}" y="{y:.1f}" textLength="{width(text) * CELL:.1f}" {style.attributes()}>{escape(text)}</text>'
                )
            column += width(text)
            if found:
                at = found.end()
                if found.group(1) is not None:
                    style.apply(found.group(1))
    out.append("</g></svg>")
    return "\n".join(out) + "\n"
