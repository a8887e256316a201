"""The obvious reader of ``model.py``: CPython's own parser and a visitor.

Reads every file of a folder into a list of (name, op, arguments) per file, and prints the seconds of CPU time that it took.
"""

import ast
import sys
import time
from pathlib import Path


class Lowering(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.nodes: list[tuple[str, str, list]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for index, parameter in enumerate(node.args.args[1:]):
            self.names[parameter.arg] = index
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        match node.value:
            case ast.Constant(value=None):
                return
            case ast.Name(id=name):
                value = self.names[name]
            case expression:
                value = self.call(expression, node.targets[0])
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = value

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        operands = [self.argument(node.target), self.argument(node.value)]
        self.names[node.target.id] = self.add(f"i{type(node.op).__name__}", operands)

    def call(self, node: ast.expr, target: ast.expr) -> int:
        match node:
            case ast.Call(func=function, args=args, keywords=keywords):
                arguments = [self.argument(arg) for arg in args]
                arguments += [(keyword.arg, self.argument(keyword.value)) for keyword in keywords]
                return self.add(ast.unparse(function), arguments)
            case ast.BinOp(left=left, op=op, right=right):
                return self.add(type(op).__name__, [self.argument(left), self.argument(right)])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.add(type(op).__name__, [self.argument(left), self.argument(right)])
            case ast.Subscript(value=value, slice=index):
                return self.add("getitem", [self.argument(value), self.argument(index)])
            case _:
                return self.add(type(node).__name__, [])

    def add(self, op: str, arguments: list) -> int:
        self.nodes.append((f"n{len(self.nodes)}", op, arguments))
        return len(self.nodes)

    def argument(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name):
                return self.names.get(name, name)
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return [self.argument(element) for element in elements]
            case _:
                return ast.dump(node)


def main() -> None:
    texts = [path.read_text() for path in Path(sys.argv[1]).iterdir()]
    start = time.process_time()
    for text in texts:
        Lowering().visit(ast.parse(text))
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
