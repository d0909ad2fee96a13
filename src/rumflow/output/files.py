"""Tables to files, written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rumflow.output.frames import optional


def write_table(table: Mapping[str, Any], path: str | Path) -> None:
    """Columns as CSV, Parquet or JSON by the ending of the name; written whole or not at all."""
    target = Path(path)
    kind = target.suffix.lower()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if kind in (".parquet", ".pq"):
            arrow, parquet = optional("pyarrow", "data"), optional("pyarrow.parquet", "data")
            parquet.write_table(arrow.table(dict(table)), temporary)
        elif kind == ".json":
            rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
            temporary.write_text(json.dumps(rows, indent=1, default=str, ensure_ascii=False), encoding="utf-8")
        else:
            with open(temporary, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
