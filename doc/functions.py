# SPDX-License-Identifier: LGPL-3.0-or-later
"""What doc/heap-strips.png and doc/heap-time.png are of:

    mprof record --python -o functions.log -- /usr/bin/python3 functions.py
    mprof image functions.log --allocator glibc,jemalloc --at 98% -o heap-strips.png
    mprof image functions.log --allocator glibc,jemalloc --layout time -o heap-time.png

All of the standard library as syntax trees, which are dropped when a small table has been made
of them: its strings lie everywhere between what was.
"""
import ast, glob

files = sorted(glob.glob(ast.__file__.replace("ast.py", "*.py")))
trees = [ast.parse(open(path, "rb").read()) for path in files]
where = {}
for path, tree in zip(files, trees):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            where.setdefault(node.name, []).append((path, node.lineno))
del trees, tree, node
for name in sorted(where):
    print(name, *where[name][:3])
