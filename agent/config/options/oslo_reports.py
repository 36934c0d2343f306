"""[oslo_reports]: where the agent writes its report on SIGUSR2. The agent does not read this group from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "oslo_reports"

OPTS = [
    cfg.StrOpt(
        "log_dir",
        mutable=True,
        help="Folder for the reports that the agent writes for SIGUSR2, one file for each signal. The folder must "
        "exist, and the unit must be able to write to it (ReadWritePaths=). Default: the agent writes the report to "
        "stderr, so systemd's journal has the report. SIGHUP applies a new value.",
    ),
]
