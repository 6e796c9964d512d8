/* ledger_view.ts: what the growth is made of, as a waterfall from the start of the window to its end.
 * A part has an interval: its low end is certain and stands solid, one after the other; from there to
 * its high end it is hatched. What no part has for certain is the last step. */

import { h, prose, type Child } from "./dom";
import type { Finding, Interval, Part, Run, Site, Why } from "./document";
import { chip } from "./icons";
import { dataTable, facts, rebuild, table } from "./table";
import { amount, duration } from "./units";
import { fate } from "./words";

const COUNTED = /(^|\.| )(fds|threads|processes|py\.objects|tensors)\b(?! bytes)/;

export function interval(i: Interval | undefined, unit: string | undefined): string {
    const low = i?.low,
        high = i?.high;
    if (low === undefined && high === undefined) return "not measured";
    if (high === undefined) return `at least ${amount(low ?? 0, unit)}`;
    if (low === undefined || low === 0)
        return high === 0 ? amount(0, unit) : `at most ${amount(high, unit)}`;
    return Math.abs(high - low) < 0.01 * Math.abs(high)
        ? amount(high, unit)
        : `${amount(low, unit)} to ${amount(high, unit)}`;
}

function box(className: string, from: number, to: number): HTMLElement {
    const element = h(`i.${className}`);
    const left = Math.max(0, Math.min(100, from)),
        right = Math.max(left, Math.min(100, to));
    element.style.left = `${left}%`;
    element.style.width = `${right - left}%`;
    return element;
}

function findingOf(run: Run, what: string): Finding | undefined {
    return [...(run.answer?.findings ?? []), ...(run.answer?.caches ?? [])].find(
        (f) => f.holder !== undefined && what.startsWith(f.holder),
    );
}

function siteOf(run: Run, what: string): Site | undefined {
    const place = /allocated at (\S+:\d+)/.exec(what)?.[1];
    return place ? (run.answer?.sites ?? []).find((s) => s.what?.startsWith(place)) : undefined;
}

function evidence(run: Run, part: Part, unit: string | undefined): Child[] {
    const what = part.what ?? "",
        kind = fate(part.fate),
        finding = findingOf(run, what),
        site = siteOf(run, what);
    const still = part.to_come?.high ? interval(part.to_come, unit) : undefined;
    return [
        h("p", {}, kind.meaning),
        facts([
            ["Still to come", still],
            ["Fix", finding?.advice ? prose(finding.advice) : undefined],
            ["Where", finding?.where],
            ["Allocated", finding?.allocated],
        ]),
        finding?.evidence?.length
            ? h(
                  "ul",
                  {},
                  finding.evidence.map((e) => h("li", {}, prose(e))),
              )
            : null,
        site
            ? [
                  h("p", {}, prose(site.sentence ?? site.what ?? "")),
                  h(
                      "ol.stack",
                      {},
                      (site.stack ?? []).map((f) => h("li", {}, h("code", {}, f))),
                  ),
              ]
            : null,
        part.fate === "unknown" && run.answer?.undecided?.length
            ? h(
                  "ul",
                  {},
                  run.answer.undecided.map((u) => h("li", {}, prose(u))),
              )
            : null,
    ];
}

export class LedgerView {
    readonly element = h("section.ledger", { "aria-label": "The ledger" });
    private chosen = "";
    private shown = "";
    private run: Run | null = null;

    update(run: Run, series: string): void {
        const key = JSON.stringify([
            run.whys,
            run.answer?.findings,
            run.answer?.sites?.length,
            run.deciding,
            series,
        ]);
        if (key === this.shown) return;
        this.shown = key;
        this.run = run;
        const whys = (run.whys ?? []).filter((w) => w.ledger);
        this.element.hidden = whys.length === 0;
        if (whys.some((w) => w.series === series)) this.chosen = series;
        if (!whys.some((w) => w.series === this.chosen))
            this.chosen =
                [...whys]
                    .sort((a, b) => (b.ledger?.growth ?? 0) - (a.ledger?.growth ?? 0))
                    .find((w) => w.verdict === run.answer?.verdict)?.series ??
                whys[0]?.series ??
                "";
        this.show();
    }

