"""The dashboards as values of Grafana's own TypeScript types: an unknown or misspelt key is a compiler's error.

By hand: ``npm install typescript @grafana/schema@13`` in a folder, and its ``node_modules`` in
``STOCKTAKE_NODE_MODULES``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.rigs.source_tree import ROOT

MODULES = os.environ.get("STOCKTAKE_NODE_MODULES", "")
TYPES = {
    "stat": "stat/panelcfg/x/StatPanelCfg",
    "table": "table/panelcfg/x/TablePanelCfg",
    "timeseries": "timeseries/panelcfg/x/TimeSeriesPanelCfg",
    "bargauge": "bargauge/panelcfg/x/BarGaugePanelCfg",
    "gauge": "gauge/panelcfg/x/GaugePanelCfg",
    "heatmap": "heatmap/panelcfg/x/HeatmapPanelCfg",
    "state-timeline": "statetimeline/panelcfg/x/StateTimelinePanelCfg",
}
#: JSON has texts where the types have enumerations.
PLAIN = (
    "type Plain<T> = T extends string ? `${T}` : T extends number|boolean|null|undefined ? T : "
    "T extends (infer U)[] ? Plain<U>[] : T extends object ? {[K in keyof T]: Plain<T[K]>} : T;\n"
)
OPTIONS = {"strict": True, "noEmit": True, "module": "nodenext", "moduleResolution": "nodenext", "target": "es2022"}


def source(document: dict) -> str:
    lines = ['import type { Dashboard } from "@grafana/schema";\n']
    lines += [
        f'import type {{ Options as {kind.replace("-", "_")} }} from "@grafana/schema/dist/esm/raw/composable/'
        f'{path}_types.gen";\n'
        for kind, path in TYPES.items()
    ]
    lines.append(f"{PLAIN}export const board: Plain<Dashboard> = {json.dumps(document)};\n")
    lines += [
        f"export const p{panel['id']}: Plain<Partial<{panel['type'].replace('-', '_')}>> = "
        f"{json.dumps(panel['options'])};\n"
        for panel in document["panels"]
        if panel.get("options")
    ]
    return "".join(lines)


@pytest.mark.skipif(not MODULES, reason="needs STOCKTAKE_NODE_MODULES: typescript and @grafana/schema from npm")
@pytest.mark.parametrize("path", sorted((ROOT / "etc/grafana").glob("*.json")), ids=lambda path: path.stem)
def test_each_dashboard_has_the_types_of_grafana(tmp_path, path):
    """The TypeScript compiler accepts each dashboard in etc/grafana as a value of Grafana's own types."""
    (tmp_path / "node_modules").symlink_to(Path(MODULES).resolve())
    (tmp_path / "board.ts").write_text(source(json.loads(path.read_text())))
    config = {"compilerOptions": {**OPTIONS, "skipLibCheck": True, "types": []}, "files": ["board.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        ["node", f"{MODULES}/typescript/bin/tsc", "-p", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "")
