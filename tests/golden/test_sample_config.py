"""The sample configuration is generated; this test fails if an option changed and the sample did not.

To regenerate it: oslo-config-generator --config-file etc/stocktake/generator.conf
"""

import re

from agent.config.load import load
from tests.rigs.configs import write
from tests.rigs.sample_config import ROOT, generate

SAMPLE = ROOT / "etc/stocktake/stocktake.conf.sample"


def test_the_sample_configuration_equals_its_generator_output(tmp_path):
    assert SAMPLE.read_text() == generate(tmp_path)


def test_every_option_in_the_sample_configuration_is_accepted(tmp_path):
    """The agent accepts stocktake.conf.sample after the options in it are uncommented."""
    text = re.sub(r"^#(\w+ =(?! <).*)$", r"\1", SAMPLE.read_text(), flags=re.MULTILINE)
    text = text.replace("nova_conf = /etc/nova/nova.conf", "nova_conf =")
    loaded = load([write(tmp_path, "stocktake.conf", text)])
    shown = {(row.group, row.option) for row in loaded.rows() if row.origin != "default"}
    # An empty line sets nothing, so an option that the sample shows with an empty default keeps that default.
    unset = {blank.key for blank in loaded.blanks}
    assert len(shown) + len(unset) == len(re.findall(r"^\w+ =", text, flags=re.MULTILINE))
    assert ("agent", "event_settle") in shown


def test_the_sample_configuration_lists_every_option(tmp_path):
    loaded = load([write(tmp_path, "stocktake.conf", "[agent]\nnova_conf =\n")])
    named = set(re.findall(r"^#(\w+) =", SAMPLE.read_text(), flags=re.MULTILINE))
    assert {opt.dest for _, opt in loaded.options} <= named
