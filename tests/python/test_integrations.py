"""The callbacks where their framework is not."""

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
            r"tidemark\.integrations\.lightning needs lightning or pytorch_lightning, and neither "
            r"can be imported here \(.*\): pip install lightning")
