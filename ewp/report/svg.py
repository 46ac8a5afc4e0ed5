"""Pictures for a page: matplotlib's, as SVG inside the HTML, in colours that follow the page.

The pictures are those of the plotting methods. Colours of the package become CSS variables, which
the page defines for light and dark; names of elements are made unique, or dropped if nothing
refers to them; many points become one bitmap. Nothing is left that points to the network.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from markupsafe import Markup

from ewp.display.axes import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

#: Width and height of a picture in inches; small, so that its letters are legible on a telephone.
SIZE = (4.2, 3.2)
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_FEW_POINTS = 400


#: Colours of the pictures and the variables of the page that take their place; so do greys, in
#: ten steps from the ink to the paper.
COLOURS = {colour.lower(): f"var(--c{i})" for i, colour in enumerate(PALETTE)} | {
    INK.lower(): "var(--g0)",
    "#e8eef4": "var(--phase-finish)",
    "#f6ebdd": "var(--phase-polish)",
    "#bfd9ea": "var(--pale)",
}


def draw(
    picture: Callable[[], Any],
    name: str,
    alt: str,
    size: tuple[float, float] | None = SIZE,
) -> Markup:
    """Call a plotting method and return its figure as an SVG element.

    Parameters
    ----------
    picture : callable
        Returns Axes, or a list of them, of a new figure.
    name : str
        Begins the names of the elements, so that several pictures fit on one page.
    alt : str
        What the picture shows, for readers who do not see it.
    size : tuple of float or None
        Inches; None leaves the size that the method chose.

    Returns
    -------
    markupsafe.Markup
        Put into HTML as it is.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    fonts: dict[Any, Any] = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.0}
    # The figure is closed below: how many others are open is no concern of this one.
    own: dict[Any, Any] = {"svg.hashsalt": name, "figure.max_open_warning": 0}
    with mpl.rc_context(fonts | own), plt.ioff():
        axes = picture()
        figure = (axes[0] if isinstance(axes, list) else axes).figure
        try:
            if size is not None:
                figure.set_size_inches(*size)
            _thin(figure)
            file = io.StringIO()
            kept = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", transparent=True, dpi=150, metadata=kept)
        finally:
            plt.close(figure)
    return Markup(_inline(file.getvalue(), name, alt))


def _thin(figure: Figure) -> None:
    """Make a bitmap of points too many for one element each."""
    for ax in figure.axes:
        for collection in ax.collections:
            if np.shape(collection.get_offsets())[0] > _FEW_POINTS:
                collection.set_rasterized(True)


def _inline(text: str, name: str, alt: str) -> str:
    """Turn matplotlib's SVG file into an element of a page."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("}metadata") or child.tag.endswith("}style"):
                parent.remove(child)
    references = set(re.findall(r"url\(#([^)]+)\)", text)) | set(
        re.findall(r'href="#([^"]+)"', text)
    )
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in references:
            element.set("id", f"{name}-{identity}")
        for key, value in list(element.attrib.items()):
            if key == _HREF and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif key in ("style", "clip-path", "fill", "stroke"):
                value = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value)
                # presentation attributes know no variables, style does
                if key in ("fill", "stroke") and value.startswith("#"):
                    del element.attrib[key]
                    key, value = "style", f"{key}: {value}; {element.get('style', '')}"
                element.set(key, _recoloured(value))
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", alt)
    return ElementTree.tostring(root, encoding="unicode")


def _recoloured(style: str) -> str:
    """Put variables in the place of colours.

    >>> _recoloured("fill: #0072B2; stroke: #b0b0b0; opacity: 0.5")
    'fill: var(--c0); stroke: var(--g7); opacity: 0.5'
    """
    return re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: _variable(found[0].lower()), style)


def _variable(colour: str) -> str:
    red, green, blue = colour[1:3], colour[3:5], colour[5:7]
    if colour not in COLOURS and red == green == blue:
        return f"var(--g{round(int(red, 16) / 25.5)})"
    return COLOURS.get(colour, colour)
