"""Watches the memory of a training loop and says whether it leaks.

    from tidemark import Watcher          # was: from trainwatch import Watcher

    watcher = Watcher()
    for epoch in range(epochs):
        for images, labels in watcher.data(loader):
            loss = train_step(images, labels)
            watcher.step(loss)            # a tensor or a number; never waits for the device
        watcher.epoch_end()
    print(watcher.verdict().summary)

Nothing else needs to be installed; torch is used only if the program uses it. The package includes
the command line: `tidemark run -- python train.py`, or `python -m tidemark train.py`.
"""

from tidemark._cleanup import Cleanup
from tidemark._core import version as __version__
from tidemark._objects import census, growth, holders
from tidemark._tradeoff import tradeoff
from tidemark._watcher import Verdict, Watcher, watch

__all__ = ["Cleanup", "Verdict", "Watcher", "census", "growth", "holders", "tradeoff", "watch",
           "__version__"]
