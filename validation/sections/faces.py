"""Face images in Table 5: whether partitions follow the persons or the conditions."""

from __future__ import annotations

import pandas as pd

from validation import plan
from validation.cells import Store
from validation.page import Table

__all__ = ["followed"]


def followed(store: Store) -> list[str | Table]:
    """Agreement of partitions with persons and with conditions, where it was computed."""
    rows = []
    leads = []
    for cell, value in store.finished(plan.faces()):
        for method, adjusted in value["ami"].items():
            leads.append(adjusted["condition"] > adjusted["person"])
            rows.append(
                {
                    "data": cell.inputs["name"],
                    "partition": method,
                    "NMI, person": f"{value['nmi'][method]['person']:.3f}",
                    "NMI, condition": f"{value['nmi'][method]['condition']:.3f}",
                    "AMI, person": f"{adjusted['person']:.3f}",
                    "AMI, condition": f"{adjusted['condition']:.3f}",
                    "variance, person": f"{value['share']['person']:.0%}",
                    "variance, condition": f"{value['share']['condition']:.0%}",
                }
            )
    if not rows:
        return []
    table = Table(
        pd.DataFrame(rows),
        "What partitions of the face images follow. The condition of an image is its place among "
        "those of its person, which come in the same order for each. NMI is high by chance with "
        "many small groups, AMI is adjusted for that; variance of standardised pixels that lies "
        "between the groups",
        2,
    )
    text = (
        "In face images the partitions, k-means' too, follow the condition (light, expression, "
        "pose) more than the person, whose class is asked for."
    )
    return [text, table] if all(leads) else [table]
