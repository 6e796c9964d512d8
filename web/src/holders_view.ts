/* holders_view.ts: who keeps the memory, and which lines allocate it. */

import { h, prose, type Child } from "./dom";
import type { Finding, Run, Site } from "./document";
import { chip } from "./icons";
import { rebuild } from "./table";
import { bytes, count, percent } from "./units";

function place(
    file: string | undefined,
    line: number | undefined,
    where: string | undefined,
): Child {
    return file
        ? h("code.place", {}, `${file}${line ? `:${line}` : ""}`)
        : where
          ? h("code.place", {}, where)
          : null;
}

function meter(low: number, high: number, label: string): HTMLElement {
    const sure = h("i.sure"),
        maybe = h("i.possible");
    sure.style.width = `${Math.max(0, Math.min(1, low)) * 100}%`;
    maybe.style.width = `${Math.max(0, Math.min(1, high)) * 100}%`;
    return h("span.meter", { role: "img", "aria-label": label, title: label }, maybe, sure);
}

function shares(low: number | undefined, high: number | undefined): string {
    if (low === undefined) return "";
    return high !== undefined && high - low > 0.005
        ? `${percent(low).replace(" %", "")} to ${percent(high)} of the growth`
        : `${percent(low)} of the growth`;
}

function finding(f: Finding, i: number, word: string): HTMLElement {
    const rate =
        f.bytes_per_step !== undefined
            ? `${bytes(f.bytes_per_step)}/step`
            : f.bytes_per_second !== undefined
              ? `${bytes(f.bytes_per_second)}/s`
              : "";
    return h(
        "article.card",
        {},
        h(
            "div.card-head",
            {},
            h("span.tag", {}, word),
            h("h3", {}, h("code", {}, f.name ?? f.holder ?? f.what ?? "?")),
            h("span.number", {}, rate),
        ),
        h(
            "p",
            {},
            place(f.file, f.line, f.where),
            f.where && f.file ? h("span.more", {}, f.where) : null,
        ),
        f.gain ? h("p", {}, f.gain) : null,
        (f.fix ?? f.advice)
            ? h(
                  "p.line.next",
                  {},
                  h("span.tag", {}, "Fix"),
                  h("span", {}, prose(f.fix ?? f.advice ?? "")),
              )
            : null,
        f.bound !== undefined
            ? h(
                  "p",
                  {},
                  `Bounded: full at ${count(f.bound)} items${f.full_step !== undefined ? `, at step ${count(f.full_step)}` : ""}.`,
              )
            : null,
        f.allocated
            ? h("p", {}, h("span.more", {}, "allocated at "), h("code", {}, f.allocated))
            : null,
        f.evidence?.length || f.also?.length
            ? h(
                  "details",
                  { "data-key": `finding ${word} ${i}` },
                  h("summary", {}, "Evidence"),
                  h(
                      "ul",
                      {},
                      (f.evidence ?? []).map((e) => h("li", {}, prose(e))),
                      (f.also ?? []).map((a) => h("li", {}, "also: ", prose(a))),
                  ),
              )
            : null,
    );
}

function site(s: Site, i: number): HTMLElement {
    const share = shares(s.share_low, s.share_high);
    const size =
        s.bytes_low !== undefined && s.bytes_high !== undefined
            ? `${bytes(Math.max(0, s.bytes_low))} to ${bytes(s.bytes_high)}`
            : s.bytes !== undefined
              ? bytes(s.bytes)
              : "";
    const calm = s.has_stopped === true || s.verdict === "no_leak";
    return h(
        `article.card${calm ? ".calm" : ""}`,
        {},
        h(
            "div.card-head",
            {},
            h("h3", {}, h("code", {}, s.what ?? s.function ?? "?")),
            calm ? h("span.tag", {}, "stopped growing") : chip(s.verdict),
        ),
        h(
            "p",
            {},
            place(s.file, s.line, s.function),
            s.process ? h("span.more", {}, s.process) : null,
        ),
        s.share_low !== undefined
            ? h(
                  "p.share",
                  {},
                  meter(s.share_low, s.share_high ?? s.share_low, share),
                  h("span", {}, share),
                  h("span.number", {}, "+" + size),
              )
            : h("p", {}, "+" + size),
        s.stack?.length
            ? h(
                  "details",
                  { "data-key": `site ${i}` },
                  h("summary", {}, "Call stack"),
                  h(
                      "ol.stack",
                      {},
                      s.stack.map((f) => h("li", {}, h("code", {}, f))),
                  ),
              )
            : null,
    );
}

export class HoldersView {
    readonly element = h("section.holders", { "aria-label": "Holders" });
    private shown = "";

    update(run: Run): void {
        const a = run.answer ?? {},
            key = JSON.stringify([a.findings, a.caches, a.sites, a.undecided, a.growing_so_far]);
        if (key === this.shown) return;
        this.shown = key;
        const findings = a.findings ?? [],
            caches = a.caches ?? [],
            sites = a.sites ?? [];
        this.element.hidden = findings.length + caches.length + sites.length === 0;
        rebuild(
            this.element,
            findings.length + caches.length
                ? [
                      h(
                          "div.section-head",
                          {},
                          h(
                              "h2",
                              {},
                              findings.length && findings.every((f) => f.kind === "allocation")
                                  ? "What grows"
                                  : "Who keeps it",
                          ),
                          a.growing_so_far
                              ? h("span.kind", {}, "grows so far; nothing is proven to leak yet")
                              : null,
                      ),
                      h(
                          "div.cards",
                          {},
                          findings.map((f, i) => finding(f, i, f.cause ?? "holder")),
                          caches.map((f, i) => finding(f, i, "bounded cache")),
                      ),
                  ]
                : null,
            sites.length
                ? [h("h2", {}, "Which lines allocate it"), h("div.cards", {}, sites.map(site))]
                : null,
            a.undecided?.length
                ? [
                      h("h2", {}, "What is not known"),
                      h(
                          "ul.notes",
                          {},
                          a.undecided.map((u) => h("li", {}, prose(u))),
                      ),
                  ]
                : null,
        );
    }
}
