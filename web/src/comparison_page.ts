/* comparison_page.ts: two runs beside each other, on the same scale. */

import { Clock, type ClockName } from "./clock";
import { clean, h, prose, replace } from "./dom";
import type { Comparison, ComparisonChart, Run, Series } from "./document";
import { FloorLayer, PhaseLayer } from "./layers";
import { phaseRate } from "./main_chart";
import { openingLines, verdictLine } from "./opening";
import { bandPath } from "./paths";
import { Plot, type Frame, type Layer } from "./plot";
import { choice, dataTable, facts, notes, rebuild, table } from "./table";
import { amount, count } from "./units";
import { View, type Span } from "./view";
import { nameOf } from "./document";
import { PHASES } from "./words";
import { s } from "./dom";

class BandLayer implements Layer {
    constructor(private readonly range: NonNullable<ComparisonChart["range"]>) {}

    extent(): Span | null {
        const low = Math.min(...this.range.low),
            high = Math.max(...this.range.high);
        return low <= high ? [low, high] : null;
    }

    draw(group: SVGGElement, f: Frame): void {
        group.setAttribute("clip-path", f.clip);
        group.append(
            s("path", {
                class: "range",
                d: bandPath(f, this.range.seconds, this.range.low, this.range.high),
            }),
        );
    }
}

/* Keeps both charts on one scale. */
class ExtentLayer implements Layer {
    constructor(private readonly span: Span) {}
    extent(): Span {
        return this.span;
    }
    draw(): void {}
}

/* A chart's own pairs of place and second are all that is known of its clock. */
function clockOf(
    chart: ComparisonChart | undefined,
    series: Series | undefined,
    timed: boolean | undefined,
): Clock {
    const floor = chart?.floor,
        run: Run = { page: "run" };
    if (series?.clock === "step" && floor?.at)
        run.steps = { seconds: floor.seconds, step: floor.at };
    if (timed !== undefined) run.timed = timed;
    return new Clock(run);
}

export class ComparisonPage {
    readonly element = h("div.comparison-page");
    private readonly view = new View();

    update(doc: Comparison): void {
        const c = doc.comparison ?? {},
            both: (Series | undefined)[] = [c.a, c.b];
        const title =
            (doc.names ?? []).map((n) => n.split("/").pop()).join(" and ") || "Comparison";
        document.title = clean(`${title} - tidemark`);
        const charts = [0, 1].map((i) => this.chart(doc, i, both[i]));
        replace(
            this.element,
            h(
                "div.section-head",
                {},
                h("h1", {}, title),
                this.axis(
                    doc,
                    charts.some((x) => x?.clock.hasSteps),
                ),
            ),
            c.summary ? h("p.summary", {}, prose(c.summary)) : null,
            h(
                "div.pair",
                {},
                [0, 1].map((i) => this.side(doc, i, both[i], charts[i]?.plot)),
            ),
            c.differences?.length
                ? h(
                      "section",
                      { "aria-label": "Differences" },
                      h("h2", {}, "What differs"),
                      notes(c.differences),
                  )
                : null,
            this.leaking(doc),
            this.causes(doc),
        );
    }

    private axis(doc: Comparison, steps: boolean): HTMLElement {
        if (!steps) this.view.clock = "s";
        const names: [ClockName, string][] = [
            ["step", "Steps"],
            ["s", "Time"],
        ];
        const { element } = choice(
            "Axis",
            names,
            () => this.view.clock,
            (name) => this.view.setClock(name),
        );
        element.hidden = !steps || doc.timed === false;
        return element;
    }

    private side(
        doc: Comparison,
        i: number,
        series: Series | undefined,
        plot: Plot | undefined,
    ): HTMLElement {
        const job = i ? doc.comparison?.jobs?.b : doc.comparison?.jobs?.a,
            letter = "AB"[i];
        return h(
            "section.picture",
            { "aria-label": `Run ${letter}` },
            h("p.command", {}, h("span.tag", {}, letter), doc.names?.[i] ?? ""),
            verdictLine(doc.opening?.[i], job?.verdict ?? series?.verdict, "h2"),
            h("div", {}, openingLines(doc.opening?.[i])),
            h("p.kind", {}, series ? nameOf(series).split("/").pop() : ""),
            plot?.element ?? h("p.note", {}, "Nothing was judged."),
            this.facts(doc, i),
            this.behind(i, series, doc.charts?.[i]),
        );
    }

