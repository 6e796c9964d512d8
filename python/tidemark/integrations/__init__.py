"""Callbacks for the frameworks people train with.

    from tidemark.integrations.transformers import TidemarkCallback   # Hugging Face's Trainer
    from tidemark.integrations.lightning import TidemarkCallback      # Lightning

    trainer = Trainer(..., callbacks=[TidemarkCallback()])

For accelerate and your own loops: `with tidemark.watch() as w:` and `w.step(loss)`.
"""
