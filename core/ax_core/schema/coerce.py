"""The published table of what the gate reads as another type: data, from which docs and tests are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: what happens to a value of one JSON type where the schema declares another.

    Attributes:
        given: JSON type of the value; text is a string.
        expected: the ``type`` that the schema declares.
        when: condition on the value, in words.
        example: such a value, as JSON text.
        verdict: ``"kept"`` as it is, ``"read"`` with a note, or ``"refused"``.
        becomes: the value the tool gets, as JSON text; None where refused.
    """

    given: str
    expected: str
    when: str
    example: str
    verdict: Literal["kept", "read", "refused"]
    becomes: str | None = None


TABLE: tuple[Rule, ...] = (
    Rule("string", "integer", "decimal digits, perhaps a minus", '"50"', "read", "50"),
    Rule(
        "string",
        "integer",
        "any size up to 1000 digits, exactly",
        '"1234567890123456789"',
        "read",
        "1234567890123456789",
    ),
    Rule("string", "integer", "nothing but zeros after the point", '"50.0"', "read", "50"),
    Rule("string", "integer", "blanks around it", '" 50 "', "read", "50"),
    Rule("string", "integer", "a fraction", '"3.9"', "refused"),
    Rule("string", "integer", "an exponent: as likely an identifier", '"1e3"', "refused"),
    Rule("string", "integer", "leading zeros: as likely an identifier", '"007"', "refused"),
    Rule("string", "integer", "another notation", '"0x10"', "refused"),
    Rule("string", "integer", "a plus sign or group separators", '"+1,000"', "refused"),
    Rule("string", "integer", "digits of other scripts", '"٥٠"', "refused"),
    Rule("string", "integer", "empty or blank: no value was given", '""', "refused"),
    Rule("string", "integer", "the word null", '"null"', "refused"),
    Rule("number", "integer", "whole, within ±2^53", "50.0", "read", "50"),
    Rule("number", "integer", "a fraction: never cut", "3.9", "refused"),
    Rule("number", "integer", "whole, beyond ±2^53: digits may be lost already", "1e300", "refused"),
    Rule("boolean", "integer", "true is not 1", "true", "refused"),
    Rule("null", "integer", "never 0; leave the argument out instead", "null", "refused"),
    Rule("array", "integer", "", "[1]", "refused"),
    Rule("object", "integer", "", '{"n": 1}', "refused"),
    Rule("string", "number", "a JSON number of which no digit is lost", '"19.90"', "read", "19.9"),
    Rule("string", "number", "an exponent", '"1e3"', "read", "1000.0"),
    Rule("string", "number", "a whole number stays exact", '"10"', "read", "10"),
    Rule("string", "number", "more digits than a double holds", '"100000000000000000.1"', "refused"),
    Rule("string", "number", "beyond the range, or no number", '"1e400"', "refused"),
    Rule("string", "number", "NaN and infinities", '"NaN"', "refused"),
    Rule("string", "number", "a unit or a separator", '"$10"', "refused"),
    Rule("string", "number", "empty or blank: no value was given", '" "', "refused"),
    Rule("integer", "number", "an integer is a number", "10", "kept", "10"),
    Rule("boolean", "number", "true is not 1", "true", "refused"),
    Rule("null", "number", "never 0", "null", "refused"),
    Rule("array", "number", "", "[1]", "refused"),
    Rule("object", "number", "", "{}", "refused"),
    Rule("string", "boolean", "true or false, in any case, blanks around it", '"False"', "read", "false"),
    Rule("string", "boolean", "a digit", '"0"', "refused"),
    Rule("string", "boolean", "yes, no, on, off", '"no"', "refused"),
    Rule("string", "boolean", "any other text: never by truthiness", '"maybe"', "refused"),
    Rule("string", "boolean", "empty or blank: no value was given", '""', "refused"),
    Rule("integer", "boolean", "0 and 1 too", "0", "refused"),
    Rule("number", "boolean", "", "1.0", "refused"),
    Rule("null", "boolean", "never false", "null", "refused"),
    Rule("array", "boolean", "", "[]", "refused"),
    Rule("object", "boolean", "", "{}", "refused"),
    Rule(
        "string", "string", "never decoded, trimmed or normalised", '"{\\"a\\": 1}"', "kept", '"{\\"a\\": 1}"'
    ),
    Rule("string", "string", "also where it looks like a number", '"007"', "kept", '"007"'),
    Rule("string", "string", "empty text is a text", '""', "kept", '""'),
    Rule("integer", "string", "leading zeros or digits may be lost already", "7", "refused"),
    Rule("number", "string", "which text was meant is unknown", "1.0", "refused"),
    Rule("boolean", "string", "", "true", "refused"),
    Rule("null", "string", "never empty text", "null", "refused"),
    Rule("array", "string", "", '["a"]', "refused"),
    Rule("object", "string", "", "{}", "refused"),
    Rule("string", "object", "JSON text of an object: decoded once", '"{\\"a\\": 1}"', "read", '{"a": 1}'),
    Rule("string", "object", "JSON text of JSON text", '"\\"{}\\""', "refused"),
    Rule("string", "object", "broken, doubled or followed by anything", '"{\\"a\\": 1"', "refused"),
    Rule("string", "object", "empty, or the word null", '"null"', "refused"),
    Rule("null", "object", "", "null", "refused"),
    Rule("array", "object", "", "[]", "refused"),
    Rule("integer", "object", "", "1", "refused"),
    Rule("number", "object", "", "1.5", "refused"),
    Rule("boolean", "object", "", "true", "refused"),
    Rule("string", "array", "JSON text of an array: decoded once", '"[1, 2]"', "read", "[1, 2]"),
    Rule("string", "array", "any other text: never wrapped, never split", '"a,b"', "refused"),
    Rule("null", "array", "", "null", "refused"),
    Rule("object", "array", "", "{}", "refused"),
    Rule("integer", "array", "", "1", "refused"),
    Rule("number", "array", "", "1.5", "refused"),
    Rule("boolean", "array", "", "true", "refused"),
    Rule("null", "null", "", "null", "kept", "null"),
    Rule("string", "null", "neither empty text nor the word null", '""', "refused"),
    Rule("integer", "null", "", "0", "refused"),
    Rule("number", "null", "", "0.5", "refused"),
    Rule("boolean", "null", "", "false", "refused"),
    Rule("array", "null", "", "[]", "refused"),
    Rule("object", "null", "", "{}", "refused"),
    Rule("integer", "integer", "", "50", "kept", "50"),
    Rule("number", "number", "", "0.5", "kept", "0.5"),
    Rule("boolean", "boolean", "", "true", "kept", "true"),
    Rule("object", "object", "", '{"a": 1}', "kept", '{"a": 1}'),
    Rule("array", "array", "", "[1]", "kept", "[1]"),
)
"""Complete: every pair of JSON types has a row. Held against the gate row by row in the tests."""


def table_markdown() -> str:
    """The table as markdown, for ``docs/arguments.md``: rows that say no more than "refused" are left out."""
    rows = ["| the schema says | given | | what happens |", "|---|---|---|---|"]
    for expected in dict.fromkeys(rule.expected for rule in TABLE):
        for rule in TABLE:
            if rule.expected == expected and rule.when:
                result = f"read as `{rule.becomes}`" if rule.verdict == "read" else rule.verdict
                rows.append(f"| {expected} | {rule.given} `{rule.example}` | {rule.when} | {result} |")
    return "\n".join(
        [*rows, "", "Any other pair of types is refused. A type that the schema accepts is kept as it is."]
    )
