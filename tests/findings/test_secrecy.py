from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.documents.load import load
from trainc.findings import Related, report
from trainc.findings.display import VALUE_WIDTH
from trainc.findings.formats import FORMATS
from trainc.findings.redaction import MASK, TEXT_WIDTH, Redactor, index, masked_line, masked_lines, redact
from trainc.findings.secrets import Hidden, hidden, is_secret, looks_secret
from trainc.inputs.source import Document, Mark
from trainc.project.fixing import diff_text

SECRETS = (
    *("HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "password", "dbPassword", "DB_PASS", "apiKey", "APIKey"),
    *("token", "hftoken", "GITHUB_TOKEN_2", "MYSQL_PWD", "secret", "privateKey", "credentials", "hf-token"),
    *("example.com/token", "PASSPHRASE", "SSH_KEY", "AUTHORIZATION"),
)
PLAIN = (
    *("TOKENIZERS_PARALLELISM", "MAX_TOKENS", "secretName", "secretRef", "secretKeyRef", "PASSWORD_FILE", "key"),
    *("name", "numNodes", "NCCL_DEBUG", "tokenExpirationSeconds", "AUTHOR", "topologyKey", "keys", "monkey", ""),
    *("passthrough", "COMPASS", "secretNamespace", "bypass", "imagePullSecrets", "AWS_ACCESS_KEY_ID", "credentialPath"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", PLAIN)
def test_names_of_other_things(name: str) -> None:
    assert not looks_secret(name)


SECRET: JsonObject = {"kind": "Secret", "data": {"a": "YWJjZA=="}, "stringData": {"b": "plain"}, "type": "Opaque"}
JOB: JsonObject = {
    "kind": "TrainJob",
    "data": {"a": "b"},
    "spec": {
        "env": [
            {"name": "HF_TOKEN", "value": "hf_0123456789"},
            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "hf-token"}}},
            {"name": "DEBUG", "value": "on"},
        ],
        "args": ["--hf-token", "flagged", "--lr=0.1", "--api-key=inline", "s3://me:urlpass@host/x"],
        "script": "export WANDB_API_KEY='quoted one'\ntrain",
        "secret": {"secretName": "volume"},
        "automountServiceAccountToken": True,
        "password": ["one", "two"],
    },
}


@pytest.mark.parametrize(
    ("data", "path", "secret"),
    [
        (SECRET, ("data", "a"), True),
        (SECRET, ("stringData", "b"), True),
        (SECRET, ("type",), False),
        (JOB, ("data", "a"), False),
        (JOB, ("spec", "env", 0, "value"), True),
        ({"env": [{"name": "HF_TOKEN", "vlaue": "x"}]}, ("env", 0, "vlaue"), True),
        ({"env": [{"name": "HF_TOKEN", "Value": "x"}]}, ("env", 0, "Value"), True),
        ({"mounts": [{"name": "token", "mountPath": "/x", "key": "k"}]}, ("mounts", 0, "mountPath"), False),
        (JOB, ("spec", "env", 0, "name"), False),
        (JOB, ("spec", "env", 0), False),
        (JOB, ("spec", "env", 1, "valueFrom", "secretKeyRef", "key"), False),
        (JOB, ("spec", "env", 2, "value"), False),
        (JOB, ("spec", "secret", "secretName"), False),
        (JOB, ("spec", "password"), True),
        (JOB, ("spec", "password", 1), True),
        (JOB, ("spec", "apiKey", "absent"), True),
        (JOB, (), False),
    ],
)
def test_paths(data: JsonObject, path: Path, secret: bool) -> None:
    assert is_secret(data, path) == secret


def document(text: str) -> Document:
    documents, findings = load(Source("x.yaml", text))
    assert findings == ()
    return documents[0]


def as_document(data: JsonObject) -> Document:
    return document(json.dumps({"apiVersion": "v1", "metadata": {"name": "x"}, **data}))


def hidden_in(document: Document) -> list[Hidden]:
    return [value for values in hidden(document).values() for value in values]


