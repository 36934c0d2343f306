"""The command line itself, as a process: help, arguments, configuration; no command contacts a server."""

import json
import os
import subprocess
import sys

import pytest

from agent.cmd.registry import COMMANDS, nearest
from tests.rigs.commands import stocktake
from tests.rigs.source_tree import ROOT

RIGHT = """\
[agent]
nova_conf =
state_dir = {folder}/state
run_dir = {folder}/run
[libvirt]
connection_uri = test:///default
[state]
source = none
[placement]
auth_type = admin_token
token = s3cret
endpoint_override = http://127.0.0.1:1
"""


@pytest.fixture
def config(tmp_path):
    def write(text=RIGHT):
        path = tmp_path / "stocktake.conf"
        path.write_text(text.format(folder=tmp_path))
        return path

    return write


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("help",)])
def test_the_help_of_stocktake_lists_every_command(arguments):
    ended = stocktake(*arguments)
    assert (ended.code, ended.stderr) == (0, "")
    assert all(f"\n  {entry.name} " in ended.stdout for entry in COMMANDS)


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_each_command_prints_a_help_text(name):
    """`stocktake COMMAND --help` and `stocktake help COMMAND` print the usage of the command."""
    for arguments in ((*name.split(), "--help"), ("help", *name.split())):
        ended = stocktake(*arguments)
        assert (ended.code, ended.stderr) == (0, "")
        assert ended.stdout.startswith(f"usage: stocktake {name} ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ledgr",), "stocktake: unknown command ledgr: did you mean ledger?"),
        (("help", "ledgr"), "stocktake: unknown command ledgr: did you mean ledger?"),
        (("bogus",), "stocktake: unknown command bogus (stocktake --help lists the commands)"),
        (("help", "bogus"), "stocktake: unknown command bogus (stocktake --help lists the commands)"),
        (("config",), "stocktake: stocktake config needs one of its commands: config check, config show"),
        (("help", "config"), "stocktake: stocktake config needs one of its commands: config check, config show"),
        (("config", "chek"), "stocktake: unknown command config chek: did you mean config check?"),
        (("--nonsense",), "stocktake: unknown option --nonsense"),
        (("--confg-file", "x", "audit"), "stocktake: unknown option --confg-file: did you mean --config-file?"),
        (("ledger", "--zzz"), "stocktake: unknown option --zzz (see stocktake ledger --help)"),
        (("heal", "--findng=x"), "stocktake: unknown option --findng=x: did you mean --finding?"),
        (("audit", "now"), "stocktake: unexpected argument now (see stocktake audit --help)"),
        (("explain",), "the following arguments are required: WHAT"),
        (("audit", "-f", "xml"), "invalid choice: 'xml'"),
        (("audit", "--config-file"), "expected one argument"),
        (("ledger", "-c", "nonsense"), "stocktake: unknown column nonsense; the columns are consumer_uuid,"),
        (("ledger", "--sort-column", "nonsense"), "stocktake: unknown column nonsense"),
        (("inventory", "-c", "recorded_total"), "stocktake: unknown column recorded_total"),
        ((), "usage: stocktake"),
    ],
)
def test_stocktake_exits_127_for_invalid_arguments(arguments, said):
    """For invalid arguments, such as an unknown command or option, stocktake exits with 127."""
    ended = stocktake(*arguments)
    assert (ended.code, ended.stdout) == (127, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_stocktake_prints_its_version():
    """`stocktake --version` prints a version, which is not the 0.0.0 of a broken build."""
    ended = stocktake("--version")
    assert ended.code == 0
    assert ended.stdout.startswith("stocktake ")
    assert not ended.stdout.startswith("stocktake 0.0.0")


def test_stocktake_complete_prints_a_valid_bash_script():
    """`stocktake complete` prints a script for completion in bash, and bash accepts its syntax."""
    ended = stocktake("complete")
    assert (ended.code, ended.stderr) == (0, "")
    assert "_stocktake" in ended.stdout
    assert "--resource-class" in ended.stdout
    syntax = subprocess.run(["bash", "-n"], input=ended.stdout, text=True, capture_output=True, check=False)
    assert (syntax.returncode, syntax.stderr) == (0, "")


def test_config_check_exits_0_for_a_valid_configuration_file(config):
    path = config()
    ended = stocktake("--config-file", path, "config", "check")
    assert (ended.code, ended.stdout) == (0, f"no mistakes found in {path}; nothing was contacted\n")
    ended = stocktake("--config-file", path, "config", "check", "-f", "json")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.document == {
        "schema_version": 1, "ok": True, "files": [str(path)], "problems": [], "notices": [], "live": None,
    }  # fmt: skip


def test_config_check_prints_a_note_about_a_device_spec(config):
    """[pci] device_spec has a misspelt key. `stocktake config check` exits with 0 and prints a note about the key."""
    path = config(RIGHT + '[pci]\ndevice_spec = {{"vendor": "10de"}}\n')
    ended = stocktake("--config-file", path, "config", "check")
    assert (ended.code, ended.stdout) == (0, f"no mistakes found in {path}; nothing was contacted\n")
    quoted = f'{path}: [pci] device_spec = {{"vendor": "10de"}}'
    every, misspelt = ended.stderr.splitlines()
    assert every.startswith(f"stocktake: note: {quoted}: offers guests every PCI device of the host")
    assert misspelt.startswith(f"stocktake: note: {quoted}: unknown key 'vendor', which nova ignores")
    ended = stocktake("--config-file", path, "config", "check", "-f", "json")
    assert (ended.document["ok"], ended.document["problems"]) == (True, [])
    assert [notice.startswith(quoted) for notice in ended.document["notices"]] == [True, True]


KEYSTONE = """\
auth_type = password
username = nova
password = hunter2
project_name = service
auth_url = {auth_url}
"""
NO_URL = "not a URL: a URL begins with http:// or https:// and a host"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            RIGHT.replace("http://127", "https://127") + "cafile = /nowhere.pem\n",
            "{file}: [placement] cafile = /nowhere.pem: No such file or directory",
        ),
        (
            RIGHT.replace("token = s3cret\n", ""),
            "[placement] token is not set: {file}: [placement] auth_type = admin_token needs it",
        ),
        (
            RIGHT.replace("endpoint_override = http://127.0.0.1:1\n", ""),
            "[placement] endpoint_override is not set: {file}: [placement] auth_type = admin_token gets no catalog "
            "with the URL of Placement",
        ),
        (
            RIGHT.replace("http://127.0.0.1:1", "http://"),
            f"{{file}}: [placement] endpoint_override = http://: {NO_URL}",
        ),
        (
            RIGHT.replace("http://127.0.0.1:1", "joe:hunter2@p:8778"),
            f"{{file}}: [placement] endpoint_override = ***@p:8778: {NO_URL}",
        ),
    ],
)
def test_config_check_exits_78_for_unusable_placement_options(config, text, said):
    """`stocktake config check` rejects a missing token or endpoint, a URL without a host, and a missing CA file."""
    path = config(text)
    ended = stocktake("--config-file", path, "config", "check")
    assert (ended.code, ended.stdout, ended.stderr) == (78, "", f"stocktake: {said.format(file=path)}\n")


