import pytest

from agent.config.reading.pmem_labels import pmem_labels
from agent.errors import ConfigError
from agent.model.settings import PmemLabel
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def loaded_with(tmp_path, value):
    return load_ours(tmp_path, f"{ALONE}[libvirt]\npmem_namespaces = {value}\n")


def test_s95_pmem_labels_are_read_with_their_namespaces(tmp_path):
    """`pmem_namespaces = SMALL:ns_1|ns_2` gives the label SMALL the namespaces ns_1 and ns_2."""
    nova = "[libvirt]\npmem_namespaces = 4GB:ns_0, SMALL:ns_1|ns_2\n"
    loaded = load_beside_nova(tmp_path, "", nova)
    assert pmem_labels(loaded) == (
        PmemLabel(label="4GB", namespaces=("ns_0",)),
        PmemLabel(label="SMALL", namespaces=("ns_1", "ns_2")),
    )


def test_an_empty_pmem_namespaces_gives_no_labels(tmp_path):
    loaded = loaded_with(tmp_path, "")
    assert pmem_labels(loaded) == ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ns_0", "'ns_0' is not LABEL:NAMESPACE|NAMESPACE"),
        ("A:", "'A:' is not LABEL:NAMESPACE|NAMESPACE"),
        (":ns_0", "':ns_0' is not LABEL:NAMESPACE|NAMESPACE"),
        ("A:ns_0||ns_1", "'A:ns_0||ns_1' is not LABEL:NAMESPACE|NAMESPACE"),
        ("A:ns_0,B:ns_1|ns_0", "namespace ns_0 is named twice"),
        ("A:ns_0|ns_0", "namespace ns_0 is named twice"),
        ("A:ns_0,A:ns_1", "label A is named twice"),
        ("small one:ns_0,SMALL_ONE:ns_1", "label SMALL_ONE is named twice"),
    ],
)
def test_an_invalid_pmem_namespaces_value_is_rejected(tmp_path, value, said):
    """An entry of pmem_namespaces must be LABEL:NAMESPACE, and no label may appear twice."""
    with pytest.raises(ConfigError) as caught:
        pmem_labels(loaded_with(tmp_path, value))
    assert caught.value.problems == (f"{tmp_path}/stocktake.conf: [libvirt] pmem_namespaces = {value}: {said}",)


@pytest.mark.parametrize(("length", "refused"), [(233, False), (234, True)])
def test_a_pmem_label_over_233_characters_is_rejected(tmp_path, length, refused):
    """With a label of more than 233 characters, the name of the resource class would be too long."""
    # A class name has at most 255 characters, and CUSTOM_PMEM_NAMESPACE_ takes 22 of them.
    loaded = loaded_with(tmp_path, f"{'x' * length}:ns_0")
    if not refused:
        assert len(pmem_labels(loaded)) == 1
        return
    with pytest.raises(ConfigError, match="the label is longer than 233 characters"):
        pmem_labels(loaded)
