#!/usr/bin/env python3
"""Make the environment of a package the same in every build, and list its libraries.

    tools/package_clean.py --root DIR --venv /opt/venvs/stocktake

``--root`` is the package's file tree, ``--venv`` the environment's place in it. The program removes what names the
build (paths, direct_url.json, the scripts that activate the environment) and what the package has elsewhere. It
compiles all modules, with the hash of the source in place of its time, writes each RECORD again, sorted, and writes
sbom.cdx.json (CycloneDX).
"""

from __future__ import annotations

import argparse
import base64
import compileall
import csv
import hashlib
import importlib.metadata
import json
import os
import py_compile
import shutil
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

# pbr installs the files of setup.cfg's data_files here; the package has them in their places below /usr.
ELSEWHERE = ("etc", "lib/systemd", "lib/tmpfiles.d", "lib/sysusers.d", "share", "include")
CONFIGURATION = (
    "home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\nexecutable = /usr/bin/python3\n"
)


def remove_what_differs(venv: Path) -> None:
    """Remove files that name the build's folders, and files that the package has elsewhere."""
    for name in ELSEWHERE:
        shutil.rmtree(venv / name, ignore_errors=True)
    for path in (*venv.glob("bin/[Aa]ctivate*"), *venv.glob("lib/python*/site-packages/*.dist-info/direct_url.json")):
        path.unlink()
    for folder in sorted(venv.rglob("__pycache__")):
        shutil.rmtree(folder)
    configuration = venv / "pyvenv.cfg"
    version = next(
        line.split("=")[1].strip() for line in configuration.read_text().splitlines() if "version" in line.split("=")[0]
    )
    configuration.write_text(CONFIGURATION.format(version=version))


def relocate_scripts(venv: Path, root: Path) -> None:
    """Let each script name its interpreter by the path that it has on the host."""
    for script in sorted((venv / "bin").iterdir()):
        if not script.is_symlink() and script.read_bytes().startswith(b"#!"):
            script.write_bytes(script.read_bytes().replace(bytes(root), b""))


def compile_modules(venv: Path, root: Path) -> None:
    """Compile every module. The compiled file names the source as it is installed, and holds no time."""
    compileall.compile_dir(
        venv / "lib",
        quiet=2,
        maxlevels=100,
        stripdir=str(root),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def write_record(record: Path) -> None:
    """Write the list of a library's files again: without missing files, sorted, with the files' present hashes."""
    site = record.parent.parent
    with record.open(newline="") as stream:
        names = {row[0] for row in csv.reader(stream) if row}
    with record.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(_rows(site, sorted(names), record))


def _rows(site: Path, names: Iterable[str], record: Path) -> Iterator[tuple[str, str, str]]:
    for name in names:
        path = Path(os.path.normpath(site / name))
        if path == record:
            yield name, "", ""
        elif path.is_file() and path.suffix != ".pyc":
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            yield name, f"sha256={digest}", str(path.stat().st_size)


def sbom(site: Path) -> str:
    """Return the libraries of the environment as a CycloneDX document."""
    found = sorted(importlib.metadata.distributions(path=[str(site)]), key=lambda each: each.metadata["Name"].lower())
    own = next(each for each in found if each.metadata["Name"] == "stocktake")
    components = [_component(each) for each in found if each is not own]
    names = "\n".join(f"{each['name']} {each['version']}" for each in [_component(own), *components])
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, names)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC).isoformat(),
            "component": {**_component(own), "type": "application"},
        },
        "components": components,
    }
    return json.dumps(document, indent=2) + "\n"


def _component(library: importlib.metadata.Distribution) -> dict[str, object]:
    name, version = library.metadata["Name"], library.version
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    licence = library.metadata.get("License-Expression") or library.metadata.get("License") or ""
    known = {"licenses": [{"license": {"name": licence.splitlines()[0]}}]} if licence.strip() else {}
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, **known}


def main() -> None:
    """Clean the tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--venv", required=True)
    options = parser.parse_args()
    root = options.root.resolve()
    venv = root / options.venv.lstrip("/")
    remove_what_differs(venv)
    relocate_scripts(venv, root)
    for record in sorted(venv.glob("lib/python*/site-packages/*.dist-info/RECORD")):
        write_record(record)
    compile_modules(venv, root)
    (site,) = venv.glob("lib/python*/site-packages")
    (root / "usr/share/doc/stocktake/sbom.cdx.json").write_text(sbom(site))


if __name__ == "__main__":
    main()