@pytest.mark.parametrize(
    ("auth_url", "shown"),
    [
        ("keystone.example.org:5000/v3", "keystone.example.org:5000/v3"),
        ("https:/k:5000/v3", "https:/k:5000/v3"),
        ("http//k", "http//k"),
        ("http://", "http://"),
        ("nova:hunter2@k:5000/v3", "***@k:5000/v3"),
    ],
)
@pytest.mark.parametrize("command", [("config", "check"), ("audit",)])
def test_an_invalid_auth_url_is_reported_with_its_file(config, tmp_path, command, auth_url, shown):
    """`stocktake config check` and `stocktake audit` say that the file nova.conf contains the wrong auth_url."""
    theirs = tmp_path / "nova.conf"
    theirs.write_text("[keystone]\n" + KEYSTONE.format(auth_url=auth_url))
    group = RIGHT.partition("[placement]")[0].replace("nova_conf =", f"nova_conf = {theirs}")
    ours = config(group + "[placement]\nauth_section = keystone\n")
    later = tmp_path / "later.conf"
    later.write_text("[keystone]\nuser_domain_name = Default\n[placement]\nregion_name = RegionOne\n")
    ended = stocktake("--config-file", ours, "--config-file", later, *command)
    assert (ended.code, ended.stdout) == (78, "")
    assert ended.stderr == f"stocktake: {theirs}: [keystone] auth_url = {shown}: {NO_URL}\n"


