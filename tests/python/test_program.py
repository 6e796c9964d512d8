"""`python -m tidemark` and the command of the package."""

import os
import subprocess
import sys

from support import Case


class Module(Case):
    def run_module(self, *arguments, cwd=None):
        return subprocess.run([sys.executable, "-m", "tidemark", *arguments], cwd=cwd, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)

    def test_commands_and_options(self):
        self.assertRegex(self.run_module("--version").stdout, r"^tidemark \d")
        self.assertIn("usage: tidemark", self.run_module("--help").stdout)
        self.assertIn("usage: tidemark", self.run_module().stdout)
        self.assertIn("analyze", self.run_module("analyze", "--help").stdout)
        self.assertEqual(self.run_module("analyse").returncode, 1)

    def test_a_script_runs_as_before(self):
        folder = self.folder()
        (folder / "train.py").write_text(
            "import os, sys\n"
            "print(sys.argv, __name__, sys.executable, os.getcwd())\n"
            "sys.exit(7)\n")
        done = self.run_module("train.py", "--epochs", "3", cwd=folder)
        self.assertEqual(done.returncode, 7)
        self.assertIn(f"['train.py', '--epochs', '3'] __main__ {sys.executable} "
                      f"{os.path.realpath(folder)}", done.stdout)
        self.assertEqual(len(list(folder.glob("train-*.tide"))), 1)

    def test_a_module_runs_too(self):
        folder = self.folder()
        (folder / "train_module.py").write_text("print('as a module', __name__)\n")
        done = self.run_module("-m", "train_module", cwd=folder)
        self.assertIn("as a module __main__", done.stdout)
