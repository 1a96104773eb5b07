#!/usr/bin/env python3
"""Checks that every ```mlir example in a dialect's generated documentation parses and verifies.

An example shows an operation without the values it uses. They are defined in front of it by an
operation of no dialect; their types come from the parser, which says what it expected.

Usage: parse_examples.py PPLAN-OPT DOC.md..."""
import re
import subprocess
import sys

MESH = '<["data"=2, "tensor"=2]>'
EXPECTED = re.compile(r"use of value '(%\w+)' expects different type than prior uses: '(.*)' vs 'i1'$")


def examples(path):
    """Yields (line, text) for each example."""
    text, start = None, 0
    with open(path, encoding="utf-8") as doc:
        for number, line in enumerate(doc, 1):
            if line.strip() == "```mlir":
                text, start = [], number + 1
            elif line.strip() == "```" and text is not None:
                yield start, "".join(text)
                text = None
            elif text is not None:
                text.append(line)


def wrap(text, types):
    """The example as a module in which everything it names is defined."""
    meshes = set(re.findall(r"@(\w+)", text)) - set(re.findall(r"pplan\.mesh @(\w+)", text))
    lines = [f"pplan.mesh @{name} = {MESH}" for name in sorted(meshes)]
    lines += [f'{name} = "example.value"() : () -> {type}' for name, type in types.items()]
    # An attribute alone is one attribute a line.
    for line in text.splitlines():
        lines.append(f'"example.attribute"() {{value = {line}}} : () -> ()' if line.startswith("#") else line)
    return "\n".join(lines)


def check(tool, text):
    """The parser's complaint, or nothing."""
    results = re.findall(r"((?:%\w+(?::\d+)?, )*%\w+(?::\d+)?) =", text)
    defined = set(re.findall(r"%\w+", " ".join(results)))
    types = {name: "i1" for name in dict.fromkeys(re.findall(r"%\w+", text)) if name not in defined}
    for _ in range(len(types) + 1):
        result = subprocess.run([tool, "-allow-unregistered-dialect"], input=wrap(text, types), text=True, capture_output=True)
        if result.returncode == 0:
            return None
        complaint = next((line for line in result.stderr.splitlines() if "error:" in line), result.stderr)
        expected = EXPECTED.search(complaint)
        if not expected:
            return complaint
        types[expected[1]] = expected[2]
    return complaint


def main():
    tool, documents = sys.argv[1], sys.argv[2:]
    failures = 0
    for path in documents:
        count = 0
        for line, text in examples(path):
            count += 1
            complaint = check(tool, text)
            if complaint:
                failures += 1
                print(f"{path}:{line}: example does not parse: {complaint}\n{text}")
        print(f"{path}: {count} examples")
        if count == 0:
            failures += 1
            print(f"{path}: no examples found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