def test_a_wrong_endpoint_override_is_reported_with_its_file(config, tmp_path):
    """Two configuration files have a group [placement]. The error message contains the file with the wrong option."""
    ours, later = config(RIGHT.replace("http://127.0.0.1:1", "http//p")), tmp_path / "later.conf"
    later.write_text("[placement]\nregion_name = RegionOne\n")
    ended = stocktake("--config-file", ours, "--config-file", later, "config", "check")
    assert ended.stderr == f"stocktake: {ours}: [placement] endpoint_override = http//p: {NO_URL}\n"


def test_config_check_reports_a_missing_password(config):
    """With auth_type = password and no password, `stocktake config check` exits with 78 and an error message."""
    group = RIGHT.partition("[placement]")[0]
    text = KEYSTONE.format(auth_url="http://k:5000/v3").replace("password = hunter2\n", "")
    path = config(f"{group}[placement]\n{text}")
    ended = stocktake("--config-file", path, "config", "check")
    needs = f"{path}: [placement] auth_type = password needs it"
    assert (ended.code, ended.stderr) == (78, f"stocktake: [placement] password is not set: {needs}\n")


def test_config_show_masks_passwords_inside_urls(config):
    """`stocktake config show` prints http://***@host for a URL that contains a user name and a password."""
    group = RIGHT.partition("[placement]")[0].replace(
        "[state]\nsource = none", "[state]\nsource = sql\nconnection = mysql+pymysql://joe:hunter2@db/nova_cell1"
    )
    login = "a-long-user-name:hunter2-and-a-long-password"
    text = KEYSTONE.format(auth_url=f"http://{login}@keystone.example.org:5000/v3")
    text += f"endpoint_override = http://{login}@placement.example.org:8778/x\n"
    broker = "[DEFAULT]\ntransport_url = rabbit://joe:hunter2@broker:5672/\n"
    path = config(f"{group}[placement]\n{text}{broker}")
    for form in ("table", "json", "value", "csv"):
        ended = stocktake("--config-file", path, "config", "show", "-f", form)
        assert (ended.code, ended.stderr) == (0, "")
        whole = "".join(ended.stdout.split())
        assert "hunter2" not in whole
        assert "long-password" not in whole
        assert "a-long-user-name" not in whole
    rows = stocktake("--config-file", path, "config", "show", "-f", "json").document
    shown = {row["option"]: row["value"] for row in rows}
    assert shown["auth_url"] == "http://***@keystone.example.org:5000/v3"
    assert shown["endpoint_override"] == "http://***@placement.example.org:8778/x"


WRONG = RIGHT + "[lvm]\nvolume_grups = vg0\ndeadline = soon\n"


@pytest.mark.parametrize("command", [("config", "check"), ("audit",), ("ledger",), ("explain", "VCPU"), ("status",)])
def test_commands_exit_78_if_an_option_is_wrong(config, command):
    """The configuration has an unknown option and a malformed value. `stocktake audit` prints an error for each."""
    path = config(WRONG)
    ended = stocktake("--config-file", path, *command)
    assert (ended.code, ended.stdout) == (78, "")
    unknown, malformed = ended.stderr.splitlines()
    assert unknown == f"stocktake: {path}: unknown option [lvm] volume_grups: the nearest name is volume_groups"
    assert malformed.startswith(f"stocktake: {path}: [lvm] deadline = soon: ")


def test_config_check_json_lists_the_problems(config):
    ended = stocktake("--config-file", config(WRONG), "config", "check", "-f", "json")
    assert ended.code == 78
    assert ended.document["ok"] is False
    assert len(ended.document["problems"]) == 2