def test_what_is_hidden() -> None:
    assert [value.text for value in hidden_in(as_document(SECRET))] == ["YWJjZA==", "plain"]
    texts = [value.text for value in hidden_in(as_document(JOB))]
    assert texts == ["hf_0123456789", "flagged", "inline", "urlpass", "quoted one", "one", "two"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("login --password hunter2222 && train", "hunter2222"),
        ("login --password 'hunter 2222'; train", "hunter 2222"),
        ("--password-file x --token --verbose --api-key \\\n", None),
        ("train(**{'lr': 1, 'token': 'hunter2222'})", "hunter2222"),
        ('{"db": {"password" : "hunter\\"2222"}}', 'hunter\\"2222'),
        (json.dumps('{"apiKey":"hunter2222","a":"b"}'), "hunter2222"),
        ('{"tokenizer": "hunter2222", "tokens": "x", "password": null, "secretName": "x", "token": ""}', None),
    ],
)
def test_flags_and_pairs_within_a_text(text: str, value: str | None) -> None:
    found = [each.text for each in hidden_in(as_document({"kind": "X", "args": [text]}))]
    assert found == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("container", "found"),
    [
        ({"command": ["curl"], "args": ["-sS", "-u", "me:hunter2222", "https://x"]}, ("args", 2)),
        ({"command": ["curl", "--user=me:hunter2222"]}, ("command", 1)),
        ({"command": ["mysql", "-u", "root", "-phunter2222"]}, ("command", 3)),
        ({"args": ["sshpass -p hunter2222 ssh x"]}, ("args", 0)),
        ({"args": ["redis-cli -h db -a hunter2222 ping"]}, ("args", 0)),
        ({"args": ["docker login -u me -p hunter2222 x"]}, ("args", 0)),
        ({"args": ["curl \\\n  -u me:hunter2222 x"]}, ("args", 0)),
        ({"args": ["-H", "X-Api-Key: hunter2222"]}, ("args", 1)),
        ({"args": ["curl x | tee -u me:there", "curl; run -u me:there", "curl -u 'me:$PW' x", "curl -u me x"]}, None),
        ({"args": ["mysql -p -u root", "mkdir -p a1b2", "mysql -p $PW", "python -u train:main", "run -p 80:80"]}, None),
        ({"args": ["def f(token: str, key: int64): ...", "token: missing", "Authorization: Bearer {token}"]}, None),
        ({"args": ["https://me@dev.azure.com/x", "abfss://container0123456789@account.dfs.core.windows.net"]}, None),
    ],
)
def test_passwords_of_programs_and_headers(container: JsonObject, found: Path | None) -> None:
    values = hidden(as_document({"kind": "X", "spec": container}))
    assert [*values] == ([] if found is None else [("spec", *found)])
    assert {value.text for each in values.values() for value in each} <= {"hunter2222"}


def test_switches_are_not_hidden() -> None:
    args: list[Json] = ["-o", "PasswordAuthentication=no", "-oPasswordAuthentication='No'", "--token=true", "password="]
    assert hidden_in(as_document({"kind": "X", "args": args})) == []
    found = hidden_in(as_document({"kind": "X", "args": ["PASSWORD=nothing --token=no"]}))
    assert [value.text for value in found] == ["nothing"]


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ('Invalid value: "hf_0123": bad', "hf_0123", 'Invalid value: "***": bad'),
        ("hf_0123hf_0123 hf_0123", "hf_0123", "hf_0123hf_0123 ***"),
        ("0123456789abcdef0123456789", "0123456789abcdef", "***0123456789"),
        ("0123456789abcde...", "0123456789abcdefghi", "***..."),
        ('{"a":"li\\nne \\"q\\""}', 'li\nne "q"', '{"a":"***"}'),
        ("'it''s me now'", "it's me now", "'***'"),
        ("one two", "absent", "one two"),
    ],
)
def test_redact(text: str, value: str, shown: str) -> None:
    assert redact(text, [index([value])]) == shown