    private facts(doc: Comparison, i: number): HTMLElement {
        const t = doc.texts?.[i] ?? {};
        return facts([
            ["Growth", t.rate],
            ["Since", t.since],
            ["Floor", t.floor],
            ["Limit", t.limit],
            ["Spikes", t.spikes],
        ]);
    }

    private chart(
        doc: Comparison,
        i: number,
        series: Series | undefined,
    ): { plot: Plot; clock: Clock } | null {
        const chart = doc.charts?.[i],
            clock = clockOf(chart, series, doc.timed);
        if (!chart?.floor?.seconds?.length) return null;
        const view = new View();
        const plot = new Plot(view, clock, {
            label: `Run ${"AB"[i]}: ${series ? nameOf(series) : "memory"}`,
            help: "Arrow keys move the cursor. Plus and minus zoom. 0 shows all.",
            unit: () => series?.unit ?? "bytes",
            headroom: () => 56,
            height: (w) => Math.max(220, Math.min(360, w * 0.5)),
        });
        this.view.subscribe(() => view.setClock(this.view.clock));
        const levels = (doc.charts ?? []).flatMap((k) => [
            ...(k.floor?.value ?? []),
            ...(k.range?.high ?? []),
            ...(k.range?.low ?? []),
        ]);
        const at = (x: number) => (series?.clock === "step" ? clock.seconds("step", x) : x);
        const stretches = (series?.phases ?? []).map((p) => ({
            from: at(p.from),
            to: at(p.to),
            name: p.name,
            text: series ? phaseRate(series, p, doc.texts?.[i]) : "",
            className:
                PHASES[p.name] === "growing" && series?.verdict !== "leak"
                    ? "rising"
                    : (PHASES[p.name] ?? "other"),
        }));
        const seconds = [...chart.floor.seconds, ...(chart.range?.seconds ?? [])];
        plot.domain = [Math.min(...seconds), Math.max(...seconds, Math.min(...seconds) + 1e-3)];
        plot.layers = [
            new ExtentLayer([Math.min(...levels), Math.max(...levels)]),
            new PhaseLayer(stretches),
            ...(chart.range ? [new BandLayer(chart.range)] : []),
            new FloorLayer(chart.floor, stretches, series?.unit),
        ];
        plot.redraw();
        return { plot, clock };
    }

    private behind(
        i: number,
        series: Series | undefined,
        chart: ComparisonChart | undefined,
    ): HTMLElement | null {
        const floor = chart?.floor;
        return floor
            ? dataTable(`floor ${i}`, () =>
                  table(
                      `Floor of run ${"AB"[i]}`,
                      ["#Second", series?.clock === "step" ? "#Step" : "#Place", "#Floor"],
                      floor.seconds.map((t, k) => [
                          count(t, 2),
                          count(floor.at?.[k] ?? t),
                          amount(floor.value[k] ?? 0, series?.unit),
                      ]),
                  ),
              )
            : null;
    }

    private leaking(doc: Comparison): HTMLElement | null {
        const rows = doc.comparison?.leaking ?? [];
        if (!rows.length) return null;
        const rate = (v: number | undefined, unit?: string, clock?: string) =>
            v === undefined ? "" : `${amount(v, unit)}/${clock === "step" ? "step" : "s"}`;
        return h(
            "section",
            { "aria-label": "Series that leak" },
            h("h2", {}, "Series that leak"),
            table(
                "Series that leak",
                ["Series", "In", "#Rate in A", "#Rate in B"],
                rows.map((r) => [
                    r.name ?? `${r.role ?? ""} ${r.kind ?? ""} ${r.device ?? ""}`.trim(),
                    r.in === "both" ? "both" : (r.in ?? "").toUpperCase(),
                    rate(r.rate_a, r.unit, r.clock),
                    rate(r.rate_b, r.unit, r.clock),
                ]),
            ),
        );
    }

    private causes(doc: Comparison): HTMLElement | null {
        const rows = doc.comparison?.causes ?? [],
            section = h("section", { "aria-label": "Causes" });
        if (!rows.length) return null;
        rebuild(
            section,
            h("h2", {}, "Causes"),
            h(
                "ul.notes",
                {},
                rows.map((r) =>
                    h(
                        "li",
                        {},
                        h("b", {}, r.in === "both" ? "both" : (r.in ?? "").toUpperCase()),
                        " ",
                        prose((r.a ?? r.b)?.sentence ?? (r.a ?? r.b)?.holder ?? ""),
                    ),
                ),
            ),
        );
        return section;
    }
}