def test_audit_exits_78_if_the_configuration_file_is_missing(tmp_path):
    ended = stocktake("--config-file", tmp_path / "none.conf", "audit")
    assert (ended.code, ended.stdout) == (78, "")
    assert ended.stderr == f"stocktake: {tmp_path}/none.conf: there is no such file\n"


def test_config_show_reads_several_config_files(config, tmp_path):
    """With two --config-file options, `stocktake config show` prints options of both files, and each option's file."""
    second = tmp_path / "second.conf"
    second.write_text("[agent]\nrole = observer\n")
    ended = stocktake("config", "show", "--config-file", config(), "--config-file", second, "-f", "json")
    assert ended.code == 0
    shown = {(row["group"], row["option"]): row for row in ended.document}
    assert (shown["agent", "role"]["value"], shown["agent", "role"]["origin"]) == ("observer", str(second))
    assert shown["placement", "token"]["value"] == "***"
    assert "s3cret" not in ended.stdout + ended.stderr


def test_options_are_read_from_files_in_config_dir(config, tmp_path):
    """The agent's options may stand in any .conf file of the folder that --config-dir selects."""
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "role.conf").write_text("[agent]\nrole = observer\n")
    ended = stocktake("--config-file", config(), "--config-dir", folder, "config", "show", "-f", "value")
    assert f"agent role observer {folder}/role.conf" in ended.stdout.splitlines()


def test_audit_exits_78_for_an_empty_configuration(tmp_path):
    """`stocktake audit` prints the required options that are not set, such as [state] source."""
    empty = tmp_path / "empty.conf"
    empty.write_text("[agent]\nnova_conf =\n")
    ended = stocktake("--config-file", empty, "audit")
    assert (ended.code, ended.stdout) == (78, "")
    assert "[placement] auth_type is not set" in ended.stderr
    assert "[state] source is not set" in ended.stderr


def test_status_exits_75_if_the_report_file_is_missing(config, tmp_path):
    """If no daemon has written the report file since boot, `stocktake status` exits with 75."""
    ended = stocktake("--config-file", config(), "status")
    assert (ended.code, ended.stdout) == (75, "")
    assert ended.stderr == (
        f"stocktake: report: {tmp_path}/run/report.json does not exist, so no daemon has reported since boot; to audit "
        f"without a daemon, run `stocktake audit`\n"
    )


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 99}', '{"schema_version": 1, "audit": {}}'])
def test_status_exits_75_for_an_unreadable_report_file(config, tmp_path, text):
    """The daemon's report file is empty, cut off, or of an unknown version; `stocktake status` prints its path."""
    path = config()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text(text)
    ended = stocktake("--config-file", path, "status")
    assert (ended.code, ended.stdout) == (75, "")
    assert ended.stderr.startswith(f"stocktake: report: {tmp_path}/run/report.json: ")


def test_stocktake_exits_141_if_the_output_pipe_is_closed(config):
    """If the output pipe is closed (`stocktake ... | head`), stocktake exits with 141 and prints no error."""
    command = [sys.executable, "-m", "agent.cmd.shell", "--config-file", str(config()), "config", "show", "-f", "json"]
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    _, complaints = process.communicate(timeout=300)
    assert (process.returncode, complaints) == (141, "")