TOKEN = "hf_AbCdEfGhIjKlMnOp"
SHAPED = f"{TOKEN}QrStUvWxYz012345"
PLACES = {
    "variable": f"spec:\n  env:\n  - name: HF_TOKEN\n    value: {TOKEN}\n",
    "flow": f"spec:\n  env: [{{name: HF_TOKEN, value: {TOKEN}}}, {{name: B, value: x}}]\n",
    "flow, value first": f"spec:\n  env: [{{value: {TOKEN}, name: HF_TOKEN}}, {{name: B, value: x}}]\n",
    "quoted": f'spec:\n  env:\n  - {{"name": "HF_TOKEN", "value": "{TOKEN}"}}\n',
    "escaped": 'spec:\n  apiKey: "hf_AbCdEf\\x47hIjKlMnOp"\n',
    "folded": f"spec:\n  apiKey: aaa\n    {TOKEN}\n    bbb\n",
    "folded in flow": f'spec: {{apiKey: "aaa\n    {TOKEN}", other: 1}}\n',
    "block": f"spec:\n  apiKey: |\n    {TOKEN}\n",
    "block of text": f"spec:\n  script: |\n    export HF_TOKEN={TOKEN}\n",
    "anchor": f"spec:\n  harmless: &a {TOKEN}\n  apiKey: *a\n",
    "argument": f"spec:\n  args: [train, --hf-token={TOKEN}]\n",
    "flag": f"spec:\n  args: [train, --hf-token, {TOKEN}]\n",
    "secret": f"kind: Secret\nstringData:\n  anything: {TOKEN}\n",
    "secret in flow": f"kind: Secret\nstringData: {{anything: {TOKEN}}}\n",
    "key": "spec:\n  hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345: x\n",
    "number": "spec:\n  password: 71462936\n",
    "list": f"spec:\n  passwords: [{TOKEN}, other]\n",
    "one line": json.dumps({"kind": "Secret", "data": {"a": TOKEN}}) + "\n",
}
HIDDEN = re.compile(rf"AbCdEf|IjKlMnOp|{TOKEN}|71462936")


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("place", sorted(PLACES))
def test_no_format_shows_a_secret_wherever_a_finding_is(place: str, name: str) -> None:
    text = PLACES[place]
    body = text if text.startswith("{") else f"metadata: {{name: x}}\napiVersion: v1\n{text}"
    if text.startswith("{"):
        body = json.dumps({"apiVersion": "v1", "metadata": {"name": "x"}, **json.loads(text)})
    elif "kind:" not in text:
        body += "kind: X\n"
    given_document = document(body)
    paths = given_document.marks()
    assert len(paths) > 4
    secret = hidden_in(given_document)[0].text
    assert HIDDEN.search(secret)
    told = f"found {secret}, cut {secret[:15]}, quoted {json.dumps(secret)} and {secret!r}"
    findings = [
        report(
            "TC102",
            given_document,
            path,
            told,
            found=secret,
            expected=told,
            hint=told,
            upstream=told,
            related=(Related(told, given_document, path),),
        )
        for path in paths
    ]
    shown = FORMATS[name](findings, False)
    assert HIDDEN.search(shown) is None, HIDDEN.search(shown)
    assert MASK in shown


def test_a_neighbour_on_the_line_is_no_less_hidden() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": TOKEN}}
    other = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "env": [{"name": "A_TOKEN", "value": TOKEN}]}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret, {"kind": "Y", **other}, other]})
    documents, _ = load(Source("x.json", text))
    for found in documents:
        for path in found.marks():
            assert HIDDEN.search(FORMATS["text"]([report("TC102", found, path, "m")], False)) is None


