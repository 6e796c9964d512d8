/* tree_view.ts: the memory of the whole tree as a stack that adds up, by role, process or kind. */

import type { Clock } from "./clock";
import { h, replace, s } from "./dom";
import type { Run } from "./document";
import { bandPath } from "./paths";
import { Plot, type Frame, type Layer, type Reading } from "./plot";
import { lowerBound } from "./pyramid";
import { textSize, textWidth } from "./scale";
import { choice, dataTable, rebuild, table } from "./table";
import { bytes, count } from "./units";
import type { Span, View } from "./view";
import { kindWords } from "./words";

type Grouping = "role" | "process" | "kind";
interface Part {
    key: string;
    label: string;
    values: number[];
    color: number;
}

const MOST = 10;
const COLORS = 10;

function most(values: readonly number[]): number {
    return values.reduce((high, v) => Math.max(high, v), 0);
}

/* What it takes now; of what has ended, what it took at most. */
function level(values: readonly number[]): string {
    const last = values[values.length - 1] ?? 0;
    return last > 0 ? bytes(last) : `up to ${bytes(most(values))}`;
}

class StackLayer implements Layer {
    private readonly tops: number[][] = [];

    constructor(
        private readonly seconds: readonly number[],
        private readonly parts: readonly Part[],
    ) {
        let below = seconds.map(() => 0);
        for (const part of parts) {
            below = below.map((b, i) => b + Math.max(0, part.values[i] ?? 0));
            this.tops.push(below);
        }
    }

    extent(span: Span): Span | null {
        const top = this.tops[this.tops.length - 1];
        let high = 0;
        this.seconds.forEach((t, i) => {
            if (t >= span[0] && t <= span[1]) high = Math.max(high, top?.[i] ?? 0);
        });
        return [0, high || 1];
    }

    draw(group: SVGGElement, f: Frame): void {
        group.setAttribute("clip-path", f.clip);
        let below = this.seconds.map(() => 0);
        this.parts.forEach((part, n) => {
            const top = this.tops[n] as number[];
            group.append(
                s("path", {
                    class: `area c${part.color}`,
                    d: bandPath(f, this.seconds, below, top),
                }),
            );
            below = top;
        });
        this.labels(group, f);
    }

    /* The name of a part in it, where it is widest, if it is tall enough. */
    private labels(group: SVGGElement, f: Frame): void {
        this.parts.forEach((part, n) => {
            const top = this.tops[n] as number[],
                under = n ? (this.tops[n - 1] as number[]) : null;
            const half = textWidth(part.label, textSize(), true) / 2 + 8;
            for (const share of [0.5, 0.7, 0.3, 0.85, 0.15]) {
                const at = f.span[0] + share * (f.span[1] - f.span[0]),
                    x = f.x(at);
                const ys = [
                    at,
                    at + 0.03 * (f.span[1] - f.span[0]),
                    at - 0.03 * (f.span[1] - f.span[0]),
                ].map((t) => {
                    const i = Math.max(
                        0,
                        Math.min(this.seconds.length - 1, lowerBound(this.seconds, t)),
                    );
                    return [f.y(under?.[i] ?? 0), f.y(top[i] ?? 0)] as const;
                });
                const foot = Math.min(...ys.map((y) => y[0])),
                    head = Math.max(...ys.map((y) => y[1]));
                if (
                    foot - head < 1.6 * textSize() ||
                    x - half < f.left ||
                    x + half > f.left + f.width
                )
                    continue;
                group.append(
                    s(
                        "text",
                        {
                            class: "area-name",
                            x,
                            y: (foot + head) / 2 + 4,
                            "text-anchor": "middle",
                        },
                        part.label,
                    ),
                );
                return;
            }
        });
    }

    at(seconds: number): Reading[] {
        const i = Math.max(0, Math.min(this.seconds.length - 1, lowerBound(this.seconds, seconds)));
        const sum = this.tops[this.tops.length - 1]?.[i] ?? 0;
        const rows = this.parts
            .map((p) => ({
                label: p.label,
                value: bytes(p.values[i] ?? 0),
                className: `c${p.color}`,
            }))
            .reverse();
        return [{ label: "together", value: bytes(sum) }, ...rows.slice(0, 12)];
    }
}

function added(rows: readonly { bytes: number[] }[], length: number): number[] {
    const sum = new Array<number>(length).fill(0);
    for (const row of rows)
        for (let i = 0; i < length; i++) sum[i] = (sum[i] as number) + (row.bytes[i] ?? 0);
    return sum;
}

export class TreeView {
    readonly element = h("section.tree", { "aria-label": "The tree" });
    private readonly plot: Plot;
    private readonly legend = h("ul.legend.filter");
    private readonly note = h("p.note");
    private readonly behind = h("div");
    private grouping: Grouping = "process";
    private readonly hidden = new Set<string>();
    private run: Run | null = null;