def test_stocktake_help_imports_no_heavy_libraries():
    """`stocktake --help` imports neither libvirt nor sqlalchemy nor oslo_config, so that it answers quickly."""
    program = (
        "import sys\nfrom agent.cmd.shell import main\nmain(['--help'])\n"
        "print('LOADED', *sorted(n for n, m in sys.modules.items() if m is not None))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.partition("LOADED")[2].split())
    assert "cliff.app" in loaded
    heavy = {"oslo_config", "oslo_log", "oslo_service", "libvirt", "sqlalchemy", "requests", "cmd2", "prettytable"}
    assert loaded & {*heavy, "agent.audit.run", "agent.demo", "eventlet"} == set()


def test_a_misspelt_command_gets_a_suggestion():
    """For "invntory" stocktake suggests the command inventory. For "xyzzy" it suggests nothing."""
    assert nearest(["invntory"]) == "inventory"
    assert nearest(["xyzzy"]) is None


def test_the_code_of_every_command_can_be_imported():
    """Each entry in the list of stocktake's commands leads to an existing class."""
    assert json.dumps([entry.load().__name__ for entry in COMMANDS])
    assert [entry.name for entry in COMMANDS] == sorted(entry.name for entry in COMMANDS)


def test_importing_the_commands_does_not_load_oslo_service():
    """Only the daemon needs oslo_service; the modules of stocktake's commands do not import it."""
    modules = ", ".join(entry.value.partition(":")[0] for entry in COMMANDS)
    program = (
        f"import agent.cmd.shell, agent.cmd.audited, agent.demo.cloud, agent.sources.nova.sql, {modules}\n"
        "import sys\nprint(*(name for name, module in sys.modules.items() if module is not None))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "agent.audit.run" in loaded
    assert {name for name in loaded if name.startswith(("oslo_service", "eventlet", "futurist"))} == set()


@pytest.mark.parametrize("columns", [80, 160])
def test_config_show_fits_the_terminal(config, columns):
    """`stocktake config show` prints one line for each option, and no line is longer than the terminal is wide."""
    table = stocktake("--config-file", config(), "config", "show", COLUMNS=str(columns)).stdout.splitlines()
    rows = stocktake("--config-file", config(), "config", "show", "-f", "json").document
    assert max(map(len, table)) <= columns
    assert len(table) == len(rows) + 1 + ("left out: origin (-c shows them)" in table)
    (levels,) = [line for line in table if " default_log_levels " in line]
    assert "amqp=WARN, " in levels


def test_config_show_prints_the_whole_value_of_one_option(config):
    """`stocktake config show default_log_levels` wraps the long value over several lines and leaves out nothing."""
    path = config()
    (row,) = stocktake("--config-file", path, "config", "show", "default_log_levels", "-f", "json").document
    table = stocktake("--config-file", path, "config", "show", "default_log_levels", COLUMNS="80").stdout
    # The value is wrapped over several lines, beside the column of the origin.
    assert set(row["value"].split(",")) <= set(table.replace(",", " ").split())


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--changed", "--group", "state"), {("state", "source")}),
        (("role",), {("agent", "role")}),
        (("agent.role",), {("agent", "role")}),
        (("[agent] role",), {("agent", "role")}),
        (("--group", "agent", "--changed"), {("agent", "nova_conf"), ("agent", "state_dir"), ("agent", "run_dir")}),
        (("role", "--changed"), set()),
    ],
)
def test_config_show_lists_only_the_requested_options(config, arguments, options):
    """`stocktake config show role` lists only the option role.

    With --group, the command lists only the options of one group. With --changed, the command lists only options that a
    configuration file sets.
    """
    ended = stocktake("--config-file", config(), "config", "show", *arguments, "-f", "json")
    assert (ended.code, {(row["group"], row["option"]) for row in ended.document}) == (0, options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rolle",), "unknown option rolle: did you mean role?"),
        (("--group", "agnt"), "unknown group agnt: did you mean agent?"),
    ],
)
def test_config_show_exits_127_for_an_unknown_option_or_group(config, arguments, said):
    """For an unknown option such as `rolle`, `stocktake config show` exits with 127 and suggests `role`."""
    ended = stocktake("--config-file", config(), "config", "show", *arguments)
    assert (ended.code, ended.stdout, ended.stderr) == (127, "", f"stocktake: {said}\n")


def test_config_show_prints_an_unset_option_as_null_in_json(config):
    """`stocktake config show` prints an option without a value as null in JSON and YAML, and as empty text in CSV."""
    path, asked = config(), ("config", "show", "cpu_allocation_ratio", "-c", "value")
    forms = {
        form: stocktake("--config-file", path, *asked, "-f", form).stdout for form in ("json", "yaml", "csv", "value")
    }
    assert json.loads(forms["json"]) == [{"value": None}]
    assert forms["yaml"] == "- value: null\n"
    assert forms["csv"] == '"value"\n""\n'
    assert forms["value"] == "\n"
    assert "(unset)" in stocktake("--config-file", path, *asked[:3]).stdout
