#!/usr/bin/env python3
"""Write agent/demo/cell_schema.json: the tables of nova's cell database that the agent reads, from nova's migrations.

The demo and the tests must not need nova, and must not invent its schema. So nova's migrations run here, once per nova
release, on a scratch SQLite file. The file records the resulting tables without a dialect: types by name, keys,
indexes. A contract test repeats this and compares.

    python -m venv /tmp/nova && /tmp/nova/bin/pip install -c tests/rigs/nova-constraints.txt nova PyMySQL
    tools/make_cell_schema.py --nova-python /tmp/nova/bin/python
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import types

TARGET = Path(__file__).parent.parent / "agent" / "demo" / "cell_schema.json"
TABLES = (
    "block_device_mapping",
    "compute_nodes",
    "instance_extra",
    "instances",
    "migrations",
    "pci_devices",
    "services",
)


def run_migrations(nova_python: Path, url: str, folder: Path) -> None:
    """Run nova-manage of that environment to build a cell database at ``url``; ``folder`` has configuration and log."""
    config = folder / "nova.conf"
    config.write_text(f"[DEFAULT]\nlog_dir = {folder}\nstate_path = {folder}\n[database]\nconnection = {url}\n")
    command = [str(nova_python.parent / "nova-manage"), "--config-file", str(config), "db", "sync", "--local_cell"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")


def nova_version(nova_python: Path) -> str:
    """Return the release of nova in that environment."""
    command = [str(nova_python), "-c", "import importlib.metadata as m; print(m.version('nova'))"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def read_schema(url: str) -> dict[str, Any]:
    """Return the tables of TABLES at ``url`` as plain values, each list in a fixed order."""
    engine = sqlalchemy.create_engine(url)
    try:
        inspector = sqlalchemy.inspect(engine)
        return {name: _table(inspector, name) for name in TABLES}
    finally:
        engine.dispose()


def _table(inspector: sqlalchemy.Inspector, name: str) -> dict[str, Any]:
    uniques = [_names(unique["column_names"]) for unique in inspector.get_unique_constraints(name)]
    indexes = [
        {"name": index["name"], "columns": _names(index["column_names"]), "unique": bool(index["unique"])}
        for index in inspector.get_indexes(name)
    ]
    return {
        "columns": [_column(column) for column in inspector.get_columns(name)],
        "primary_key": list(inspector.get_pk_constraint(name)["constrained_columns"]),
        "unique": sorted(uniques),
        "indexes": sorted(indexes, key=lambda index: index["name"]),
    }


def _names(names: Any) -> list[str]:
    """Return the column names of a key in the key's own order, which matters; refuse expressions."""
    if any(name is None for name in names):
        raise SystemExit("an index over an expression cannot be written down")
    return list(names)


def _column(column: Any) -> dict[str, Any]:
    kind, length = _kind(column["type"])
    return {
        "name": column["name"],
        "type": kind,
        "length": length,
        "nullable": bool(column["nullable"]),
        "default": column["default"],
    }


def _kind(column_type: types.TypeEngine[Any]) -> tuple[str, int | None]:
    # The first match counts: Text is also a String, BigInteger also an Integer.
    for kind, base in (
        ("text", types.Text),
        ("string", types.String),
        ("big_integer", types.BigInteger),
        ("integer", types.Integer),
        ("boolean", types.Boolean),
        ("datetime", types.DateTime),
        ("float", types.Float),
    ):
        if isinstance(column_type, base):
            return kind, getattr(column_type, "length", None) if kind == "string" else None
    raise SystemExit(f"no neutral name for the column type {column_type!r}")


def rendered(schema: dict[str, Any], version: str) -> str:
    """Return the file's text: one line per column, so that a new release of nova gives a readable diff."""
    lines = ["{", f' "made_by": {json.dumps(f"nova {version}: nova-manage db sync --local_cell")},', ' "tables": {']
    for number, (name, table) in enumerate(schema.items()):
        lines.append(f"  {json.dumps(name)}: {{")
        for part in ("columns", "indexes"):
            rows = ",\n".join(f"    {json.dumps(row)}" for row in table[part])
            lines.append(f'   "{part}": [\n{rows}\n   ],')
        lines.append(f'   "primary_key": {json.dumps(table["primary_key"])},')
        lines.append(f'   "unique": {json.dumps(table["unique"])}')
        lines.append("  }" + ("," if number < len(schema) - 1 else ""))
    return "\n".join([*lines, " }", "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the cell schema from nova's own migrations.")
    parser.add_argument("--nova-python", type=Path, required=True, help="python of an environment that has nova")
    parser.add_argument("--target", type=Path, default=TARGET, help=f"file to write (default: {TARGET})")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        url = f"sqlite:///{folder / 'cell.db'}"
        run_migrations(options.nova_python, url, folder)
        text = rendered(read_schema(url), nova_version(options.nova_python))
    options.target.write_text(text)
    print(f"{options.target} written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
