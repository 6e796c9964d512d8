"""A tiny training with Hugging Face's Trainer, made here: no downloads."""

import inspect
import os

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

transformers.logging.set_verbosity_error()
# Releases before torch 2.6 read their own checkpoints so.
os.environ.setdefault("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")


class Sentences(torch.utils.data.Dataset):
    """Random numbers, the same for the same place."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        words = torch.randint(0, 64, (16,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": words, "labels": words}


class HoardMetrics(TrainerCallback):
    """Keeps 64 KB of every step: the leak that is to be named."""

    def __init__(self):
        self.history = []

    def on_step_end(self, args, state, control, **kwargs):
        self.history.append({"step": state.global_step, "values": torch.rand(16 * 1024)})


def tiny_model():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=64,
                                      n_positions=32, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))


class Words(torch.nn.Module):
    """Without a mask of bools among its buffers, which gloo of torch 1.13 cannot send."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Embedding(64, 32), torch.nn.Linear(32, 64))

    def forward(self, input_ids, labels):
        return {"loss": torch.nn.functional.cross_entropy(
            self.layers(input_ids).flatten(0, 1), labels.flatten())}


def trainer(folder, callbacks=(), kind=Trainer, model=None, train=128, evaluate=16, **arguments):
    """Whatever the version calls its arguments."""
    known = inspect.signature(TrainingArguments.__init__).parameters
    on_cpu = {"use_cpu": True} if "use_cpu" in known else {"no_cuda": True}
    settings = {"per_device_train_batch_size": 4, "logging_steps": 10, "save_strategy": "no",
                "report_to": [], "disable_tqdm": True, "seed": 0,
                **({} if torch.cuda.is_available() else on_cpu), **arguments}
    return kind(model=model or tiny_model(), args=TrainingArguments(str(folder), **settings),
                train_dataset=Sentences(train), callbacks=list(callbacks),
                eval_dataset=Sentences(evaluate) if isinstance(evaluate, int) else evaluate)
