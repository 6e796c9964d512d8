"""A tiny training with Lightning, from whichever of its two packages is wanted."""

import importlib
import logging
import os
import sys
import warnings

import torch

NAME = os.environ.get("LIGHTNING") or "lightning.pytorch"
lightning = importlib.import_module(NAME)
loggers = importlib.import_module(f"{NAME}.loggers")

for name in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric", "lightning_fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module=r"(pytorch_)?lightning")

# torch 1.13 has a module that Python 3.11 cannot import, and Lightning asks for it.
if sys.version_info >= (3, 11) and torch.__version__.startswith("1."):
    lightning.LightningModule._register_sharded_tensor_state_dict_hooks_if_available = (
        lambda self: None)


class HoardOutputs(lightning.Callback):
    """Keeps 64 KB of every batch, in an attribute of the class: the leak that is to be named."""

    history = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.history.append(torch.rand(16 * 1024))


class Tiny(lightning.LightningModule):
    def __init__(self, validation_bytes=0):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                                          torch.nn.Linear(32, 1))
        self.validation_bytes = validation_bytes

    def training_step(self, batch, batch_idx):
        x, = batch
        loss = ((self.layers(x) - x.sum(1, keepdim=True)) ** 2).mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        taken = torch.ones(self.validation_bytes // 4)
        self.log("value", self.layers(batch[0]).mean() + taken.sum() * 0)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def loader(count=256, batch_size=8):
    data = torch.randn(count, 16, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size)


def trainer(folder, callbacks=(), **arguments):
    settings = {"accelerator": "auto" if torch.cuda.is_available() else "cpu", "devices": 1,
                "logger": False, "enable_checkpointing": False, "enable_progress_bar": False,
                "enable_model_summary": False, "log_every_n_steps": 10, **arguments}
    return lightning.Trainer(default_root_dir=str(folder), callbacks=list(callbacks), **settings)
