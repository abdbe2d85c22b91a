"""Literals to choose from: by type as cel-go spells it, and texts for what a function reads from a string."""

from __future__ import annotations

LITERALS: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    "bytes": ("b'abc'", "b''", r"b'\xff\x00'", "b'ü'", "bytes('é')"),
    "double": ("0.0", "1.0", "1.5", "-2.25", "1e3", "-0.0", "2.5e-3", "1e308", "9007199254740993.0", "double('NaN')"),
    "google.protobuf.Duration": (
        "duration('1s')",
        "duration('1h30m')",
        "duration('-1.5s')",
        "duration('0')",
        "duration('1ms5us3ns')",
    ),
    "google.protobuf.Timestamp": (
        "timestamp('2024-02-29T12:34:56.789Z')",
        "timestamp('1970-01-01T00:00:00Z')",
        "timestamp('2023-12-31T23:59:59-08:00')",
        "timestamp('0001-01-01T00:00:00Z')",
        "timestamp(1700000000)",
    ),
    "int": ("0", "1", "-1", "2", "3", "5", "0x1F", "100", "9223372036854775807", "-9223372036854775808"),
    "kubernetes.NamedFormat": ("format.dns1123Label()", "format.uuid()", "format.named('date').value()"),
    "kubernetes.Quantity": ("quantity('1Gi')", "quantity('500m')", "quantity('-2')", "quantity('1e3')", "quantity('0')"),
    "kubernetes.Semver": ("semver('1.2.3')", "semver('0.1.0-alpha.1')", "semver('1.2.3+build')", "semver('2.0.0')"),
    "kubernetes.URL": (
        "url('https://user:pw@example.com:8080/a%20b/c?x=1&x=2&y=#top')",
        "url('http://[::1]:80/')",
        "url('/path/only?q')",
    ),
    "kubernetes.authorization.Authorizer": ("authorizer", "authorizer.serviceAccount('ns', 'sa')"),
    "kubernetes.authorization.Decision": ("authorizer.path('/healthz').check('get')",),
    "kubernetes.authorization.GroupCheck": ("authorizer.group('apps')",),
    "kubernetes.authorization.PathCheck": ("authorizer.path('/healthz')",),
    "kubernetes.authorization.ResourceCheck": ("authorizer.group('').resource('pods')", "authorizer.requestResource"),
    "net.CIDR": ("cidr('10.0.0.0/8')", "cidr('192.168.1.0/24')", "cidr('2001:db8::/32')", "cidr('0.0.0.0/0')"),
    "net.IP": ("ip('10.1.2.3')", "ip('::1')", "ip('fe80::1')", "ip('224.0.0.1')", "ip('0.0.0.0')"),
    "null_type": ("null",),
    "string": ("'abc'", "''", "'a,b,c'", "'Grüße'", "'日本語'", "'👍x'", "'1'", "' a b '", '"it\'s"', "r'a\\d'", "'A'"),
    "uint": ("0u", "1u", "2u", "5u", "18446744073709551615u"),
}

SIMPLE = ("bool", "int", "uint", "double", "string", "bytes", "google.protobuf.Duration", "google.protobuf.Timestamp")
NESTED = ("list(int)", "list(string)", "map(string, int)", "list(list(int))", "map(string, string)", "map(int, bool)")
OPAQUE = ("kubernetes.Quantity", "net.IP", "net.CIDR", "kubernetes.Semver", "kubernetes.URL")

