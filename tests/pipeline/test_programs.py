"""``compile`` as programs call it: in threads, again and again, and with objects that they change."""

from __future__ import annotations

import decimal
import gc
import json
import multiprocessing
import pydoc
import sys
import threading
import time
from functools import _lru_cache_wrapper
from typing import Any

import pytest

from trainc import Document, Finding, Options, Source, compile
from trainc.admission.policy.policyset import PolicySet
from trainc.basics.memo import exclusive
from trainc.kube import gotypes
from trainc.kube.gojson import float_literal, go_number
from trainc.kube.quantity import from_json
from trainc.schema.structural import Structural

HOME = "trainc.pipeline.compile"
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{}}}}
"""


OTHERS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {NAME: {type: string, pattern: ^NAME$}}
            x-kubernetes-validations:
            - rule: self.NAME.size() > timestamp('2020-01-01T00:00:00Z').getHours('Europe/././ZONEBerlin')
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: thing}
spec: {NAME: NAME}
---
apiVersion: NAME.example.com/v1
kind: NAME
metadata: {name: thing}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: policy}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [NAME.example.com], apiVersions: [v1], operations: [CREATE], resources: [NAMEs]}]
  validations: [{expression: "[1].all(NAME, NAME == 1)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: policy}
spec: {policyName: policy, validationActions: [Deny]}
"""
"""Objects of which each name, pattern, time zone and variable is another one for each NAME."""


def compiled(*names: str) -> list[dict[str, Any]]:
    """Return the JobSets of jobs with these names."""
    build = compile([Source(f"{name}.yaml", JOB.format(name=name)) for name in names])
    return [job.objects[0].data for job in build.jobs]


def replace_all(value: Any) -> None:
    """Replace whatever is in a value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            replace_all(item)
        else:
            value[key] = "changed"
    value.clear()


def test_an_object_shares_nothing_with_other_objects() -> None:
    one, two = compiled("one", "two")
    before = json.dumps(two)
    replace_all(one)
    assert [before, before] == [json.dumps(two), *map(json.dumps, compiled("two"))]


def test_one_thread_compiles_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = sys.modules[HOME]
    running: list[int] = []
    most: list[int] = []
    run = module.run

    def observed(*arguments: Any) -> Any:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        try:
            return run(*arguments)
        finally:
            running.pop()

    monkeypatch.setattr(module, "run", observed)
    threads = [threading.Thread(target=compile, args=([], Options())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_a_process_that_is_forked_while_a_thread_compiles_does_not_wait_for_it() -> None:
    is_inside = threading.Event()

    @exclusive
    def inside() -> None:
        is_inside.set()
        time.sleep(0.2)

    thread = threading.Thread(target=inside)
    thread.start()
    is_inside.wait()
    process = multiprocessing.get_context("fork").Process(target=compile, args=([],))
    process.start()
    process.join(20)
    process.kill()
    thread.join()
    process.join()
    assert process.exitcode == 0


def test_an_interrupted_call_leaves_no_fields_out_of_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a notebook, or a signal that ends a call after some time."""
    compile_struct, codec = (getattr(gotypes, name) for name in ("_struct", "_codec"))
    pod = {"priorityClassName": "high", "restartPolicy": "Never", "containers": [{"name": "a"}]}
    kinds: list[str] = []

    def interrupted(kind: str) -> Any:
        kinds.append(kind)
        if len(kinds) == 3:
            raise KeyboardInterrupt
        return codec(kind)

    struct = compile_struct(gotypes.POD_SPEC)
    with monkeypatch.context() as patched:
        patched.setattr(gotypes, "_codec", interrupted)
        with pytest.raises(KeyboardInterrupt):
            struct.decode(pod)
    assert struct.decode(pod) == codec(gotypes.POD_SPEC).decode(pod)


def test_the_precision_of_a_program_does_not_round_amounts() -> None:
    """A notebook that sets ``decimal.getcontext().prec``."""
    with decimal.localcontext(decimal.Context(prec=3, traps=[decimal.Inexact])):
        assert from_json(17179869184.0).canonical() == "17179869184"
        assert [float_literal(1.23456e-9), go_number(1234567.5)] == ["1.23456e-9", "1.2345675e+06"]


def test_options_may_be_lists_and_iterators() -> None:
    crds = [Source("crds.yaml", OTHERS.partition("---")[0])]
    options = Options(fixes=iter(["master-address"]), crds=crds)  # type: ignore[arg-type]
    assert options.chosen == ("master-address",)
    assert [job.name for job in compile([Source("a.yaml", JOB.format(name="a"))], options).jobs] == ["a"]


def test_sources_may_come_from_a_program_that_compiles() -> None:
    sources = (Source("a.yaml", JOB.format(name=job["metadata"]["name"])) for job in compiled("inner"))
    assert [job.name for job in compile(sources).jobs] == ["inner"]


def test_nothing_is_kept_for_each_of_many_different_inputs() -> None:
    """A service compiles what strangers send for weeks."""

    def compile_all(numbers: range) -> None:
        for number in numbers:
            name = f"name{'x' * number}"
            job = JOB.format(name=name).replace("torch-distributed", name)
            compile([Source("a.yaml", job + "---\n" + OTHERS.replace("NAME", name).replace("ZONE", "./" * number))])

    compile_all(range(1))
    gc.collect()
    gc.unfreeze()  # conftest.py has frozen the modules with their caches, so that gc does not list them
    caches = [each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper)]
    unbounded = [each for each in caches if each.cache_parameters()["maxsize"] is None]
    assert len(unbounded) > 20
    gc.freeze()  # from here on, it lists only what is new

    def held(numbers: range) -> tuple[int, int, int]:
        compile_all(numbers)
        gc.collect()  # documents,
        gc.collect()  # then what was kept as long as they existed
        objects = gc.get_objects()
        kept = (sum(isinstance(each, kind) for each in objects) for kind in (Structural, PolicySet))
        return sum(each.cache_info().currsize for each in unbounded), *kept

    assert held(range(1, 4)) == held(range(4, 9))


@pytest.mark.parametrize("public", [Document, Finding, Options, Source, compile], ids=lambda public: public.__name__)
def test_help_of_what_a_program_uses(public: object) -> None:
    assert pydoc.render_doc(public)
