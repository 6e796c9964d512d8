"""accelerate and loops of one's own: tidemark.watch() is all they need."""

import accelerate
import tidemark
import torch
from support import Case, output


class Loop(Case):
    def test_a_loop_with_accelerate(self):
        accelerator = accelerate.Accelerator(cpu=not torch.cuda.is_available(),
                                             gradient_accumulation_steps=2)
        model = torch.nn.Linear(16, 1)
        optimizer = torch.optim.Adam(model.parameters())
        data = torch.utils.data.DataLoader(torch.randn(64, 16), batch_size=8)
        model, optimizer, data = accelerator.prepare(model, optimizer, data)
        with output() as out, tidemark.watch(print_every=4) as w:
            for _ in range(2):
                for batch in w.data(data):
                    with accelerator.accumulate(model):
                        loss = model(batch).pow(2).mean()
                        accelerator.backward(loss)
                        optimizer.step()
                        optimizer.zero_grad()
                    if accelerator.sync_gradients:
                        w.step(loss)
                with w.phase("evaluate"):
                    model(torch.randn(4, 16, device=accelerator.device))
                w.epoch_end()
        self.assertEqual((w.step_count, w.epoch_count), (8, 2))
        for part in ("Step      4 | loss=", "✓ Epoch 1 complete", "verdict: "):
            self.assertIn(part, out.getvalue())