    constructor(
        private readonly view: View,
        clock: Clock,
    ) {
        this.plot = new Plot(view, clock, {
            label: "Memory of the job, stacked",
            help: "Arrow keys move the cursor and read values. Shift and arrow keys pan. Plus and minus zoom. 0 shows all.",
            unit: () => "bytes",
            fromZero: true,
            height: (width) => Math.max(200, Math.min(340, width * 0.3)),
        });
        const grouping = choice<Grouping>(
            "Stack by",
            [
                ["role", "Role"],
                ["process", "Process"],
                ["kind", "Kind"],
            ],
            () => this.grouping,
            (g) => {
                this.grouping = g;
                this.hidden.clear();
                this.show();
            },
        );
        view.subscribe(() => this.setDomain());
        replace(
            this.element,
            h("div.section-head", {}, h("h2", {}, "What the job takes"), grouping.element),
            this.note,
            this.plot.element,
            this.legend,
            this.behind,
        );
    }

    update(run: Run, clock: Clock): void {
        this.run = run;
        this.plot.clock = clock;
        this.element.hidden = !(run.tree && (run.tree.seconds?.length ?? 0) > 1);
        if (!this.element.hidden) this.show();
    }

    private parts(): Part[] {
        const tree = this.run?.tree,
            length = tree?.seconds.length ?? 0;
        let parts: { key: string; label: string; values: number[] }[];
        if (this.grouping === "kind")
            parts = (tree?.kinds ?? []).map((k) => ({
                key: k.label,
                label: k.label,
                values: k.bytes,
            }));
        else if (this.grouping === "process")
            parts = (tree?.rows ?? []).map((r) => ({
                key: r.label,
                label: r.label,
                values: r.bytes,
            }));
        else {
            const roles = new Map<string, { bytes: number[]; processes?: number }[]>();
            for (const row of tree?.rows ?? [])
                roles.set(row.role ?? "other", [...(roles.get(row.role ?? "other") ?? []), row]);
            parts = [...roles].map(([role, rows]) => {
                const many = rows.reduce((n, r) => n + (r.processes ?? 1), 0);
                return {
                    key: role,
                    label: many > 1 ? `${role} × ${count(many)}` : role,
                    values: added(rows, length),
                };
            });
        }
        if (parts.length > MOST) {
            const ranked = [...parts].sort((a, b) => Math.max(...b.values) - Math.max(...a.values));
            const kept = new Set(ranked.slice(0, MOST - 1));
            const rest = parts.filter((p) => !kept.has(p));
            parts = parts.filter((p) => kept.has(p));
            parts.push({
                key: "\u0000others",
                label: `${count(rest.length)} others`,
                values: added(
                    rest.map((r) => ({ bytes: r.values })),
                    length,
                ),
            });
        }
        parts.sort((a, b) => most(b.values) - most(a.values));
        return parts.map((p, i) => ({ ...p, color: i % COLORS }));
    }

    private show(): void {
        const tree = this.run?.tree;
        if (!tree) return;
        const parts = this.parts(),
            shown = parts.filter((p) => !this.hidden.has(p.key));
        this.plot.layers = [new StackLayer(tree.seconds, shown)];
        const seconds = tree.seconds;
        this.setDomain();
        this.note.textContent =
            this.grouping === "kind"
                ? "What all processes map, by kind. A page that several processes map counts for each of them."
                : tree.kind === "host.pss"
                  ? "Each process with its share (PSS): shared pages are divided among the processes that map them, so the stack is what the job takes."
                  : `Each process by ${tree.kind ?? "memory"} (${kindWords(tree.kind) || "as recorded"}).`;
        rebuild(
            this.legend,
            parts.map((p) =>
                h(
                    "li",
                    {},
                    h(
                        "button.legend-key",
                        {
                            type: "button",
                            "data-key": "tree " + p.key,
                            "aria-pressed": String(!this.hidden.has(p.key)),
                            click: () => {
                                if (!this.hidden.delete(p.key)) this.hidden.add(p.key);
                                this.show();
                            },
                        },
                        h(`i.key.c${p.color}`),
                        h("span", {}, p.label),
                        h("span.number", {}, level(p.values)),
                    ),
                ),
            ),
        );
        rebuild(
            this.behind,
            dataTable("tree-table", () =>
                table(
                    "Memory over time",
                    ["#Second", ...parts.map((p) => "#" + p.label)],
                    seconds.map((t, i) => [
                        count(t, 2),
                        ...parts.map((p) => bytes(p.values[i] ?? 0)),
                    ]),
                ),
            ),
        );
        this.plot.redraw();
    }

    private setDomain(): void {
        const seconds = this.run?.tree?.seconds ?? [];
        this.plot.domain = this.plot.clock.domain(
            this.view.clock,
            seconds[0] ?? 0,
            seconds[seconds.length - 1] ?? 1,
        );
    }

    draw(wide?: number): void {
        this.plot.draw(wide);
    }
}
