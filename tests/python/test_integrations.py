"""The callbacks where their framework is not."""

import ast
import pathlib

import tidemark.integrations
from support import Case, run_python


class WithoutFramework(Case):
    def error(self, module, *missing):
        code, said = run_python(f"""
            import sys
            for name in {missing!r}:
                sys.modules[name] = None
            import tidemark.integrations
            try:
                import tidemark.integrations.{module}
            except ImportError as error:
                print(error)
            """)
        self.assertEqual(code, 0, said)
        return said

    def test_transformers(self):
        self.assertRegex(self.error("transformers", "transformers"),
                         r"tidemark\.integrations\.transformers needs transformers, which cannot "
                         r"be imported here \(.*\): pip install transformers")

    def test_lightning(self):
        self.assertRegex(
            self.error("lightning", "lightning", "lightning.pytorch", "pytorch_lightning"),
            r"tidemark\.integrations\.lightning needs lightning or pytorch_lightning, but neither "
            r"can be imported here \(.*\): pip install lightning")


class Stubs(Case):
    """What type checkers are told is what there is."""

    def arguments(self, file):
        """By class and method, of the public classes: the names, and which have a default."""
        found = {}
        for kind in ast.parse(file.read_text()).body:
            if isinstance(kind, ast.ClassDef) and not kind.name.startswith("_"):
                for method in kind.body:
                    if isinstance(method, ast.FunctionDef):
                        a = method.args
                        found[kind.name, method.name] = (
                            [x.arg for x in a.args], len(a.defaults),
                            [x.arg for x in a.kwonlyargs], sum(d is not None for d in a.kw_defaults))
        return found

    def test_constructors_take_the_same(self):
        folder = pathlib.Path(tidemark.integrations.__file__).parent
        for name in ("transformers", "lightning"):
            made = self.arguments(folder / f"{name}.py")
            told = self.arguments(folder / f"{name}.pyi")
            for kind in ("TidemarkCallback", "CleanupCallback"):
                with self.subTest(module=name, kind=kind):
                    self.assertEqual(told[kind, "__init__"], made[kind, "__init__"])
