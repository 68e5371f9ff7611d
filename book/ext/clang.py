"""Read the tables in our C sources: comments, strings, rows of initialisers.

A row is a list of its cells, each a str (of a string literal, or of neighbours joined) or the text
of an expression. `evaluate` computes the simple ones.
"""

import ast
import re

HEAD = re.compile(r"\s*/\*(.*?)\*/", re.S)
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([{}(),])|([^"{}(),]+)')
DEFINE = re.compile(r"^#define (\w+)[ \t]+([^\n\\]+)$", re.M)
ESCAPES = {r"\"": '"', r"\n": "\n", r"\\": "\\"}


def head_comment(text: str) -> str:
    """Return the comment that a file opens with, without its stars."""
    found = HEAD.match(text)
    lines = [re.sub(r"^\s*\* ?", "", line) for line in found[1].splitlines()] if found else []
    return "\n".join(line.rstrip() for line in lines).strip()


def strip_comments(text: str) -> str:
    """Return the text with each comment replaced by a blank."""
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def text_in_braces(text: str, start: int) -> str:
    """Return what stands inside the braces that open at or after `start`."""
    opened = text.index("{", start)
    depth = 0
    for at in range(opened, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[opened + 1 : at]
    raise ValueError("a brace is not closed")


def split_cells(row: str) -> list[str]:
    """Return the cells of a row of initialisers; neighbouring string literals are one cell."""
    found: list[str | None] = [None]  # None: a cell of which nothing has come yet
    depth = 0  # of brackets that are open
    for token in TOKEN.finditer(row):
        literal, bracket, other = token.groups()
        if bracket == "," and not depth:
            found.append(None)
            continue
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(bracket or "", 0)
        if literal is not None:
            found[-1] = (found[-1] or "") + re.sub(r'\\["n\\]', lambda m: ESCAPES[m[0]], literal)
        elif bracket or other.strip():
            found[-1] = (found[-1] or "") + (bracket or other.strip())
    return [cell for cell in found if cell is not None]


def table_rows(text: str, start: int) -> list[list[str]]:
    """Return the rows of the table whose braces open at or after `start`.

    The row that ends the table is left out.
    """
    inside = text_in_braces(text, start)
    found, at = [], inside.find("{")
    while at >= 0:
        row = text_in_braces(inside, at)
        if row.strip() not in ("", "0", "NULL"):
            found.append(split_cells(row))
        at = inside.find("{", at + len(row) + 2)
    return found


def simple_macros(text: str) -> dict[str, str]:
    """Return the simple macros of a file, by name."""
    return {name: value.strip() for name, value in DEFINE.findall(strip_comments(text))}


def evaluate(expression: str, macros: dict[str, str], deep: int = 0) -> int | None:
    """Return the value of a simple constant expression; None if it is not one."""

    def value(node: ast.AST) -> int:
        """Return the value of a node; raises ValueError if it is not a constant expression."""
        match node:
            case ast.Constant(value=int(n)):
                return n
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return value(left) + value(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return value(left) - value(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return value(left) // value(right)
            case ast.BinOp(left=left, op=ast.LShift(), right=right):
                return value(left) << value(right)
            case ast.UnaryOp(op=ast.Invert(), operand=of):
                return ~value(of) & (1 << 64) - 1
            case ast.Name(id=name) if name in macros and deep < 8:
                inner = evaluate(macros[name], macros, deep + 1)
                if inner is not None:
                    return inner
        raise ValueError

    try:
        plain = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", expression.strip())
        return value(ast.parse(plain, mode="eval").body)
    except (ValueError, SyntaxError):
        return None
