"""Expressions written by hand, one for each behaviour that engines disagree about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.celgen import proberules
from oracle.celgen.documents import CONFIGMAP, JOBSET, NAMESPACE, REQUEST, TRAINJOB

Question = dict[str, Any]

_VARS = {
    "o": {"a": {"b": 1, "s": "x", "n": None, "l": [1, 2], "t": True, "f": 1.5}, "x-y": 5, "e": {}, "m": {"k": [{"v": 1}]}},
    "l": [1, "a", None, 2.0, [1], {"k": "v"}],
    "n": None,
    "i": 7,
    "s": "Grüße, 日本!",
}

_DYN: dict[str, tuple[str, ...]] = {
    "has": (
        "has(o.a)", "has(o.zz)", "has(o.a.b)", "has(o.a.zz)", "has(o.zz.b)", "has(o.a.b.c)", "has(o.a.n)", "has(o.a.n.x)",
        "has(o.a.l.x)", "has(o.a.s.x)", "has(o.e.x)", "!has(o.zz)", "has(o.a) && has(o.zz)", "has(o.a) ? o.a.b : 0", "has(o)",
        "has(o['a'])", "has(o.m.k[0].v)", "has(o.m.k[0].w)", "has(o.m.k[9].w)", "[o].all(x, has(x.a))", "has(n.x)", "has({'a': 1}.a)",
        "has(o.?a.b)", "has(o.?zz.b)", "has(o.a.?b)", "has(i.x)", "has(l.x)", "has(o.a.b) || o.zz",
    ),
    "absorb": (
        "o.zz || true", "true || o.zz", "o.zz || false", "false && o.zz.x == 1", "o.zz == 1 && false", "o.zz == 1 && true",
        "1 / 0 > 1 || true", "i / 0 > 1 || true", "[1, 2].all(x, x / 0 == 1 || true)", "[0, 1].exists(x, 1 / x == 1)",
        "[0, 1].all(x, 1 / x == 1)", "[1, 0].all(x, 1 / x == 2)", "[0, 1].exists_one(x, 1 / x == 1)", "l.exists(x, x == 'a')",
        "l.all(x, x > 0)", "l.exists(x, x > 1)", "true ? 1 : o.zz", "o.zz ? 1 : 2", "i ? 1 : 2", "i && true", "true || i", "n || true",
        "!i", "i == 7 || i", "[o.zz, 1].size() == 2", "{'a': o.zz}.size()", "(o.zz == 1 || o.yy == 1) && false",
    ),
    "optional": (
        "o.?a.?b", "o.?zz.?b", "o.?zz.b", "o.?a.zz", "o.?a.b.orValue(2)", "o.?zz.orValue('d')", "l[?0]", "l[?9].orValue(0)",
        "o[?'x-y']", "o.?a.hasValue()", "o.?zz.hasValue()", "optional.of(1).value()", "optional.none().value()",
        "optional.ofNonZeroValue(0)", "optional.ofNonZeroValue(i)", "optional.ofNonZeroValue('')", "optional.ofNonZeroValue([])",
        "[?o.?zz, ?o.?i]", "{?'a': o.?zz, 'b': 1}", "{?'a': o.?a.?b}", "[?1]", "{?'a': 1}", "o.?a.optMap(x, x.b + 1)", "o.?zz.optMap(x, x.b)",
        "o.?a.optFlatMap(x, x.?zz)", "o.?zz.or(o.?a).hasValue()", "optional.of(1) == optional.of(1)", "optional.of(1) == optional.none()",
        "optional.none() == optional.none()", "optional.of(1) == 1", "[optional.of(1), optional.none()].unwrapOpt()",
        "optional.unwrap([optional.of(i)])", "o.?a.?l[0]", "o.?a.?l[?5]", "type(optional.of(1)) == optional_type", "o.?a.s.orValue(1)",
        "i.?x", "n.?x", "o.a.?n", "o.?a.?n.orValue(3)", "optional.of(optional.none())", "o.?a.?b.orValue(2) + 1", "'abc'[?0]",
    ),
    "comp2": (
        "[1, 2].all(i, v, v > i)", "[1, 2].exists(i, v, i == v)", "[1, 2].existsOne(i, v, v == 2)", "[1, 2].exists_one(i, v, v == 2)",
        "[1, 2].existsOne(v, v == 2)", "[3, 4].transformList(i, v, i * v)", "[3, 4].transformList(i, v, v > 3, i)",
        "{'a': 1}.transformMap(k, v, v + 1)", "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", "{'a': 1}.transformMapEntry(k, v, {v: k})",
        "['a', 'b'].transformMapEntry(i, v, {v: i})", "['a', 'a'].transformMapEntry(i, v, {v: i})", "{'a': 1}.all(k, v, k == 'a' && v == 1)",
        "[1].transformMap(i, v, v)", "[1].transformMapEntry(i, v, v)", "[1].all(i, i, true)", "[1].all(i, v.x, true)", "o.all(k, v, k != '')",
        "l.transformList(i, v, type(v))", "i.all(a, b, true)", "{}.transformMap(k, v, v)",
    ),
    "macro": (
        "[1, 2, 3].map(x, x > 1, x * 2)", "[1, 2, 3].filter(x, x > 1)", "{'a': 1}.map(k, k)", "[[1], [2]].map(x, x.map(y, y + 1))",
        "[1].map(x, [2].map(x, x))", "[1].map(o, o)", "[1].map(1, 1)", "[1].map(x)", "[1].all(x, 1)", "[1].all(x, dyn(1))", "i.map(x, x)",
        "'abc'.map(c, c)", "[].all(x, x)", "[].exists(x, true)", "[1, 1].exists_one(x, x == 1)", "l.filter(x, type(x) == string)",
        "o.filter(k, k == 'a')", "[1, 2].map(x, x == 1, 'a')", "[3, 1, 2].sortBy(x, -x)", "['b', 'a'].sortBy(x, x)", "[1].map(has, has)",
        "[1].all(x.y, true)", "[1].exists(_, true)", "[1].map(__result__, __result__)", "[1].filter(x, x)", "map([1], x, x)",
    ),
    "string": (
        "size(s)", "s.size()", "s.charAt(2)", "s.charAt(99)", "'abc'.charAt(3)", "s.indexOf('日')", "s.indexOf('zz')", "s.indexOf('', 3)",
        "'abcabc'.lastIndexOf('b')", "'abcabc'.lastIndexOf('b', 2)", "'abc'.indexOf('c', 9)", "s.lowerAscii()", "s.upperAscii()", "'ÄbC'.lowerAscii()",
        "'a-b-c'.replace('-', '')", "'a-b-c'.replace('-', '+', 1)", "'abc'.replace('', '-')", "'a,b'.split(',')", "'a,b,c'.split(',', 2)",
        "'a,b,c'.split(',', 0)", "'abc'.split('')", "'a,b'.split(',', -1)", "s.substring(2, 4)", "'abc'.substring(2, 1)", "'abc'.substring(-1)",
        "'abc'.substring(3)", "'abc'.substring(4)", "' \\t\\u00a0a\\u2003\\n'.trim()", "['a', 'b'].join()", "['a', 'b'].join('-')", "[1].join()",
        "strings.quote('a\"\\n\\u0001é')", "'%s'.format([o.a])", "'%d%%'.format([i])", "'%s %s'.format([1])", "'%d'.format(['a'])", "'%s'.format([n])",
        "'%x'.format(['hi'])", "'%X'.format([b'hi'])", "'%b'.format([true])", "'%o'.format([8u])", "'%e'.format([1052.032911275])",
        "'%.3f'.format([2])", "'%f'.format([1.0 / 0.0])", "'%s'.format([[1, 'a', null, {'k': 1.0}]])", "'%s'.format([duration('1h')])",
        "'abc'.reverse()", "'abc'.contains('')", "'abc'.startsWith('ab') && 'abc'.endsWith('')", "'a' + 'b' == 'ab'", "'a' < 'B'", "'a' < 'é'",
        "'ab'.matches(b'a')", "'a' * 2", "'a' + 1", "'abc'[0]", "'a' in 'abc'", "'é'.size() + bytes('é').size()", "string(b'\\xff')",
        "'x'.format()", "'é' == 'e\\u0301'",
    ),
    "regex": (
        "'abc'.matches('b')", "'abc'.matches('^b')", "matches('abc', 'c$')", "'abc'.matches('[')", "'abc'.matches(s + '[')", "'abc'.matches('(?=a)')",
        "'aa'.matches('(a)\\\\1')", "'a\\nb'.matches('a.b')", "'a\\nb'.matches('(?s)a.b')", "'abc 123'.find('[0-9]+')", "'abc'.find('x')",
        "'a1b22'.findAll('[0-9]+')", "'a1b22'.findAll('[0-9]+', 1)", "'a1'.findAll('[0-9]', -1)", "'a1'.findAll('[0-9]', 0)", "'ab'.findAll('')",
        "'é'.find('\\\\w')", "'K'.matches('(?i)\\u212a')", "'x'.matches('x{1001}')",
    ),
    "num": (
        "1 < 1.5", "1u < 2", "1 == 1.0", "1 == 1u", "dyn(1) == 1.0", "dyn(1) == 1u", "dyn(1u) == 1.0", "1 + 1.0", "1 + 1u", "dyn(1) + 1.0",
        "9223372036854775807 + 1", "i + 9223372036854775807", "-9223372036854775808", "--9223372036854775808", "0u - 1u", "-(1u)", "5 / 2",
        "-5 / 2", "5 % -3", "-5 % 3", "1 / 0", "1 % 0", "1.0 / 0.0", "0.0 / 0.0 == 0.0 / 0.0", "1.0 % 1.0", "i / 0", "-9223372036854775808 / -1",
        "dyn(9223372036854775807) < 9223372036854775808.0", "dyn(9007199254740993) == 9007199254740992.0", "dyn(18446744073709551615u) > 1.0",
        "int(1.9)", "int(-1.9)", "int(1e19)", "int('0x1F')", "int(' 1')", "int('+1')", "uint(-1)", "uint(1.9)", "uint('1')", "double('1e3')",
        "double('x')", "double(9007199254740993)", "int(18446744073709551615u)", "int(timestamp(1))", "string(1.0)", "string(1e21)", "string(-0.0)",
        "string(1e-7)", "string(100000.0)", "string(1u)", "string(true)", "string(null)", "string(type(1))", "bool('true')", "bool('TRUE')",
        "bool('1')", "bool('x')", "bool(1)", "0x7FFFFFFFFFFFFFFF", "0x8000000000000000", "0xFFFFFFFFFFFFFFFFu", "-0xF", "1e400", "1.7976931348623157e308",
        "5e-324", "dyn(1) in [1.0]", "1 in [1.0]", "1 in {1u: 2}", "{1: 'a'}[1.0]", "dyn({1: 'a'})[1u]", "dyn({1: 'a'})[1.0]", "[1, 2][1.0]",
        "dyn([1, 2])[1.0]", "dyn([1, 2])[1.5]", "[1, 2][-1]", "[1, 2][2]", "[1][dyn(0u)]", "1.0 < dyn(0.0 / 0.0)", "[1, 2].min() + [1.5].sum()",
    ),
    "null": (
        "n == null", "o.a.n == null", "o.a == null", "null == 1", "dyn(1) != null", "n.x", "n + 1", "null in [null]", "[null, 1]", "type(null)",
        "n ? 1 : 2", "o.a.n.x", "has(n.x)", "size(n)", "dyn(null) == dyn([])", "timestamp('2024-01-01T00:00:00Z') == null", "'a' == null",
        "[1] == null", "{'a': 1} != null", "true == null", "duration('1s') != null", "null < 1", "string(n)",
    ),
    "eq": (
        "1 == 'a'", "dyn(1) == 'a'", "dyn(true) == 1", "[1] == [1.0]", "dyn([1]) == [1.0]", "dyn([1]) == dyn([1u])", "l == l", "l != [1]",
        "{'a': 1} == {'a': 1.0}", "dyn({'a': 1}) == {'a': 1.0}", "dyn({1: 'a'}) == dyn({1u: 'a'})", "o == o", "[1, 2] == [2, 1]", "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}",
        "{'a': 1, 'a': 2}", "{1: 'a', 1u: 'b'}", "b'a' == 'a'", "dyn(b'a') == 'a'", "type(1) == int", "type(1) == type(2)", "1 in l", "'zz' in l",
        "null in l", "[1] in l", "{'k': 'v'} in l", "2 in l", "'a' in o", "1 in o", "[] == {}", "dyn([]) == {}", "optional.of(1) in [optional.of(1)]",
        "0.0 == -0.0", "'' == b''", "dyn('1') == 1", "i == 7.0", "i in [7.0]", "i != 'x'",
    ),
    "type": (
        "type(1)", "type(1u)", "type(1.0)", "type('a')", "type(b'a')", "type(true)", "type([])", "type({})", "type(null)", "type(type(1))",
        "type(timestamp(0))", "type(duration('1s'))", "type(quantity('1'))", "type(ip('::1'))", "type(cidr('::/0'))", "type(url('/a'))",
        "type(semver('1.0.0'))", "type(format.uuid())", "type(optional.of(1))", "type(o)", "type(l[2]) == null_type", "type(i) == int", "type(1) in [int, uint]",
        "int", "list", "type(dyn) == type", "dyn", "google.protobuf.Timestamp", "type(timestamp(0)) == google.protobuf.Timestamp", "net.IP", "optional_type",
        "type(1) == 'int'", "string == type('a')", "true ? 'a' : 1", "true ? dyn('a') : 1", "[1, 'a']", "[dyn(1), 'a']", "[dyn(1), dyn('a')]",
        "{'a': 1, 'b': 'c'}", "{1: 'a', 'b': 'c'}", "[[1], ['a']]", "[[], [1]]", "[{}, {'a': 1}]", "[1, null]", "[1, 1.0]", "[1, 1u]", "l[0] + l[3]",
    ),
    "time": (
        "timestamp('2024-01-01T00:00:00Z') + duration('1h')", "duration('1h') + timestamp(0)", "timestamp(10) - timestamp(5)", "duration('1h') - duration('30m')",
        "duration('1us') < duration('1001ns')", "timestamp('2024-01-01T00:00:00.123456789Z')", "timestamp(0).getFullYear()", "timestamp(0).getMonth()",
        "timestamp(0).getDayOfMonth()", "timestamp(0).getDate()", "timestamp(0).getDayOfWeek()", "timestamp('2024-12-31T00:00:00Z').getDayOfYear()",
        "timestamp('2024-01-01T00:00:00.9Z').getMilliseconds()", "duration('90.5s').getMilliseconds()", "duration('90.5s').getSeconds()", "duration('-90m').getHours()",
        "duration('1d')", "duration('P1D')", "duration(1)", "timestamp('2024-01-01')", "timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp(253402300800)",
        "timestamp(-62135596801)", "timestamp('0001-01-01T00:00:00Z') - duration('1ns')", "duration('2562047h') + duration('2562047h')", "string(duration('1h30m'))",
        "string(duration('1.000000001s'))", "string(timestamp('2024-01-01T00:00:00.500Z'))", "int(duration('1s'))", "timestamp(1.5)", "timestamp('2024-01-01T00:00:00Z') == timestamp('2024-01-01T01:00:00+01:00')",
        "timestamp('2024-07-01T00:00:00Z').getHours('Europe/Berlin')", "timestamp(0).getHours('-02:30')", "timestamp(0).getHours('nope')", "duration('1h') * 2", "timestamp(0) < duration('1s')",
    ),
    "ident": (
        "o['x-y']", "o.`x-y`", "o.x-y", "self", "undeclared || true", "o.zz", "o.a.zz", "o.a['b']", ".o.a.b", "._", "o._", "namespace", "o.namespace", "o.in", "o.__in__",
        "o.true", "if", "o.if", "a.b.c", "o.a.b.c", "_x", "$x", "é", "o.é", "i.x", "o.size()", "o.a()", "o.map", "nofunc(1)", "o.nofunc(1)", "size", "i()", "o.a.b()",
    ),
    "syntax": (
        "", " ", "1 +", "1 2", "(1", "1)", "[1, 2,]", "{'a': 1,}", "[,]", "f(1,)", "a ? b", "1 == 1 == true", "1 < 2 < 3", "!!true", "- -1", "---1", "!-1", "-!true",
        "1 // comment", "// only", "'a' 'b'", "1.", ".5", "1..2", "1e", "0x", "0b1", "1_000", "01", "1.e3", "'''a'b'''", "r'\\'", "\"a", "{a: 1}", "{1}", "[1:2]",
        "x => 1", "1 ? 2 : 3 ? 4 : 5", "true ? false ? 1 : 2 : 3", "1 & 2", "1 | 2", "1 ^ 2", "~1", "1 ** 2", "1 = 1", "i++", "a.1", "1.a", "[1][0]", "{'a': 1}.a",
        "(1, 2)", "()", "in", "1 in [1] in [true]", "true&&false||true", "1\n+\n2", "\"\"\"a\nb\"\"\"", "not true", "true and false", "i; i", "#", "Msg{a: 1}", "google.protobuf.Duration{seconds: 5}",
        "google.protobuf.Int32Value{value: 3}", "google.protobuf.Value{number_value: 1.0}", "\ufeff1", "1\u00a0+ 1", "'\U0001f44d'.size()", "1u", "1U", "1uu", "TRUE", "null.x", "'a'.b",
    ),
    "library": (
        "cel.bind(x, 1, x)", "math.greatest(1, 2)", "base64.encode(b'a')", "[3, 1, 2].sort()", "[1, 1].distinct()", "[1, 2].reverse()", "[1, 2, 3].slice(0, 2)",
        "[1, 2].slice(1, 0)", "[[1], [2]].flatten()", "[[1, [2]]].flatten()", "lists.range(3)", "lists.range(-1)", "[1, 2].first()", "[].last()", "sets.contains([1], [1.0])",
        "sets.equivalent([1, 1], [1])", "sets.intersects([], [1])", "[1, 3, 2].isSorted()", "['a'].sum()", "[].sum()", "[1, 2].max()", "[].min()", "[true].max()", "[1].indexOf(1)",
        "quantity('1') < quantity('2')", "quantity('1Gi').sign()", "sign(quantity('-1'))", "quantity('1Gi') == quantity('1024Mi')", "quantity('1').add(1)", "quantity('1.5').asInteger()",
        "quantity('500m').asApproximateFloat()", "string(quantity('1Gi'))", "quantity('1k').sub(quantity('1Ki'))", "isQuantity(1)", "ip('10.0.0.1') == ip('10.0.0.1')", "string(ip('::1'))",
        "ip('::ffff:1.2.3.4')", "ip.isCanonical('2001:DB8::1')", "ip.isCanonical('x')", "cidr('10.0.0.1/8').masked() == cidr('10.0.0.0/8')", "cidr('10.0.0.0/8').ip()",
        "cidr('10.0.0.0/8').containsIP('x')", "url('https://a/b?c=d').getQuery()", "url('https://a') == url('https://a')", "isURL('a b')", "format.named('x')",
        "format.dns1123Label().validate('A')", "format.dns1123Label().validate('a')", "format.dns1123Label() == format.named('dns1123Label').value()", "semver('1.2.3').major()",
        "semver('1.2.3') == semver('1.2.3+x')", "semver('v1.2.3')", "semver('v1.2', true)", "isSemver('1.2', true)", "dyn([1, 2]).sum()", "size({'a': 1}) + size(b'ab')", "'a'.isSorted()",
        "[quantity('1'), quantity('2')].sum()", "[duration('1s'), duration('2s')].sum()", "['b', 'a'].sort()", "[1, 'a'].sort()", "dyn([1, 'a']).sort()", "l.distinct().size()", "image('a')",
        "jsonpatch.escapeKey('a')", "[1].includes(1)", "quantity('1').mul(2)", "error('x')", "'a'.decode()",
    ),
}  # fmt: skip

_POLICY = (
    ("object.spec.suspend", {}), ("object.spec.suspend == false", {}), ("has(object.spec.network)", {}), ("object.metadata.labels['team']", {}),
    ("object.spec.replicatedJobs.all(r, r.replicas <= 4)", {}), ("object.spec.replicatedJobs.map(r, r.replicas).sum() < 5", {}),
    ("quantity(object.spec.replicatedJobs[0].limits.memory).isLessThan(quantity('2Gi'))", {}), ("quantity(object.spec.replicatedJobs[1].limits.cpu).asInteger() == 2", {}),
    ("object.spec.replicatedJobs.all(r, r.image.matches('@sha256:'))", {}), ("oldObject == null", {}), ("oldObject.spec.x == 1", {}), ("params.x", {}), ("params == null", {}),
    ("request.operation == 'CREATE'", {}), ("request.subResource == ''", {}), ("has(request.subResource)", {}), ("request.zz == 1", {}), ("request.userInfo.groups.exists(g, g == 'ml')", {}),
    ("request.userInfo.extra['scopes'][0] == 'x'", {}), ("request.options.kind == 'CreateOptions'", {}), ("request.object.x == 1", {}), ("request.dryRun", {}), ("namespaceObject.metadata.labels.env == 'prod'", {}),
    ("namespaceObject.metadata.name.startsWith('team')", {}), ("namespaceObject.metadata.creationTimestamp > timestamp(0)", {}), ("namespaceObject.data", {}), ("has(namespaceObject.metadata.annotations)", {}),
    ("authorizer.group('').resource('pods').check('get').allowed()", {}), ("authorizer.requestResource.check('create').allowed()", {}), ("true || authorizer.path('/x').check('get').allowed()", {}),
    ("false && authorizer.path('/x').check('get').allowed()", {}), ("object.zz == 1 || authorizer.path('/x').check('get').allowed()", {}), ("authorizer.zz()", {}), ("authorizer.path(1).check('get').allowed()", {}),
    ("[1, 2].exists(x, authorizer.path('/x').check('get').allowed() || x == 2)", {}), ("string(object.spec.ttlSecondsAfterFinished)", {}), ("dyn(true)", {}), ("bool(object.spec.suspend)", {}),
    ("variables.n > 1", {"variables": [{"name": "n", "expression": "object.spec.replicatedJobs.size()"}]}), ("variables.a == variables.b", {"variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a"}]}),
    ("variables.b == 1", {"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]}), ("variables.a || true", {"variables": [{"name": "a", "expression": "object.zz == 1"}]}),
    ("variables.zz == 1", {"variables": [{"name": "a", "expression": "1"}]}), ("true", {"variables": [{"name": "a", "expression": "1 +"}]}), ("variables.a.x", {"variables": [{"name": "a", "expression": "{'x': true}"}]}),
    ("variables.a == 'x'", {"variables": [{"name": "a", "expression": "1"}]}), ("variables.a.size() == 2", {"variables": [{"name": "a", "expression": "object.spec.replicatedJobs.map(r, r.name)"}]}),
    ("variables.a.hasValue()", {"variables": [{"name": "a", "expression": "object.?spec"}]}), ("variables.a > quantity('1')", {"variables": [{"name": "a", "expression": "quantity('1')"}]}),
    ("variables.q.isGreaterThan(quantity('1'))", {"variables": [{"name": "q", "expression": "quantity('2')"}]}), ("variables.a", {"variables": [{"name": "a", "expression": "authorizer.path('/x').check('get').allowed()"}]}),
    ("true", {"variables": [{"name": "a-b", "expression": "1"}]}), ("true", {"variables": [{"name": "namespace", "expression": "1"}]}), ("has(variables.a)", {"variables": [{"name": "a", "expression": "1"}]}),
    ("true", {"messageExpression": "'x' + object.metadata.name"}), ("true", {"messageExpression": "object.metadata.name"}), ("true", {"messageExpression": "string(object.spec.ttlSecondsAfterFinished)"}),
    ("true", {"messageExpression": "params.x"}), ("true", {"messageExpression": "1"}), ("true", {"messageExpression": "authorizer.path('/x').check('get').reason()"}), ("true", {"messageExpression": " "}),
    ("true", {"messageExpression": "['b', 'a'].sort()[0]"}), ("[2, 1].sort()[0] == 1", {}), ("true", {"message": "two\nlines"}), ("true", {"message": " "}), ("true", {"reason": "Forbidden"}), ("true", {"reason": "Unauthorized"}),
    ("object", {}), ("type(object) == map", {}), ("type(request)", {}), ("request.kind", {}), ("object.spec.replicatedJobs[?5]", {}), ("object.metadata.name + request.name", {}), ("self.x", {}), ("1", {}), ("null", {}),
)  # fmt: skip


def probes() -> Iterator[Question]:
    """Yield the probes of values, of policies and of rules."""
    for exprs in _DYN.values():
        for expr in exprs:
            yield {"env": "dyn", "expr": expr, "vars": _VARS if any(f"{name}" in expr for name in _VARS) else {}}
    bindings: dict[str, Any] = {"object": JOBSET, "request": REQUEST, "namespaceObject": NAMESPACE}
    for expr, more in _POLICY:
        yield {"env": "vap", "expr": expr, "vars": bindings, **more}
    yield {"env": "vap", "expr": "object.data == oldObject.data", "vars": {"object": CONFIGMAP, "oldObject": CONFIGMAP}}
    for expr in ("params.spec.trainer.numNodes > 1", "params == null", "params.?spec.?x.orValue(true)", "object == null"):
        yield {"env": "vap", "expr": expr, "vars": {"params": TRAINJOB}, "messageExpression": "'at most ' + string(params.n)"}
        yield {"env": "vap", "expr": expr, "vars": {"params": None}}
    yield from proberules.rules()
