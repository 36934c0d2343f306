"""Scenarios 113 and 114, as far as the configuration files decide them."""

import pytest

from agent.config.build import ceph_access, check, settings_from
from agent.config.options.image_cache import cache_path
from agent.config.reading.disks import excluded_image_types, images_type
from agent.errors import ConfigError
from agent.model.settings import CephAccess
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, ALONE + text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "qcow2"),
        ("[DEFAULT]\nuse_cow_images = false\n", "flat"),
        ("[libvirt]\nimages_type = raw\n", "raw"),
        ("[libvirt]\nimages_type = rbd\n", "rbd"),
    ],
)
def test_the_image_type_follows_use_cow_images(tmp_path, text, kind):
    """If images_type is not set, use_cow_images decides whether guest disks are qcow2 or flat."""
    assert images_type(loaded_with(tmp_path, text)) == kind


def test_s113_lvm_images_need_not_be_raw(tmp_path):
    """The agent accepts force_raw_images = false together with images_type = lvm."""
    text = "[DEFAULT]\nforce_raw_images = false\n[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n"
    settings = settings_from(loaded_with(tmp_path, text))
    assert (settings.images_type, settings.force_raw_images) == ("lvm", False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[DEFAULT]\nforce_raw_images = false\n[libvirt]\nimages_type = rbd\n",
            "[DEFAULT] force_raw_images = false: cannot be set together with ",
        ),
        ("[libvirt]\nimages_type = lvm\n", "[libvirt] images_type = lvm: needs [libvirt] images_volume_group"),
    ],
)
def test_conflicting_image_options_are_rejected(tmp_path, text, said):
    """images_type = rbd needs raw images, and images_type = lvm needs a volume group."""
    with pytest.raises(ConfigError) as caught:
        images_type(loaded_with(tmp_path, text))
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/stocktake.conf: {said}")


def test_s114_excluded_image_formats_are_read(tmp_path):
    """The agent reads the image formats in [compute] image_type_exclude_list from nova.conf."""
    nova = "[compute]\nimage_type_exclude_list = raw, vmdk\n"
    loaded = load_beside_nova(tmp_path, "", nova)
    assert excluded_image_types(loaded) == settings_from(loaded).image_types_excluded == {"raw", "vmdk"}


@pytest.mark.parametrize("name", ["RAW", "qcow", "docker"])
def test_s114_an_unknown_image_format_is_rejected(tmp_path, name):
    """An entry of image_type_exclude_list must be one of nova's image formats, in lower case."""
    with pytest.raises(ConfigError) as caught:
        excluded_image_types(loaded_with(tmp_path, f"[compute]\nimage_type_exclude_list = raw,{name}\n"))
    (problem,) = caught.value.problems
    quoted = f"{tmp_path}/stocktake.conf: [compute] image_type_exclude_list = raw,{name}"
    assert problem.startswith(f"{quoted}: {name!r} is not an image format; the formats are aki, ami, ari, ")


def test_ceph_options_are_used_only_for_ceph_disks(tmp_path):
    """The agent uses the pool, the user and the file of Ceph only with images_type = rbd."""
    assert ceph_access(loaded_with(tmp_path, "[libvirt]\nimages_rbd_pool = vms\n")) is None
    plain = loaded_with(tmp_path, "[libvirt]\nimages_type = rbd\n")
    assert ceph_access(plain) == CephAccess(pool="rbd", user=None, conf=None)
    text = (
        "[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\nrbd_user = reader\nimages_rbd_ceph_conf = /etc/c.conf\n"
    )
    assert ceph_access(loaded_with(tmp_path, text)) == CephAccess(pool="vms", user="reader", conf="/etc/c.conf")
    assert settings_from(loaded_with(tmp_path, text)).images_rbd_pool == "vms"


def test_the_image_cache_is_inside_instances_path(tmp_path):
    """By default, nova's image cache is the folder `_base` inside instances_path."""
    loaded = load_beside_nova(tmp_path, "", "[DEFAULT]\nstate_path = /srv/nova\n")
    assert settings_from(loaded).instances_path == "/srv/nova/instances"
    assert cache_path(loaded) == "/srv/nova/instances/_base"
    named = load_beside_nova(tmp_path, "", "[DEFAULT]\nstate_path = /srv\nimage_cache_subdirectory_name = images/\n")
    assert cache_path(named) == "/srv/instances/images"


@pytest.mark.parametrize("name", [".", "..", "../other", "/base", "a/../.."])
def test_an_image_cache_outside_instances_path_is_rejected(tmp_path, name):
    """[image_cache] subdirectory_name must be a folder below instances_path; `..` or `/base` is rejected."""
    loaded = loaded_with(tmp_path, f"[image_cache]\nsubdirectory_name = {name}\n")
    with pytest.raises(ConfigError) as caught:
        cache_path(loaded)
    (problem,) = caught.value.problems
    assert check(loaded) == (problem,)
    assert problem.startswith(
        f"{tmp_path}/stocktake.conf: [image_cache] subdirectory_name = {name}: must name a folder"
    )


def test_image_cache_space_is_not_reserved_by_default(tmp_path):
    """The option reserve_disk_resource_for_image_cache is off unless nova.conf turns it on."""
    assert settings_from(loaded_with(tmp_path, "")).reserve_image_cache is False
    text = "[workarounds]\nreserve_disk_resource_for_image_cache = true\n"
    assert settings_from(load_beside_nova(tmp_path, "[state]\nsource = none\n", text)).reserve_image_cache is True
