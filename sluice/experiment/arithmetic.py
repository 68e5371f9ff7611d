"""The expression in the braces of a text: a variable, or arithmetic of variables, "8 * iops".

The operators are + - * / // and parentheses; // rounds down. A whole number is shown without a
point.
"""

import ast
import operator
from collections.abc import Mapping
from functools import cache

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


class BadExpression(ValueError):
    """A wrong expression; the text says what is wrong."""


@cache  # an experiment fills in a few expressions thousands of times
def parse(text: str) -> ast.expr:
    """Return the expression that the text holds. Raises BadExpression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise BadExpression("not a variable, nor arithmetic of variables") from None


@cache
def variables_in(text: str) -> tuple[str, ...]:
    """Return the names of the variables in an expression."""
    return tuple(node.id for node in ast.walk(parse(text)) if isinstance(node, ast.Name))


def evaluate(node: ast.expr, variables: Mapping[str, object]) -> object:
    """Return the value of an expression's node. Raises BadExpression."""
    match node:
        case ast.Name(id=name):
            return variables[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            sides = [evaluate(side, variables) for side in (left, right)]
            for side in sides:
                if not isinstance(side, int | float):
                    raise BadExpression(f'"{side}" is no number')
            return OPERATORS[type(op)](*sides)
    raise BadExpression(f'"{ast.unparse(node)}": there are only + - * / // and parentheses')


def substitute(text: str, variables: Mapping[str, object]) -> str:
    """Return the value of the expression as text. `variables` must have all names in it."""
    try:
        value = evaluate(parse(text), variables)
    except ZeroDivisionError:
        raise BadExpression("divides by 0") from None
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
