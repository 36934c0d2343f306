"""Run oslo-config-generator, even where this project is not installed."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
_RUN = (
    "import sys; from agent.cmd.daemon import block_modules; block_modules(); "
    "from oslo_config import generator; generator.main(sys.argv[1:])"
)


def generate(folder: pathlib.Path) -> str:
    """Return the sample as the generator makes it now; ``folder`` is scratch space."""
    output = folder / "sample"
    config = ROOT / "etc/stocktake/generator.conf"
    command = [sys.executable, "-c", _RUN, "--config-file", str(config), "--output-file", str(output)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{_entry_point(folder)}"}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    return output.read_text()


def _entry_point(folder: pathlib.Path) -> str:
    """Return a folder with the namespace's entry point, "" if an installed package provides it."""
    if importlib.metadata.entry_points(group="oslo.config.opts", name="stocktake"):
        return ""
    info = folder / "path" / "stocktake_checkout-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stocktake-checkout\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[oslo.config.opts]\nstocktake = agent.config.options.opts:list_opts\n")
    return str(info.parent)