@pytest.mark.parametrize(
    "text",
    [
        f'kind: X\npassword: "{TOKEN}\n',
        f"env:\n- name: HF_TOKEN\n  value: {TOKEN}: x: y\n",
        f"kind: Secret\ndata:\n  a: {TOKEN}: x: y\n",
        f"password: @{TOKEN}\n",
        f"\tpassword: {TOKEN}\n",
        f'{{"kind": "Secret", "data": {{"a": "{TOKEN}"}}, }} x',
        f'{{"apiKey": "{TOKEN}", ',
        f"env: [{{value: a[{TOKEN}, name: API_TOKEN}}]\n",
        f"env: [{{value: a{{{TOKEN}{{b, name: API_TOKEN}}]\n",
        f"run: [curl {SHAPED}, echo {SHAPED}\n",
        f"env: [{{value: a {TOKEN} b, name: API_TOKEN}}]]\n",
        f"env: [{{name: API_TOKEN, value: a {TOKEN}}}]]\n",
        f"env: [{{a: [password: a {TOKEN} b}}]\n",
        f"password: *{TOKEN}\n",
        f"password:\n  @{TOKEN}\n",
        f"env:\n- value: @{TOKEN}\n  name: HF_TOKEN\n",
        f"args: [--password {TOKEN}\n",
        f"url: [https://u:{TOKEN}@example.com\n",
        f"args: [--token, {TOKEN}\n",
        f"args:\n- --token\n- @{TOKEN}\n",
        f"args:\n- --token\n-\n  @{TOKEN}\n",
        f"env:\n- name: HF_TOKEN\n  # a comment\n  value: @{TOKEN}\n",
        f"env: [{{name: HF_TOKEN, x: y, value: @{TOKEN}}}]\n",
        f"env: [{{name: HF_TOKEN, value: ![{TOKEN}}}]\n",
        f"? password\n: @{TOKEN}\n",
        f"apiKey: >-\n    aaa\n {TOKEN}\n",
        f"kind: Secret\ndata:\n- {TOKEN}: @\n",
        f"passwords:\n- a\n- @{TOKEN}\n",
        f"? {{\n  password: {TOKEN}}}\n: x\n",
        f"password: !!int\n  {TOKEN}\n",
        f"kind: Secret\ntype: Opaque\nstringData\n  x: {TOKEN}\n",
        f"kind: Secret\ntype: Opaque\n'stringData' = # a comment\n  x: {TOKEN}\n",
        f"kind: Secret\ntype: Opaque\n stringData\n  x: {TOKEN}\n",
        f"kind: Secret\ntype: Opaque\nstring\n  x: {TOKEN}\n",
    ],
)
def test_a_document_that_cannot_be_read(text: str) -> None:
    findings = compile([Source("x.yaml", text)], Options()).findings
    assert findings
    for name, render in FORMATS.items():
        assert HIDDEN.search(render(findings, False)) is None, name


def test_the_lines_of_a_document_that_cannot_be_read_in_a_diff() -> None:
    old, new = (f"kind: X\na: {value}\n---\npassword: *{TOKEN}\n" for value in (1, 2))
    shown = diff_text({"x.yaml": Source("x.yaml", old)}, {"x.yaml": Source("x.yaml", new)})
    assert shown == "--- a/x.yaml\n+++ b/x.yaml\n@@ -1,4 +1,4 @@\n kind: X\n-a: 1\n+a: 2\n ---\n password: ***\n"


def test_what_is_shown_of_a_document_that_cannot_be_read() -> None:
    text = """\
env:
- name: HF_TOKEN
  valueFrom:
    secretKeyRef: {name: hf, key: token}
- {name: B, value: 3}
image: x
passwords:
- one
two
args: [--lr=3, --token=abcd, x]
"""
    shown = """\
env:
- name: HF_TOKEN
  ***:
    ***}
- {name: B, value: ***}
image: x
passwords:
- ***
***
args: [--lr=3, --token=***]
"""
    given = Source("x.yaml", text)
    assert masked_lines([Document(given, {})], text.split("\n")) == shown.split("\n")


def test_what_is_shown_of_a_program() -> None:
    lines = ["login(", "    api_key = (", '        "efgh"', "    ),", '    name="x", token="abcd")', "if not x: pass"]
    shown = ["login(", "    api_key = (", '        "***"', "    ),", '    name="x", token=***)', "if not x: pass"]
    program = Document(Source("x.py", "\n".join(lines)), {})
    assert [masked_line(program, lines, Mark(number, 1))[0] for number in range(1, len(lines) + 1)] == shown


def test_packages_of_an_image_are_no_secrets() -> None:
    lines = ["passwd 1:4.13+dfsg1-1 0a1b", "tini 0.19.0-1 2c3d"]
    lock = Document(Source("images/a/packages.lock", "\n".join(lines)), {})
    assert [masked_line(lock, lines, Mark(number, 1))[0] for number in (1, 2)] == lines
    message = "passwd 1:4.13+dfsg1-1 is not available"
    assert Redactor(lock, (), None, ()).text(message) == message


