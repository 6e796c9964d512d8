/* series_list.ts: every series with its verdict and a small picture; one is shown large. */

import { h, replace, s, type Child } from "./dom";
import { nameOf, seriesOf, withoutInterval, type Curve, type Run, type Series } from "./document";
import { chip } from "./icons";
import { Pyramid } from "./pyramid";
import { rebuild } from "./table";
import { amount, count } from "./units";
import { kindWords } from "./words";

const AT_FIRST = 8;
const RANK = { leak: 0, inconclusive: 1, no_leak: 2 } as const;

interface Row {
    key: string;
    name: string;
    series: Series | null;
    index: number;
    curve: Curve | null;
}

function spark(points: readonly (readonly [number, number])[], className: string): SVGSVGElement {
    const picture = s("svg", {
        class: "spark " + className,
        viewBox: "0 0 100 24",
        preserveAspectRatio: "none",
        "aria-hidden": "true",
        focusable: "false",
    });
    const xs = points.map((p) => p[0]),
        ys = points.map((p) => p[1]);
    const left = Math.min(...xs),
        right = Math.max(...xs),
        low = Math.min(...ys),
        high = Math.max(...ys);
    if (points.length < 2 || !(right > left)) return picture;
    const tall = Math.max(high - low, Math.abs(high) * 0.04, 1e-9),
        foot = (low + high - tall) / 2;
    const d = points
        .map(
            ([x, y]) =>
                `${(((x - left) / (right - left)) * 100).toFixed(1)} ${(22 - ((y - foot) / tall) * 20).toFixed(1)}`,
        )
        .join("L");
    picture.append(s("path", { d: "M" + d, "vector-effect": "non-scaling-stroke" }));
    return picture;
}

function thinned(t: ArrayLike<number>, v: ArrayLike<number>): [number, number][] {
    const step = Math.max(1, Math.floor(t.length / 60)),
        out: [number, number][] = [];
    for (let i = 0; i < t.length; i += step) out.push([t[i] as number, v[i] as number]);
    if (t.length) out.push([t[t.length - 1] as number, v[v.length - 1] as number]);
    return out;
}

export class SeriesList {
    readonly element = h("section.series", { "aria-label": "Series" });
    private readonly filter = h("input", {
        type: "search",
        placeholder: "Filter",
        "aria-label": "Filter series",
        "data-key": "series-filter",
        input: () => this.show(),
    });
    private readonly list = h("ul.rows");
    private readonly heading = h("h2", {}, "Every series");
    private readonly recorded = h("input", {
        type: "checkbox",
        id: "recorded",
        change: () => this.show(),
    });
    private all = false;
    private run: Run | null = null;
    private shown = "";

    constructor(
        private readonly chosen: () => string,
        private readonly choose: (key: string) => void,
    ) {
        replace(
            this.element,
            h(
                "div.section-head",
                {},
                this.heading,
                h("label.check", { for: "recorded" }, this.recorded, "recorded, not judged"),
                this.filter,
            ),
            this.list,
        );
    }

    update(run: Run): void {
        this.run = run;
        this.show();
    }

    private rows(run: Run): Row[] {
        const curves = new Map((run.curves ?? []).map((c) => [c.id, c]));
        const judged = seriesOf(run).map(
            (series, index): Row => ({
                key: nameOf(series),
                name: nameOf(series),
                series,
                index,
                curve: curves.get(run.charts?.[index]?.id ?? NaN) ?? null,
            }),
        );
        const rank = (r: Row) =>
            (r.series ? (RANK[r.series.verdict] ?? 3) : 4) - (r.index === run.deciding ? 0.5 : 0);
        judged.sort((a, b) => rank(a) - rank(b));
        if (!this.recorded.checked) return judged;
        const used = new Set(judged.map((r) => r.curve?.id));
        return judged.concat(
            (run.curves ?? [])
                .filter((c) => !used.has(c.id))
                .map(
                    (curve): Row => ({
                        key: "curve " + curve.id,
                        name: curve.name ?? curve.kind ?? String(curve.id),
                        series: null,
                        index: -1,
                        curve,
                    }),
                ),
        );
    }

    private show(): void {
        const run = this.run;
        if (!run) return;
        const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        const rows = this.rows(run).filter((r) =>
            words.every((w) =>
                `${r.name} ${kindWords(r.series?.kind ?? r.curve?.kind)} ${r.series?.verdict.replace("_", " ") ?? ""}`
                    .toLowerCase()
                    .includes(w),
            ),
        );
        const visible = this.all || words.length ? rows.slice(0, 400) : rows.slice(0, AT_FIRST);
        const key = JSON.stringify([
            this.chosen(),
            rows.length,
            visible.map((r) => [
                r.key,
                run.texts?.[r.index],
                r.series?.verdict,
                r.series?.severity,
                r.curve?.samples,
            ]),
        ]);
        if (key === this.shown) return;
        this.shown = key;
        rebuild(
            this.list,
            visible.map((r) => this.row(run, r)),
            this.foot(run, rows.length, rows.length - visible.length, words.length > 0),
        );
    }

    private foot(run: Run, found: number, hidden: number, filtered: boolean): Child {
        if (!found)
            return h(
                "li.empty",
                {},
                filtered ? "No series of that name." : "Nothing was judged yet.",
            );
        if (!hidden)
            return run.more_series
                ? h(
                      "li.more-rows",
                      {},
                      `${count(run.more_series)} more series are in the run file, none of which matters more than these.`,
                  )
                : null;
        const click = () => {
            this.all = true;
            this.show();
        };
        return h(
            "li.more-rows",
            {},
            h(
                "button.plain",
                { type: "button", "data-key": "all-series", click },
                `Show ${hidden} more`,
            ),
        );
    }

    private row(run: Run, r: Row): HTMLElement {
        const texts = run.texts?.[r.index] ?? {},
            floor = run.charts?.[r.index]?.floor;
        const points = floor?.seconds?.length
            ? thinned(floor.seconds, floor.value)
            : r.curve
              ? this.ofCurve(r.curve)
              : [];
        const rate = withoutInterval(texts.rate ?? "");
        const last = points[points.length - 1]?.[1];
        const level = texts.floor ?? (last === undefined ? "" : amount(last, r.curve?.unit));
        return h(
            "li",
            {},
            h(
                "button.row",
                {
                    type: "button",
                    "data-key": "series " + r.key,
                    "aria-pressed": String(this.chosen() === r.key),
                    click: () => {
                        this.choose(r.key);
                        this.show();
                    },
                },
                r.series
                    ? chip(r.series.verdict, r.series.severity)
                    : h("span.chip.none", {}, "recorded"),
                h(
                    "span.name",
                    {},
                    r.name,
                    h("span.more", {}, kindWords(r.series?.kind ?? r.curve?.kind)),
                ),
                spark(points, r.series?.verdict ?? "none"),
                h("span.number.rate", {}, rate),
                h("span.number.level", {}, level),
            ),
        );
    }

    private ofCurve(curve: Curve): [number, number][] {
        const blocks = Pyramid.ofCurve(curve).pick(-Infinity, Infinity, 30);
        return thinned(blocks.t, blocks.low);
    }
}
