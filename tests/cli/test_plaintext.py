"""A private key never reaches out/, and no output shows a secret, whatever it is called."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from small import RUNTIME, Run, job

from folders import put
from gitrepo import commit, needs_git

LINE = "MIICXAIBAAKBgQC5example0example1example2example3example4example"
PRIVATE_KEYS = (
    *(
        f"-----BEGIN {kind}PRIVATE KEY-----\n{LINE}\n-----END {kind}PRIVATE KEY-----\n"
        for kind in ("", "RSA ", "OPENSSH ")
    ),
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{LINE}\n",
)
TOKENS = (
    *(f"gh{kind}_0123456789abcdefghijABCDEFGHIJ012345" for kind in "pousr"),
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvABCDEFGHIJKLMNOP",
    "glpat-0123456789abcdefghij",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "xoxb-0123456789-abcdefghij",
)
AROUND = (
    ("Authorization is Basic ", "dXNlcjpodW50ZXIyMjI=", ""),
    ("Authorization is Bearer ", "0123456789abcdefghijklmnop", ""),
    ("postgresql://db/x?user=me&password=", "hunter2222", "&ssl=on"),
    ("postgresql://me:", "hunter2222", "@db/x"),
    ("Server=db;Uid=me;Pwd=", "hunter2222", ";Encrypt=yes"),
    ("AccountName=x;AccountKey=", "aHVudGVyMjIyMjIyMjI=", ";EndpointSuffix=core.windows.net"),
)
FORMATS = ("text", "json", "sarif", "github", "junit", "codequality")


def places(value: str) -> list[dict[str, str]]:
    """The files of a repository that hold a value, each in another place."""
    text = json.dumps(value)
    plain = job()
    arguments = plain.replace("  trainer: {}", f"  trainer: {{args: [{text}]}}")
    variable = plain.replace("  trainer: {}", f"  trainer: {{env: [{{name: X, value: {text}}}]}}")
    annotation = plain.replace("{name: job}", f"{{name: job, annotations: {{a/b: {text}}}}}")
    runtime = f"{RUNTIME}                      args: [{text}]\n"
    beside = (
        f"{RUNTIME}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: a}}\ndata: {{x: {text}}}\n"
    )
    container = f"{{name: node, args: [{text}]}}"
    pod = f"{{spec: {{template: {{spec: {{containers: [{container}]}}}}}}}}"
    patch = f"{{target: {{kind: JobSet}}, patch: {{spec: {{replicatedJobs: [{{name: node, template: {pod}}}]}}}}}}"
    return [
        {"jobs/a/one.yaml": arguments},
        {"jobs/a/one.yaml": variable},
        {"jobs/a/one.yaml": annotation},
        {"runtimes/plain.yaml": runtime},
        {"runtimes/plain.yaml": beside},
        {"trainc.yaml": f"environments: {{prod: {{patches: [{patch}]}}}}\n"},
    ]


def put_all(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        put(root, name, text)


@pytest.mark.parametrize("place", range(len(places(""))))
def test_a_private_key_is_never_rendered(place: int, repository: Path, run: Run) -> None:
    for key in (*PRIVATE_KEYS, base64.b64encode(PRIVATE_KEYS[1].encode()).decode()):
        put_all(repository, places(key)[place])
        result = run("render")
        assert result.exit_code == 1
        assert "error[TC414]" in result.stdout
        assert LINE not in result.stdout + result.stderr
        assert not (repository / "out").exists()
    result = run("build", "jobs/a")
    assert (result.exit_code, result.stdout) == (1, "")


def spellings() -> list[str]:
    """Ways to write a private key in YAML that are not its text as it stands."""
    key = PRIVATE_KEYS[1]
    quoted, account = json.dumps(key), json.dumps({"type": "service_account", "private_key": key})
    written = ["".join(f"\\x{ord(char):02x}" for char in key), quoted[1:-1].replace("-", "\\u002d")]
    written += [f"-----BEGIN\n    RSA PRIVATE KEY-----\n\n    {LINE}\n\n    -----END RSA PRIVATE KEY-----"]
    written += [quoted[1:-1].replace("BEGIN", "BE\\\n    GIN"), encoded(key).replace("L", "\\x4c")]
    plain = [f'echo "-----BEGIN RSA PRIVATE KEY-----" > k; echo "{LINE}" >> k', LINE, json.dumps(account)]
    plain += ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUx"]
    plain += ["MHcCAQEEIABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnoAoGCCqGSM49", encoded(account), encoded(f"\n{key}")]
    plain += [f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{LINE}\n"]
    return [*(f'"{text}"' for text in written), *map(json.dumps, plain)]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("spelling", spellings())
def test_a_private_key_is_found_however_it_is_written(spelling: str, repository: Path, run: Run) -> None:
    for files in places("PLACE"):
        put(repository, "trainc.yaml", "environments: {prod: {}}\n")
        put(repository, "runtimes/plain.yaml", RUNTIME)
        put(repository, "jobs/a/one.yaml", job("one"))
        put_all(repository, {name: text.replace('"PLACE"', spelling) for name, text in files.items()})
        result = run("render")
        assert (result.exit_code, "error[TC414]" in result.stdout) == (1, True), (spelling, *files)
        assert not (repository / "out").exists()
        for shown in (LINE, LINE[8:40], encoded(LINE)[6:40], "\\x43\\x35\\x65"):
            assert shown not in result.stdout, spelling


def test_nothing_silences_a_private_key(repository: Path, run: Run) -> None:
    files = places(PRIVATE_KEYS[1])[0]
    put_all(repository, {name: f"# trainc: ignore TC414 only a test\n{text}" for name, text in files.items()})
    result = run("render")
    assert (result.exit_code, "error[TC414]" in result.stdout) == (1, True)
    put(repository, "trainc.yaml", "environments: {prod: {}}\nseverities: {TC414: ignore}\n")
    assert "TC013" in run("validate").stdout
    assert run("render").exit_code == 1
    assert not (repository / "out").exists()


@pytest.mark.parametrize(
    "text",
    [
        "grep -e '-----BEGIN RSA PRIVATE KEY-----' /etc/keys/privatekeyofsomebody",
        "test -z \"$(grep -l 'PRIVATE KEY' /keys/*)\"",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUF\n-----END CERTIFICATE-----",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhAexample0example1example2",
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAexample0example1example2",
        encoded("a public key is not a PRIVATE KEY, and neither is this sentence"),
    ],
)
def test_what_is_no_private_key(text: str, repository: Path, run: Run) -> None:
    put_all(repository, places(text)[1])
    assert "TC414" not in run("validate").stdout


@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_shows_one(format_: str, repository: Path, run: Run) -> None:
    for files in places(PRIVATE_KEYS[1]):
        put_all(repository, files)
    put(repository, "trainc.yaml", "environments: {prod: {}}\n")
    result = run("validate", "--format", format_)
    assert "TC414" in result.stdout
    assert LINE not in result.stdout + result.stderr


@pytest.mark.parametrize("output", ["yaml", "json", "table"])
def test_a_runtime_is_shown_without_secrets(output: str, repository: Path, run: Run) -> None:
    for secret in (PRIVATE_KEYS[1], TOKENS[0]):
        put(repository, "runtimes/plain.yaml", f"{RUNTIME}                      args: [{json.dumps(secret)}]\n")
        result = run("runtimes", "plain", "-o", output)
        assert "plain" in result.stdout
        assert LINE not in result.stdout + result.stderr
        assert TOKENS[0] not in result.stdout + result.stderr


def test_faithful_warns(repository: Path, run: Run) -> None:
    put_all(repository, places(PRIVATE_KEYS[1])[0])
    result = run("build", "--faithful", "jobs/a/one.yaml", "runtimes/plain.yaml")
    assert result.exit_code == 0
    assert "warning[TC414]" in result.stderr
    assert LINE not in result.stderr


@pytest.mark.parametrize("place", range(len(places(""))))
def test_other_secrets_are_a_warning(place: int, repository: Path, run: Run) -> None:
    for before, secret, after in (*(("", token, "") for token in TOKENS), *AROUND[:2]):
        put_all(repository, places(f"{before}{secret}{after}")[place])
        result = run("validate")
        assert result.exit_code == 0
        assert "warning[TC411]" in result.stdout, secret
        assert secret not in result.stdout + result.stderr


@pytest.mark.parametrize(("before", "secret", "after"), AROUND)
def test_passwords_in_addresses(before: str, secret: str, after: str, repository: Path, run: Run) -> None:
    put_all(repository, places(f"{before}{secret}{after}")[0])
    result = run("validate")
    assert "warning[TC411]" in result.stdout
    assert secret not in result.stdout


@pytest.mark.parametrize(
    "name", ["WANDB_KEY", "GITHUB_PAT", "GITLAB_PAT", "OPENAI_KEY", "AZURE_CLIENT_KEY", "githubPat", "HF_KEY"]
)
def test_names_of_keys(name: str, repository: Path, run: Run) -> None:
    text = job().replace("  trainer: {}", f"  trainer: {{env: [{{name: {name}, value: hunter2222}}]}}")
    put(repository, "jobs/a/one.yaml", text)
    result = run("validate")
    assert f"warning[TC411]: variable {name} seems" in result.stdout
    assert "hunter2222" not in result.stdout


@needs_git
@pytest.mark.parametrize("output", ["text", "markdown", "json"])
def test_diff_and_explain(output: str, repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put_all(repository, places(TOKENS[0])[0])
    assert run("render").exit_code == 0
    explained = run("explain", "a/job", *(["-o", "json"] if output == "json" else []))
    assert (explained.exit_code, TOKENS[0] in explained.stdout) == (0, False)
    commit(repository)
    path = next(repository.glob("out/prod/a/job/*.yaml"))
    text = path.read_text()
    assert TOKENS[0] in text
    path.write_text(text.replace(TOKENS[0], json.dumps(PRIVATE_KEYS[1])))
    result = run("diff", "-o", output)
    assert result.exit_code == 3  # out/ is edited by hand
    assert "***" in result.stdout
    assert LINE not in result.stdout
    assert TOKENS[0] not in result.stdout