    private show(): void {
        const run = this.run,
            whys = (run?.whys ?? []).filter((w) => w.ledger);
        const why = whys.find((w) => w.series === this.chosen);
        if (!run || !why) return rebuild(this.element);
        const select = h(
            "select",
            {
                "aria-label": "Ledger of",
                "data-key": "ledger-of",
                change: () => {
                    this.chosen = select.value;
                    this.show();
                },
            },
            whys.map((w) =>
                h("option", { value: w.series ?? "", selected: w === why }, w.series ?? "?"),
            ),
        );
        rebuild(
            this.element,
            h(
                "div.section-head",
                {},
                h("h2", {}, "What the growth is made of"),
                whys.length > 1 ? select : h("span.kind", {}, why.series),
                chip(why.ledger?.verdict ?? why.verdict),
            ),
            this.waterfall(run, why),
        );
    }

    private waterfall(run: Run, why: Why): Child[] {
        const ledger = why.ledger ?? {},
            unit =
                COUNTED.test(why.series ?? "") && !/tensors/.test(why.series ?? "")
                    ? "count"
                    : "bytes";
        const growth = Math.max(0, ledger.growth ?? 0),
            parts = ledger.parts ?? [];
        if (growth <= 0)
            return [
                h(
                    "p.note",
                    {},
                    "It did not grow in the window that the ledger compares. There is nothing to explain.",
                ),
            ];
        let sum = 0;
        const rows = parts.map((part, i) => {
            const from = sum;
            sum += Math.min(part.bytes?.low ?? 0, Math.max(0, growth - sum));
            return this.part(run, part, i, unit, { from, sure: sum, growth });
        });
        const span =
            ledger.from !== undefined && ledger.to !== undefined
                ? ` between ${duration(ledger.from)} and ${duration(ledger.to)} of the run`
                : " in the window that the ledger compares";
        return [
            h(
                "p.note",
                {},
                `${amount(growth, unit)} of growth${span}. Solid: certainly this part. Hatched: up to this much.`,
            ),
            h(
                "div.waterfall",
                {},
                plainRow(
                    "total",
                    "Growth from start to end",
                    box("sure", 0, 100),
                    amount(growth, unit),
                ),
                rows,
                growth - sum > growth * 0.005
                    ? plainRow(
                          "rest",
                          "Not settled between these parts",
                          box("open", (100 * sum) / growth, 100),
                          amount(growth - sum, unit),
                      )
                    : null,
            ),
            ledger.endless && why.verdict !== "no_leak"
                ? h(
                      "p.sum",
                      {},
                      "Endless: ",
                      h("b", {}, interval(ledger.endless, unit)),
                      ` of ${amount(growth, unit)}`,
                  )
                : null,
            dataTable("ledger-table", () => partsTable(parts, unit)),
        ];
    }

    /* Solid from what the parts before it have for certain; hatched up to its high end. */
    private part(run: Run, part: Part, i: number, unit: string, place: Place): HTMLElement {
        const { from, sure, growth } = place,
            kind = fate(part.fate),
            share = (value: number) => (100 * value) / growth;
        const high = Math.min(from + (part.bytes?.high ?? growth), growth);
        return h(
            `details.part.${kind.className}`,
            { "data-key": `part ${i} ${part.what ?? ""}` },
            h(
                "summary",
                {},
                h(
                    "span.what",
                    {},
                    h(`span.fate.${kind.className}`, {}, kind.label),
                    h("span", {}, part.what ?? ""),
                ),
                h(
                    "span.bar",
                    { "aria-hidden": "true" },
                    box("possible", share(from), share(high)),
                    box("sure", share(from), share(sure)),
                ),
                h("span.number", {}, interval(part.bytes, unit)),
            ),
            h("div.evidence", {}, evidence(run, part, unit)),
        );
    }
}

interface Place {
    from: number;
    sure: number;
    growth: number;
}

function plainRow(
    kind: "total" | "rest",
    name: string,
    bar: HTMLElement,
    size: string,
): HTMLElement {
    return h(
        `div.part.${kind}`,
        {},
        h("span.what", {}, name),
        h("span.bar", { "aria-hidden": "true" }, bar),
        h("span.number", {}, size),
    );
}

function partsTable(parts: readonly Part[], unit: string): HTMLElement {
    const high = (p: Part) =>
        p.bytes?.high === undefined ? "not measured" : amount(p.bytes.high, unit);
    return table(
        "Parts of the growth",
        ["Part", "Fate", "#At least", "#At most", "#To come"],
        parts.map((p) => [
            p.what ?? "",
            fate(p.fate).label,
            amount(p.bytes?.low ?? 0, unit),
            high(p),
            p.to_come?.high ? interval(p.to_come, unit) : "",
        ]),
    );
}