def test_a_private_key_among_the_packages_of_an_image_is_hidden() -> None:
    dashes = "-----"
    begin, end = (f"{dashes}{word} RSA PRIVATE KEY{dashes}" for word in ("BEGIN", "END"))
    key = [random.Random(number).randbytes(48).hex() for number in range(20)]
    lines = ["passwd 1:4.13+dfsg1-1 0a1b", begin, *key, end]
    lock = Document(Source("images/a/packages.lock", "\n".join(lines)), {})
    shown = [masked_line(lock, lines, Mark(number, 1))[0] for number in range(1, len(lines) + 1)]
    assert shown[0] == lines[0]
    assert not set(shown) & set(key)


def test_the_own_words_of_a_hint_are_shown() -> None:
    (finding,) = compile([Source("x.yaml", "kind: X: y\nname: a_token\n  name: hf\n")], Options()).findings
    assert finding.hint == 'quote a text that contains ": "'


def test_a_document_beside_one_that_cannot_be_read_is_shown() -> None:
    text = "apiVersion: v1\nkind: X\nmetadata: {name: a-token}\nvalue: 3\n---\nname: a-token\na: 3\nvalue: 3\n"
    documents, _ = load(Source("x.yaml", text))
    shown = text.removesuffix("value: 3\n") + "value: ***\n"
    assert "\n".join(masked_lines(documents, text.split("\n"))) == shown


def test_lines_end_at_line_feeds_only() -> None:
    text = f'apiVersion: v1\nkind: X\nmetadata: {{name: x}}\n# a\r# b\ntoken: 0777\napiKey: "\\x41bCdEf{TOKEN}"\n'
    for name, render in FORMATS.items():
        assert HIDDEN.search(render(compile([Source("x.yaml", text)], Options()).findings, False)) is None, name


@pytest.mark.parametrize(
    ("line", "hint"),
    [("password: 0444", "292"), ("password: 1_000_000", "1000000"), ("apiKey: 0o777", "511"), ("token: 5e-7777", "5e")],
)
def test_no_reading_of_an_ambiguous_secret(line: str, hint: str) -> None:
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\n{line}\n"
    for render in FORMATS.values():
        shown = render(compile([Source("x.yaml", text)], Options()).findings, False)
        # SARIF's version, codes and fingerprints are no readings.
        assert hint not in re.sub(r"2\.1\.0|TC[0-9]{3}|\b[0-9a-f]{64}\b", "", shown, flags=re.I)
        assert line.partition(": ")[2] not in shown


def test_the_name_of_a_field_is_no_secret() -> None:
    given_document = document("apiVersion: v1\nkind: X\nmetadata: {name: x}\ntoken: abcdefgh\n")
    finding = report("TC101", given_document, ("token",), "unknown field token", found="token")
    assert (finding.message, finding.found) == ("unknown field token", "token")
    assert " 4 | token: ***\n" in FORMATS["text"]([finding], False)


def test_a_found_value_that_has_another_secret_is_hidden_as_a_whole() -> None:
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nenv:\n- {{name: A_TOKEN, value: {TOKEN}}}\n"
    found = f"Bearer {TOKEN} and the rest"
    finding = report("TC102", document(text), ("env", 0, "value"), f"invalid value {found!r}", found=found)
    assert finding.message == "invalid value '***'"


def test_many_values_that_begin_alike() -> None:
    many = [f"hf_the_same_start_{number:05d}" for number in range(300)]
    assert redact(f"a {many[7]} b {many[123]}c {many[299][:-2]}", [index(many)]) == "a *** b ***c ***"


