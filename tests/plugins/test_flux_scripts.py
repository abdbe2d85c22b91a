"""The scripts of a Flux job, run in a folder that stands for the container, with a stub for the flux command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from builders import role, runtime, trainjob
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import get
from trainc.plugins.flux import REPLACED

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="no bash on the PATH")

RUNTIME = runtime(
    role(trainer=True, image="i:1", container=", command: [lmp], env: [{name: FLUX_NETWORK_DEVICE, value: ib0}]"),
    policy="{flux: {numProcPerNode: 2}}",
)
JOB = trainjob("j", metadata=", namespace: science", trainer='{numNodes: %s, args: ["-in", "in.lj"]%s}')
STUB = """#!/bin/bash
echo "flux $*" >> "$CALLS"
[ "$1" = R ] && echo '{"R": 1}'
if [ "$1" = start ]; then
  until [ $# = 0 ] || [ "$1" = bash ]; do shift; done
  [ $# = 0 ] || exec "$@"
fi
exit "${FLUX_STATUS:-0}"
"""


def scripts(nodes: int, trainer: str = "") -> dict[str, str]:
    options = Options(config={"severities": {"TC615": "ignore"}})  # characters that an API server refuses
    build = compile([Source("rt.yaml", RUNTIME), Source("j.yaml", JOB % (nodes, trainer))], options)
    (found,) = [o.data for o in build.objects if o.kind == "ConfigMap"]
    return found["data"]  # type: ignore[return-value]


def test_brokers_find_each_other_in_the_subdomain_of_the_runtime() -> None:
    text = runtime(role(trainer=True), policy="{flux: {numProcPerNode: 2}}", spec="network: {subdomain: ring}")
    build = compile([Source("rt.yaml", text), Source("j.yaml", JOB % (2, ""))], Options())
    (found,) = [get(o.data, "data", "init.sh") for o in build.objects if o.kind == "ConfigMap"]
    assert 'default_connect = "tcp://%h.ring.science.svc.cluster.local:%p"' in str(found)


def container_command(nodes: int) -> list[str]:
    build = compile([Source("rt.yaml", RUNTIME), Source("j.yaml", JOB % (nodes, ""))], Options())
    path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "command")
    (jobset,) = [o.data for o in build.objects if o.kind == "JobSet"]
    return get(jobset, *path)  # type: ignore[return-value]


class Container:
    """A folder in which the absolute paths of the scripts lie."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("bin", "mnt/flux", "opt/software", "opt/view/bin", "opt/views/._view/abc/bin", "curve", "tmp"):
            (root / folder).mkdir(parents=True)
        (root / "opt/views/._view/abc/lib/python3.11/site-packages").mkdir(parents=True)
        (root / "opt/views/._view/abc/bin/python3.11").write_text("python")
        (root / "opt/software/tool").write_text("tool")
        (root / "curve/curve.cert").write_text("certificate")
        (root / "curve/curve.cert").chmod(0o644)

    def command(self, name: str, text: str) -> None:
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        script = re.sub(r"(?<![\w/])/(mnt/flux|opt/|curve/|tmp/)", lambda place: f"{self.root}{place[0]}", script)
        environment = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "CALLS": str(self.root / "calls"),
            **variables,
        }
        assert BASH is not None
        arguments = (BASH, "-c", script, "entrypoint.sh", *arguments)
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False, timeout=30)

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()


@pytest.fixture
def container(tmp_path: Path) -> Container:
    made = Container(tmp_path / "c")
    made.command("flux", STUB)
    made.command("hostname", "#!/bin/bash\necho ${HOST:-j-node-0-0}\n")
    made.command("sleep", "#!/bin/bash\nexit 0\n")
    return made


def installed(container: Container, nodes: int = 3, trainer: str = "") -> dict[str, str]:
    texts = scripts(nodes, trainer)
    done = container.run(texts["init.sh"])
    assert (done.returncode, done.stderr) == (0, "")
    return texts


def test_init_writes_hosts_broker_and_view(container: Container) -> None:
    installed(container)
    config = container.root / "mnt/flux/config"
    assert (config / "etc/flux/system/hostlist").read_text() == "j-node-0-[0-2]\n"
    broker = tomllib.loads((config / "etc/flux/config/broker.toml").read_text())
    assert broker["bootstrap"]["default_bind"] == "tcp://ib0:%p"
    assert broker["bootstrap"]["default_connect"] == "tcp://%h.j.science.svc.cluster.local:%p"
    assert broker["bootstrap"]["hosts"] == [{"host": "j-node-0-[0-2]"}]
    assert broker["sched-fluxion-qmanager"]["queue-policy"] == "fcfs"
    assert broker["resource"]["path"] == f"{config}/etc/flux/system/R"
    assert (container.root / "mnt/flux/view/bin/python3.11").exists()
    assert (container.root / "mnt/flux/software/tool").read_text() == "tool"
    assert (config / "run/flux").is_dir() and (config / "var/lib/flux").is_dir()


