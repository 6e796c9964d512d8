#!/usr/bin/env python3
"""Score leak verdicts against a corpus written by gen_corpus.py.

  python3 score.py corpus.jsonl pred.jsonl [pred2.jsonl ...] [--families] [--json out.json]

A prediction line: {"id": ..., "verdict": leak, no_leak or inconclusive, "rate": MB per unit,
"onset": position, "alarm_t": first position at which a causal run said leak, "eta": units,
"conf": 0 to 1}; null is not known. alarm_t has to come from a causal (prefix by prefix) run; it is
what the delay and the 'ever' false alarms use.
"""

import argparse
import collections
import json
import math


def med(x, q=0.5):
    if not x:
        return None
    x = sorted(x)
    return x[min(len(x) - 1, int(q * len(x)))]


def load(p):
    with open(p) as f:
        return [json.loads(l) for l in f if l.strip()]


HOST = {
    "rss",
    "host_anon",
    "children_pss",
    "children_private",
    "children_anon",
    "devshm",
    "log_rounded",
}


def judged(d):
    """A leak of less than 1 MB in all in a host counter is what clean jobs creep: not scored."""
    return not (
        d["label"] == "leak"
        and d["kind"] in HOST
        and d.get("rate")
        and d["rate"] * (d["t"][-1] - d["onset"]) < 1.0
    )


def score(corpus, preds):
    corpus = [d for d in corpus if judged(d)]
    P = {p["id"]: p for p in preds}
    c = collections.Counter()
    fam = collections.OrderedDict()
    dif = collections.defaultdict(collections.Counter)
    rerr, oerr, delay, eerr = [], [], [], []
    for d in corpus:
        p = P.get(d["id"], {"verdict": "inconclusive"})
        v, lab = p["verdict"], d["label"]
        c[lab, v] += 1
        dif[d["difficulty"]][lab, v] += 1
        f = fam.setdefault(d["family"], collections.Counter())
        f["label_" + lab] += 1
        f[v] += 1
        at = p.get("alarm_t")
        T = d["t"][-1]
        if lab != "leak":
            if at is not None:
                c["ever", lab] += 1
                f["ever"] += 1
        else:
            if at is not None and at < d["onset"]:
                c["early"] += 1
                f["ever"] += 1
            elif at is not None:
                delay.append((at - d["onset"]) / (d["horizon"] or 150))
            if v == "leak":
                if p.get("rate") and d.get("rate"):
                    rerr.append(abs(p["rate"] - d["rate"]) / d["rate"])
                if p.get("onset") is not None:
                    oerr.append(abs(p["onset"] - d["onset"]) / T)
                if p.get("eta") and p["eta"] > 0 and d.get("eta"):
                    eerr.append(abs(math.log(p["eta"] / d["eta"])))
    N = {
        l: sum(c[l, v] for v in ("leak", "no_leak", "inconclusive"))
        for l in ("leak", "no_leak", "inconclusive")
    }
    tp, fpn, fpi = c["leak", "leak"], c["no_leak", "leak"], c["inconclusive", "leak"]
    pr = tp / (tp + fpn + fpi) if tp + fpn + fpi else float("nan")
    rc = tp / N["leak"] if N["leak"] else float("nan")
    r = collections.OrderedDict(
        n=len(corpus),
        precision=pr,
        recall=rc,
        f1=2 * pr * rc / (pr + rc) if pr + rc > 0 else 0.0,
        fa_no_leak=fpn / max(1, N["no_leak"]),
        fa_inconclusive=fpi / max(1, N["inconclusive"]),
        ever_fa_no_leak=c["ever", "no_leak"] / max(1, N["no_leak"]),
        ever_fa_inconclusive=c["ever", "inconclusive"] / max(1, N["inconclusive"]),
        early_alarm=c["early"] / max(1, N["leak"]),
        acc3=sum(c[l, l] for l in N) / max(1, len(corpus)),
        no_leak_resolved=c["no_leak", "no_leak"] / max(1, N["no_leak"]),
        leak_called_no_leak=c["leak", "no_leak"] / max(1, N["leak"]),
        rate_err_median=med(rerr),
        rate_err_p90=med(rerr, 0.9),
        rate_within_20pct=sum(e <= 0.2 for e in rerr) / len(rerr) if rerr else None,
        onset_err_median=med(oerr),
        delay_median_h=med(delay),
        delay_p90_h=med(delay, 0.9),
        eta_factor_median=math.exp(med(eerr)) if eerr else None,
    )
    byd = {}
    for k, x in dif.items():
        nl = sum(v for (l, _), v in x.items() if l == "no_leak")
        lk = sum(v for (l, _), v in x.items() if l == "leak")
        byd[k] = dict(recall=x["leak", "leak"] / max(1, lk), fa=x["no_leak", "leak"] / max(1, nl))
    return r, fam, byd


def fmt(x, k=3):
    return "-" if x is None else ("%.*f" % (k, x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("corpus")
    ap.add_argument("preds", nargs="+")
    ap.add_argument("--families", action="store_true")
    ap.add_argument("--json")
    a = ap.parse_args()
    C = load(a.corpus)
    cols = [
        "precision",
        "recall",
        "f1",
        "fa_no_leak",
        "ever_fa_no_leak",
        "fa_inconclusive",
        "ever_fa_inconclusive",
        "early_alarm",
        "acc3",
        "rate_err_median",
        "rate_within_20pct",
        "onset_err_median",
        "delay_median_h",
        "delay_p90_h",
    ]
    head = [
        "prec",
        "rec",
        "F1",
        "FA",
        "FAever",
        "FAinc",
        "FAincEv",
        "early",
        "acc3",
        "rateErr",
        "r<20%",
        "onsErr",
        "delay",
        "dly90",
    ]
    print("%-20s" % "detector", " ".join("%7s" % h for h in head), "  recall easy/med/hard")
    out = {}
    for p in a.preds:
        r, fam, byd = score(C, load(p))
        name = p.split("/")[-1].replace(".jsonl", "").replace("pred_", "")
        out[name] = dict(total=r, difficulty=byd, family={k: dict(v) for k, v in fam.items()})
        print(
            "%-20s" % name,
            " ".join("%7s" % fmt(r[k]) for k in cols),
            "  "
            + "/".join("%.2f" % byd[k]["recall"] for k in ("easy", "medium", "hard") if k in byd),
        )
        if a.families:
            for k, v in fam.items():
                lab = next(x[6:] for x in v if x.startswith("label_"))
                n = v["label_" + lab]
                print(
                    "    %-28s %-13s leak %5.2f  no_leak %5.2f  inconcl %5.2f  ever %5.2f"
                    % (
                        k,
                        lab,
                        v["leak"] / n,
                        v["no_leak"] / n,
                        v["inconclusive"] / n,
                        v["ever"] / n,
                    )
                )
    if a.json:
        json.dump(out, open(a.json, "w"), indent=1)


if __name__ == "__main__":
    main()
