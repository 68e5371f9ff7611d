"""Find all changes of one token, or of one statement, that are possible in a C file's functions.

The operators are the classical ones (DeMillo, Lipton and Sayward, "Hints on test data selection",
Computer 11(4), 1978; Offutt et al., "An experimental determination of sufficient mutant operators",
TOSEM 5(2), 1996): of relations, arithmetic, logic, constants and statements.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from grade.code.source import blank_comments

TOKEN = re.compile(
    r"0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*|[A-Za-z_]\w*"
    r"|->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||\.\.\.|[^\s\w]"
)
OTHER = {
    "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "!": [""], "<<": [">>"], ">>": ["<<"],
    "++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="], "&=": ["="], "|=": ["="],
    "+": ["-"], "/": ["*"], "%": ["/"], "|": ["&"],
    "true": ["false"], "false": ["true"], "MIN": ["MAX"], "MAX": ["MIN"],
    "break": ["continue"], "continue": ["break"],
}  # fmt: skip
ONLY_BINARY = {"-": ["+"], "*": ["/"], "&": ["|"]}
OPERAND = re.compile(r"[\w)\]]")  # what stands before a binary operator ends in it
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
CONSTANT = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")  # of a family: those with the same first word
ERROR = re.compile(r"E[A-Z0-9]{2,}")
FUNCTION = re.compile(r"\b(\w+)\s*\(")
LEAVING = {"return", "break", "continue", "goto", "case", "default"}
NOT_AN_END = {"else", "do"}


@dataclass(frozen=True)
class Change:
    """A replacement of text[start:end] of a file by `new`.

    line, column: they begin at 1.
    """

    file: str
    function: str
    line: int
    column: int
    start: int
    end: int
    old: str
    new: str
    context: str  # the whole line, without its indentation

    def __str__(self) -> str:
        new = self.new or "nothing"
        return f"{self.name}: {self.function}: `{self.old}` becomes `{new}` in: {self.context}"

    @property
    def name(self) -> str:
        """The name that selects this change alone on the command line."""
        return f"{self.file}:{self.line}:{self.column}:{self.new}"

    def apply(self, text: str) -> str:
        """Return the file's text with the change made."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True)
class Token:
    """A token of the source, and its place."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The place after the token."""
        return self.start + len(self.text)


class Source:
    """A C file, and the functions defined in it."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.code = blank_comments(text)

    @cached_property
    def bodies(self) -> list[tuple[str, int, int]]:
        """The name of each function, and the beginning and end of the text between its braces."""
        found, depth, start, last_end = [], 0, 0, 0
        for match in re.finditer(r"[{}]", self.code):
            at = match.start()
            if match[0] == "{":
                if not depth:
                    start = at + 1
                depth += 1
                continue
            depth -= 1
            if depth:
                continue
            head = self.code[last_end : start - 1].rpartition(";")[2]  # behind rows of tables
            last_end = at + 1
            names = FUNCTION.findall(head)
            if names and head.rstrip().endswith(")"):
                found.append((names[0], start, at))
        return found

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """The constants in the file, by their first word."""
        found: dict[str, set[str]] = {}
        for name in CONSTANT.findall(self.code):
            found.setdefault(name.split("_")[0], set()).add(name)
        return {first: sorted(names) for first, names in found.items()}

    def make_change(self, function: str, start: int, end: int, new: str) -> Change:
        """Return the change at this place."""
        begin = self.text.rfind("\n", 0, start) + 1
        line = self.text[begin:].split("\n", 1)[0]
        number = self.text.count("\n", 0, start) + 1
        old = " ".join(self.text[start:end].split())
        return Change(
            self.file, function, number, start - begin + 1, start, end, old, new, line.strip()
        )

    def list_changes(self) -> Iterator[Change]:
        """Yield all possible changes of the file, from its beginning."""
        for function, start, end in self.bodies:
            tokens = [Token(m[0], start + m.start()) for m in TOKEN.finditer(self.code[start:end])]
            before = Token("{", start)
            for token in tokens:
                for new in self.replacements(before, token):
                    yield self.make_change(function, token.start, token.end, new)
                before = token
            for first, after in removable_statements(tokens):
                yield self.make_change(function, first, after, ";")

    def replacements(self, before: Token, token: Token) -> list[str]:
        """Return the possible replacements of a token. before: the token before it.

        An operator gets the opposite one, a number n becomes n + 1 or 0, an error -EIO becomes -0,
        and a constant becomes the next one of its family.
        """
        word = token.text
        if word in OTHER:
            return OTHER[word]
        if word in ONLY_BINARY:  # a sign, a pointer or an address stays as it is
            after_operand = OPERAND.match(before.text[-1]) and before.text not in LEAVING
            return ONLY_BINARY[word] if after_operand else []
        if number := NUMBER.fullmatch(word):
            digits = number[1]  # without its suffix
            is_octal = digits[0] == "0" and digits.isdigit()
            value = int(digits, 8 if is_octal else 0)
            return ["1"] if not value else [str(value + 1), "0"]
        if ERROR.fullmatch(word) and before.text == "-":
            return ["0"]
        family = self.families.get(word.split("_")[0], [])
        if word in family and len(family) > 1:
            return [family[(family.index(word) + 1) % len(family)]]
        return []


def removable_statements(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the beginnings and ends of statements that may be left out.

    These are calls, assignments and increments. A statement follows `;`, `{`, `}`, `else`, `do` or
    the `)` of an if, for or while. Jumps, declarations and blocks are kept.
    """
    heads, nested = head_ends(tokens), bracketed_tokens(tokens)
    starts = [0] + [
        i + 1
        for i, token in enumerate(tokens)
        if token.text in {";", "{", "}"} | NOT_AN_END or i in heads
    ]
    for first, following in pairwise([*starts, len(tokens)]):
        inside = tokens[first:following]
        if len(inside) < 2 or inside[-1].text != ";" or inside[0].text in LEAVING:
            continue
        if following - 1 in nested or is_declaration([token.text for token in inside]):
            continue
        yield inside[0].start, inside[-1].end


def head_ends(tokens: list[Token]) -> set[int]:
    """Return the ends of the heads of if, for, while, switch and kernel loops (NAME_EACH)."""
    found, open_ = set(), []
    for i, token in enumerate(tokens):
        if token.text == "(":
            before = tokens[i - 1].text if i else ""
            head = before in {"if", "for", "while", "switch"} or before.endswith("_EACH")
            open_.append(head)
        elif token.text == ")" and open_ and open_.pop():
            found.add(i)
    return found


def bracketed_tokens(tokens: list[Token]) -> set[int]:
    """Return the tokens between round brackets, such as those of a for's head."""
    found, depth = set(), 0
    for i, token in enumerate(tokens):
        depth -= token.text == ")"
        if depth:
            found.add(i)
        depth += token.text == "("
    return found


def is_declaration(words: list[str]) -> bool:
    """Return True if it begins like a declaration: a word, then stars, then another word."""
    rest = [word for word in words if word != "*"]
    named = [bool(re.fullmatch(r"[A-Za-z_]\w*", word)) for word in rest[:2]]
    return len(named) > 1 and all(named)