HOSTILE = (
    'x"\nBROKER\ntouch "$CALLS"\ncat <<\'BROKER\'',
    "BROKER",
    "\nBROKER\n",
    "x'; touch $CALLS; '",
    "$(touch $CALLS)`touch $CALLS`",
    "a\\",
    'a\\"b',
    '"""',
    "{{ config }} {% raw %}",
    "tab\tbell\a delete\x7f\r\u2028",
    "é\U0001f600",
)


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", ["FLUX_QUEUE_POLICY", "FLUX_NETWORK_DEVICE"])
def test_a_value_of_a_job_is_data_of_the_script(container: Container, name: str, value: str) -> None:
    quoted = json.dumps(value, ensure_ascii=not value.isprintable())
    installed(container, trainer=f", env: [{{name: {name}, value: {quoted}}}]")
    assert not (container.root / "calls").exists()
    broker = tomllib.loads((container.root / "mnt/flux/config/etc/flux/config/broker.toml").read_bytes().decode())
    assert broker["sched-fluxion-qmanager"]["queue-policy"] == (value if name == "FLUX_QUEUE_POLICY" else "fcfs")
    assert broker["bootstrap"]["default_bind"] == f"tcp://{'ib0' if name == 'FLUX_QUEUE_POLICY' else value}:%p"


def test_the_first_node_runs_the_command(container: Container) -> None:
    texts = installed(container)
    command = container_command(3)
    assert command == ["/bin/bash", "/etc/flux-config/entrypoint.sh", "lmp -in in.lj"]
    done = container.run(texts["entrypoint.sh"], command[2])
    assert done.returncode == 0, done.stderr
    encode, start, run = container.calls()
    assert encode == "flux R encode --hosts=j-node-0-[0-2] --cores=0-1"
    assert start.startswith("flux start -o --config ")
    assert run == "flux run -N 3 -n 6 lmp -in in.lj"
    certificate = container.root / "mnt/flux/config/etc/curve/curve.cert"
    assert certificate.read_text() == "certificate"
    assert certificate.stat().st_mode & 0o077 == 0
    assert (container.root / "mnt/flux/config/etc/flux/system/R").read_text() == '{"R": 1}\n'
    assert (container.root / "mnt/flux/flux-operator-complete.txt").exists()


def test_the_command_gets_the_variables_of_the_job_but_for_those_of_the_script(container: Container) -> None:
    texts = installed(container)
    names = {*re.findall(r"\b[A-Za-z_]\w*", texts["entrypoint.sh"]), "other", "cfg", "hosts"} - {"if", "BASH_ENV"}
    names = {name for name in names if name.islower()}
    container.command("flux", '#!/bin/bash\n[ "$1" = start ] && env > "$CALLS"\nexit 0\n')
    container.run(texts["entrypoint.sh"], "lmp", **dict.fromkeys(names, "mine"))
    kept = {line.partition("=")[0] for line in container.calls() if line.endswith("=mine")}
    assert names - kept == REPLACED | {"command"}


def test_the_commands_failure_is_the_containers(container: Container) -> None:
    texts = installed(container)
    assert container.run(texts["entrypoint.sh"], "lmp", FLUX_STATUS="7").returncode == 7
    assert container.calls()[-1] == f"flux exec -x 0 touch {container.root}/mnt/flux/failed"


def test_without_a_command_there_is_an_interactive_broker(container: Container) -> None:
    texts = installed(container)
    assert container.run(texts["entrypoint.sh"], "").returncode == 0
    assert container.calls()[1].startswith("flux broker --config-path ")


def test_other_nodes_try_until_the_first_broker_answers(container: Container) -> None:
    texts = installed(container)
    container.command(
        "flux",
        '#!/bin/bash\necho "flux $*" >> "$CALLS"\n[ "$1" = R ] && exit 0\n[ $(grep -c start "$CALLS") -ge 3 ]\n',
    )
    done = container.run(texts["entrypoint.sh"], "lmp", HOST="j-node-0-1")
    assert done.returncode == 0
    starts = [call for call in container.calls() if call.startswith("flux start")]
    assert len(starts) == 3
    assert not any("flux run" in call for call in starts)


def test_other_nodes_start_again_when_the_command_has_failed(container: Container) -> None:
    """Their brokers end with 0, but the first one waits for all when its pod restarts."""
    texts, mark = installed(container), container.root / "mnt/flux/failed"
    container.command(
        "flux", f'#!/bin/bash\necho "flux $*" >> "$CALLS"\n[ $(grep -c start "$CALLS") = 1 ] && touch {mark}\nexit 0\n'
    )
    assert container.run(texts["entrypoint.sh"], "lmp", HOST="j-node-0-1").returncode == 0
    assert len([call for call in container.calls() if call.startswith("flux start")]) == 2
    assert not mark.exists()


def test_one_process_per_node(container: Container) -> None:
    texts = installed(container, 2, ", numProcPerNode: 1")
    container.run(texts["entrypoint.sh"], "lmp", HOST="j-node-0-0")
    assert container.calls()[-1].endswith("flux run -N 2 -n 2 lmp")


def test_gpus_and_one_node(container: Container) -> None:
    texts = installed(container, 1, ", numProcPerNode: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}")
    container.run(texts["entrypoint.sh"], "lmp")
    encode, _, run = container.calls()
    assert encode == "flux R encode --hosts=j-node-0-[0] --cores=0-3 --gpu=0-7"
    assert run == "flux run -N 1 -n 4 -g 8 lmp"
