"""The printed lines: TrainWatch's to the letter, and the ones tidemark adds below them."""

MB = 1024 * 1024
RULE = "=" * 60


def _percent(name, share):
    return f"{name}={100 * share:.1f}%" if share is not None else f"{name}=n/a"


def step_line(step, loss, seconds, cpu_used, ram_used, vram_bytes=None):
    """Shares are 0 to 1. Unknown values are None; without VRAM that part is left out."""
    parts = [f"Step {step:>6}", f"loss={loss:.4f}" if loss is not None else "loss=n/a", f"time={seconds:.3f}s",
             _percent("CPU", cpu_used), _percent("RAM", ram_used)]
    if vram_bytes is not None:
        parts.append(f"VRAM={vram_bytes / MB:.0f}MB")
    return " | ".join(parts)


def first_epoch(epoch):
    return f"✓ Epoch {epoch} complete - baselines set"


def epoch_summary(epoch, loss, trend, vram_delta_bytes=None):
    lines = ["", RULE, f"Epoch {epoch} Summary:"]
    if loss is not None:
        lines.append(f"   Loss (avg): {loss:.4f}" + (f" [{trend}]" if trend else ""))
    if vram_delta_bytes is not None:
        lines.append(f"   VRAM delta: {vram_delta_bytes / MB:+.1f}MB")
    return "\n".join([*lines, RULE])


def below_summary(verdict, ram_delta_bytes=None):
    lines = []
    if ram_delta_bytes is not None:
        lines.append(f"   RAM delta: {ram_delta_bytes / MB:+.1f}MB")
    return "\n".join([*lines, verdict_line(verdict)])


def verdict_line(verdict):
    return f"   verdict: {verdict.summary}"


def negligible(step, verdict):
    """A leak that is not worth a warning."""
    return f"   Step {step}: {verdict.summary}"


def warning(text):
    return f"⚠️  WARNING: {text}"