QUANTITIES = (
    *("1", "0", "-1", "+1", "1.5", ".5", "5.", "1e3", "1E3", "1e-3", "1E", "1Ei", "100m", "1u", "1n", "0.1n", "1k", "1K"),
    *("1Ki", "1.5Gi", "1M", "1Mi", "1T", "1P", "1E6", "9223372036854775807", "9223372036854775808", "1e30", "12E", "", " 1"),
    *("1 ", "abc", "1GiB", "0x10", "1_000", "1.2.3", "--1", "1e", "1mi", "NaN", "Inf", "100000000000000000000", "0.001Ki"),
    *("1000m", "1024Ki", "0.5Gi", "1e100", "-0", "00100", "1.000000000000000000001", "500Pi", "0.0000000001"),
)
IPS = (
    *("10.0.0.1", "256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4/8", "::", "::1", "2001:db8::1", "2001:DB8::0001", "fe80::1%eth0"),
    *("::ffff:1.2.3.4", "1::2::3", "0:0:0:0:0:0:0:1", "", " 10.0.0.1", "127.0.0.1", "169.254.1.1", "224.0.0.251", "ff02::1"),
    *("255.255.255.255", "fc00::1", "192.168.0.1", "10.0.0.1:80", "[::1]", "12345::", "0.0.0.0"),
)
CIDRS = (
    *("10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0", "10.0.0.0/-1", "10.0.0.0/08", "::/0", "2001:db8::/129", ""),
    *("2001:db8::1/64", "::ffff:1.2.3.0/120", "1.2.3.4/32", "0.0.0.0/0", "fe80::1%1/64", "10.0/8", "10.0.0.0/8/8"),
)
URLS = (
    *("https://example.com", "http://a:b@c:80/d?e=f#g", "/a/b", "a/b", "", "https://", "mailto:x@y", "http://[::1]/x"),
    *("http://exa mple.com", "https://example.com/%zz", "https://example.com/a%2Fb?x=1&x=2&y=%20", "://x", "http://a:b:c/"),
    *("HTTPS://EXAMPLE.com:443/Ü", "https://example.com?q=a+b", "/p?x=1;y=2", "ftp://h/p;type=a", "http://h:99999/", "*"),
)
SEMVERS = (
    *("1.2.3", "v1.2.3", "1.2", "1", "01.2.3", "1.2.3-alpha", "1.2.3-alpha.01", "1.2.3+b.01", "1.2.3-a+b", "1.2.3-", ""),
    *("1.2.3.4", "1.2.x", "18446744073709551616.0.0", "0.0.0", "1.2.3-0", " 1.2.3", "1.0.0-rc.1", "1.0.0-rc.10", "V1.0"),
)
DURATIONS = (
    *("1s", "1.5h", "-1m", "+1m", "1", "0", "-0", "", "1d", "1h1h", "100us", "100µs", "100μs", "1ns", "1.5ns", ".5s", "1.s"),
    *("1s ", "s", "-s", ".s", "1e3s", "2562047h47m16.854775807s", "2562047h47m16.854775808s", "-9223372036854775808ns"),
    *("9223372036854775808ns", "1h-1m", "0.000000001s", "0.1ns", "87660000h", "100000000h", "1m30s500ms", "1MS", "3m2h"),
)
TIMESTAMPS = (
    *("2024-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01", "2024-01-01 00:00:00Z", ""),
    *("2024-01-01t00:00:00z", "2024-01-01T00:00:00", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z", "0000-01-01T00:00:00Z"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "10000-01-01T00:00:00Z", "2024-01-01T00:00:00.123456789123Z"),
    *("2024-01-01T00:00:00+14:00", "2024-01-01T00:00:00+25:00", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00,5Z"),
    *("2024-1-1T0:0:0Z", "now", "1700000000", "0001-01-01T00:00:00+01:00", "2024-06-30T23:59:59.5-07:30"),
)
NUMBERS = (
    *("1", "-1", "+1", "0", "-0", "01", "1.0", "1e3", "1E-2", ".5", "5.", "0x10", "1_000", "", " 1", "1 ", "abc", "inf", "NaN"),
    *("-Infinity", "infinity", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615"),
    *("18446744073709551616", "1e400", "1e-400", "0.1", "123456789.123456789", "1u", "0x1p-2", "Inf", "nan", "٣"),
)
BOOLS = ("true", "false", "True", "TRUE", "t", "f", "1", "0", "tRUE", "yes", "", "FALSE", "False", "on")
REGEXES = (
    *("^a", "a$", "^[a-z]+$", "(a|b)+", "a{2,3}", r"\\d+", "[", "(", "a**", "(?i)ABC", "(?=a)", r"(a)\\1", r"\\bword\\b", ".*"),
    *(r"\\p{L}+", r"[[:alpha:]]+", "a{1001}", r"\\x41", "^$", "", "a|", "(?P<n>a)", "(?<n>a)", r"\\Qa.b\\E", "[^a]", "x*?"),
    *(r"\\pN", r"\\z", r"\\Z", "(?s).", "(?m)^b", "é+", r"\\u00e9", "a++", "{", "]", r"\\", "[a-", "[z-a]", "(?#c)a"),
)
ZONES = (
    *("UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "+01:00", "-08:30", "01:00", "+1:00", "+25:00", "Z", ""),
    *("Nowhere/City", "Local", "utc", "EST", "GMT+1", "-00:00", "+01:60", "2:30", "Asia/Kathmandu", "-2:00"),
)
NAMED_FORMATS = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri", "uuid", "byte", "date"),
    *("datetime", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "unknown", "", "dns1123label"),
)
FORMATTED = (
    *("abc", "a-b", "-ab", "ab-", "Abc", "a.b.c", "a..b", "a" * 63, "a" * 64, "", "example.com/name", "a/b/c", "1abc", "a_b"),
    *("https://example.com", "not a uri", "123e4567-e89b-12d3-a456-426614174000", "123e4567", "aGVsbG8=", "%%%", "2024-01-01"),
    *("2024-13-01", "2024-01-01T00:00:00Z", "é", "A.b_c-D", "/x", "x/"),
)
FORMATS = (
    *("%s", "%d", "%f", "%.2f", "%e", "%.3e", "%x", "%X", "%b", "%o", "%%", "%", "%s %s", "no verbs", "%5d", "%.1s", "%v"),
    *("%-5s", "%+d", "%08.3f", "%.0f", "%.100f", "%.101f", "%s%", "% d", "%q", "%c", "é%sü", "%.", "%.f", "%s %d", "%.-1f"),
)
ESCAPES = (
    *(r"'\n\t\r\a\b\f\v'", r"'\\'", r"'\"'", r"'\''", r"'\?'", r"'\`'", r"'\x41'", r"'\X41'", r"'\u00e9'", r"'\U0001F44D'"),
    *(r"'\101'", r"'\400'", r"'\18'", r"'\xZZ'", r"'\u12'", r"'\ud800'", r"'\U00110000'", r"'\q'", r"r'\n'", r"R'\x41'"),
    *(r"b'\x00\xff'", r"b'\377'", r"b'\u00e9'", r"br'\n'", r"rb'\n'", r"B'\101'", "'''a\nb'''", '"""a"b"""', "r'''a\\'''"),
    *("'a\nb'", "'unterminated", '"mixed\'', r"'''\''''''", r"'\0'", r"'\x4'", r'"\u{e9}"', "'\t'", r"'\uD83D\uDC4D'"),
)
KEYS = ("a", "name", "missing", "x-y", "0", "")