class Unwalked(dict[str, tuple[str, ...]]):
    """A mapping through which nobody may walk: that would take long for each of many texts."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError


def test_a_text_is_searched_without_a_look_at_each_secret() -> None:
    many = index(f"{number:04}secret" for number in range(300))
    assert redact("a 0123secret b", [replace(many, forms=Unwalked(many.forms))]) == "a *** b"


def test_a_secret_far_along_a_long_line() -> None:
    items = ", ".join(f"{{name: A{number}_TOKEN, value: {TOKEN}{number}}}" for number in range(400))
    given_document = document(f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nspec: {{env: [{items}]}}\n")
    for number in (0, 200, 399):
        path = ("spec", "env", number, "name")
        shown = FORMATS["text"]([report("TC102", given_document, path, "m")], False).splitlines()
        assert HIDDEN.search("\n".join(shown)) is None
        at = shown[3].index("^")
        assert shown[2][at:].startswith(f"name: A{number}_TOKEN, value: ***}}")


def test_the_rest_of_a_long_secret_on_a_long_line() -> None:
    head = "apiVersion: v1, kind: X, metadata: {name: x}, a: 1"
    given_document = document(f"{{{head}, token: {TOKEN * 400}, other: 2}}\n")
    for path in (("a",), ("token",), ("other",)):
        shown = FORMATS["text"]([report("TC102", given_document, path, "m")], False).splitlines()
        assert HIDDEN.search(shown[2]) is None
        assert shown[2][shown[3].index("^") :].startswith(path[0])


def test_many_secrets_on_a_long_line_of_a_document_that_cannot_be_read() -> None:
    items = ", ".join(f"{{a: 0777, b: x https://u:p{number}ass@h/}}" for number in range(300))
    findings = compile([Source("x.yaml", f"[{items}]\n")], Options()).findings
    for name, render in FORMATS.items():
        shown = render(findings, False)
        assert re.search(r"p[0-9]+ass", shown) is None, name
        assert len(shown) < 1_000_000, name


def test_columns_behind_a_mask_stay_right() -> None:
    given_document = document(f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nspec: {{token: {TOKEN}, other: 1}}\n")
    shown = FORMATS["text"]([report("TC102", given_document, ("spec", "other"), "m")], False)
    assert shown.splitlines()[2:] == [" 4 | spec: {token: ***, other: 1}", "   |                    ^^^^^ spec.other"]


def test_values_are_cut_in_every_format() -> None:
    finding = report("TC102", document("apiVersion: v1\nkind: X\nmetadata: {name: x}\n"), (), "m", found="f" * 500)
    assert finding.found == "f" * (VALUE_WIDTH - 3) + "..."


LETTERS = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=12_000))


@pytest.mark.parametrize(
    "secret",
    [
        f"eyJhbGciOiJIUzI1NiJ9.eyJ{LETTERS}.{LETTERS[:43]}",
        "\n".join((f"{'-' * 5}BEGIN RSA PRIVATE KEY{'-' * 5}", LETTERS, f"{'-' * 5}END RSA PRIVATE KEY{'-' * 5}", "")),
        f"Bearer {LETTERS}",
        f"ghp_{LETTERS[:36]}",
        LETTERS[:20],
    ],
    ids=["JWT", "private key", "bearer", "token", "known"],
)
def test_a_secret_at_the_end_of_a_long_text_that_is_cut(secret: str) -> None:
    given_document = document(f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nspec: {{token: {LETTERS[:20]}}}\n")
    for start in range(TEXT_WIDTH - 150, TEXT_WIDTH + 1):
        finding = report("TC102", given_document, ("metadata",), "x " * (start // 2) + secret, hint=secret)
        assert LETTERS[:4] not in f"{finding.message}{finding.hint}"
        assert len(finding.message) <= TEXT_WIDTH


@given(st.text(min_size=4, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_nothing_of_a_whole_value_is_left(value: str, before: str, after: str) -> None:
    assume(len(value.strip()) >= 8)
    assume(value not in before + MASK + after)
    shown = redact(f"{before} {value} {after}", [index([value])])
    assert value not in shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "value", "token", "data", "kind", "args", "x"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_any_data_is_walked(data: Json) -> None:
    for value in hidden_in(as_document({"kind": "Secret", "token": data})):
        assert value.text


FOLDED = """\
kind: TrainJob
apiVersion: trainer.kubeflow.org/v1alpha1
metadata: {name: a}
spec:
  trainer:
    env:
    - name: HF_TOKEN
      value: >-
        abcd efgh
        ijkl
"""


def test_a_secret_at_the_end_of_a_document_masks_no_line_of_the_next_one() -> None:
    other = "kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\nmetadata: {name: b}\n"
    text = f"{FOLDED}---\n{other}---\n{FOLDED}---\n{other}"
    documents, _ = load(Source("job.yaml", text))
    assert len(documents) == 4
    shown = FOLDED.replace(">-\n        abcd efgh\n        ijkl", "***\n***\n***") + f"---\n{other}"
    assert "\n".join(masked_lines(documents, text.split("\n"))) == f"{shown}---\n{shown}"
