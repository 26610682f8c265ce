"""The colours of the charts, on light paper and on dark.

Told apart by people with any of the common colour blindnesses; after Okabe and Ito (2008) and Tol (2021).
"""

from __future__ import annotations

AMBER, SKY, PLUM, GREEN, BLUE, OLIVE = "#e69f00", "#56b4e9", "#aa3377", "#009e73", "#0072b2", "#bbaa33"
SILVER, VERMILION, AZURE, ROSE, OCHRE = "#9aa1ab", "#d55e00", "#1a80c4", "#b8488a", "#b8860b"
GREY, SLATE, WATER = "#8a929e", "#5f6772", "#2f8fd0"
INK = "#78808c"
"""Of texts and marks that belong to no series, on both."""
GRID = "rgba(128,136,148,.25)"
MARK = "rgba(255,255,255,.75)"
"""Of the pattern on a bar."""
SHADE = "rgba(47,143,208,.22)"
"""Of a band of what was expected."""
HALO = "white"
"""Around a symbol."""
DARK = {
    AMBER: "#e69f00",
    SKY: "#56b4e9",
    PLUM: "#d175a8",
    GREEN: "#1fb38a",
    BLUE: "#4a9fd8",
    OLIVE: "#c9ba4d",
    SILVER: "#9aa1ab",
    VERMILION: "#f07f2e",
    AZURE: "#5aaae3",
    ROSE: "#d977b0",
    OCHRE: "#d3a02a",
    GREY: "#8a929e",
    SLATE: "#7d8693",
    WATER: "#5aaae3",
}
"""What a page puts for each colour of a series on dark paper. A notebook, which cannot tell, keeps the first."""
