/* plot.ts: the frame of a chart over time: axes, zoom, pan, cursor, by mouse, finger and keyboard.
 * What is drawn in it are layers. SVG, so that it follows the theme, prints sharp, and its text is
 * text. */

import { Clock } from "./clock";
import { clean, h, replace, s } from "./dom";
import {
    byteTicks,
    countTicks,
    stepTicks,
    textSize,
    textWidth,
    timeTicks,
    type Tick,
} from "./scale";
import { clockTime, count } from "./units";
import type { Span, View } from "./view";

export interface Frame {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
    readonly span: Span;
    /* What is drawn with this as its clip-path stays inside the axes. */
    readonly clip: string;
    /* Where labels stand already: left, right, top, bottom. */
    readonly taken: (readonly [number, number, number, number])[];
    x(seconds: number): number;
    y(value: number): number;
    /* The moment at a place. */
    seconds(x: number): number;
}

/* What a layer has at a moment. */
export interface Reading {
    label: string;
    value: string;
    className?: string;
    y?: number;
}

export interface Layer {
    /* Lowest and highest value in the span, null if the layer does not care. */
    extent?(span: Span): Span | null;
    draw(group: SVGGElement, frame: Frame): void;
    at?(seconds: number): Reading[];
}

export interface PlotOptions {
    label: string;
    help: string;
    unit: () => string;
    fromZero?: boolean;
    /* Room for labels above the curves and below them, in pixels. */
    headroom?: () => number;
    footroom?: number;
    height: (width: number) => number;
}

let plots = 0;

export class Plot {
    readonly element: HTMLElement;
    layers: readonly Layer[] = [];
    clock: Clock;
    domain: Span = [0, 1];
    private readonly svg = s("svg", { "aria-hidden": "true", focusable: "false" });
    private readonly body = s("g");
    private readonly over = s("g", { class: "over" });
    private readonly tip = h("div.tip", { hidden: true });
    private readonly said = h("p.visually-hidden", { "aria-live": "polite" });
    private readonly id = `plot-clip-${++plots}`;
    private width = 0;
    private cursor: number | null = null;
    private frame: Frame | null = null;
    private pending = 0;

    constructor(
        private readonly view: View,
        clock: Clock,
        private readonly options: PlotOptions,
    ) {
        this.clock = clock;
        const help = this.id + "-help";
        this.svg.append(this.body, this.over);
        this.element = h(
            "div.plot",
            { tabindex: 0, role: "group", "aria-label": options.label, "aria-describedby": help },
            this.svg,
            this.tip,
            this.said,
            h("p.visually-hidden", { id: help }, options.help),
        );
        this.listen();
        new ResizeObserver(() => this.redraw()).observe(this.element);
        view.subscribe(() => this.redraw());
    }

    setLabel(label: string): void {
        this.element.setAttribute("aria-label", clean(label));
    }

    get shown(): Span {
        const span = this.view.span;
        if (!span) return this.domain;
        const from = Math.max(this.domain[0], span[0]),
            to = Math.min(this.domain[1], span[1]);
        return to > from ? [from, to] : this.domain;
    }

    get pixels(): number {
        return this.frame?.width ?? 600;
    }

    redraw(): void {
        if (!this.pending) this.pending = requestAnimationFrame(() => this.draw());
    }

    /* At once, for print and for measurements; as wide as its place, or as said. */
    draw(wide = this.element.clientWidth): void {
        if (this.pending) cancelAnimationFrame(this.pending);
        this.pending = 0;
        this.width = wide;
        if (this.width < 80) return;
        const height = Math.round(this.options.height(this.width));
        this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
        this.svg.style.height = `${height}px`;
        const [ticks, low, high] = this.valueAxis(height);
        const left =
            Math.ceil(Math.max(34, ...ticks.map((t) => textWidth(t.label, textSize())))) + 10;
        const frame = this.makeFrame(left, height, low, high);
        this.frame = frame;
        replace(this.body);
        this.drawAxes(frame, ticks);
        this.body.append(
            s(
                "clipPath",
                { id: this.id },
                s("rect", {
                    x: frame.left,
                    y: frame.top - 2,
                    width: frame.width,
                    height: frame.height + 4,
                }),
            ),
        );
        for (const layer of this.layers) {
            const group = s("g");
            layer.draw(group, frame);
            this.body.append(group);
        }
        this.drawCursor();
    }

    private valueAxis(height: number): [Tick[], number, number] {
        let low = Infinity,
            high = -Infinity;
        for (const layer of this.layers) {
            const extent = layer.extent?.(this.shown);
            if (!extent) continue;
            low = Math.min(low, extent[0]);
            high = Math.max(high, extent[1]);
        }
        if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
        const unit = this.options.unit();
        if (this.options.fromZero) low = Math.min(0, low);
        // A curve that is flat within a few percent has to look flat.
        const least = Math.max(unit === "count" ? 4 : 65536, Math.abs(high) * 0.04);
        if (high - low < least && !this.options.fromZero) {
            const middle = (low + high) / 2;
            [low, high] = [Math.max(Math.min(0, low), middle - least / 2), middle + least / 2];
        }
        if (high <= low) high = low + 1;
        const plain = high - low,
            room = (this.options.headroom?.() ?? 8) / height;
        high += plain * (room / (1 - room)) + plain * 0.02;
        if (!this.options.fromZero && low > 0)
            low = Math.max(0, low - plain * (0.06 + (this.options.footroom ?? 0) / height));
        const wanted = Math.max(2, Math.floor(height / (4.6 * textSize())));
        return [(unit === "count" ? countTicks : byteTicks)(low, high, wanted), low, high];
    }

    private makeFrame(left: number, height: number, low: number, high: number): Frame {
        const top = 6,
            bottom = Math.round(2.2 * textSize()),
            width = Math.max(10, this.width - left - 10),
            tall = height - top - bottom;
        const span = this.shown,
            name = this.view.clock,
            clock = this.clock;
        const from = clock.position(name, span[0]),
            to = clock.position(name, span[1]),
            across = to - from || 1;
        return {
            left,
            top,
            width,
            height: tall,
            span,
            clip: `url(#${this.id})`,
            taken: [],
            x: (seconds) => left + ((clock.position(name, seconds) - from) / across) * width,
            y: (value) => top + tall - ((value - low) / (high - low)) * tall,
            seconds: (x) => clock.seconds(name, from + ((x - left) / width) * across),
        };
    }

    private drawAxes(f: Frame, ticks: readonly Tick[]): void {
        const axes = s("g", { class: "axes" });
        for (const tick of ticks) {
            const y = Math.round(f.y(tick.at)) + 0.5;
            if (y < f.top || y > f.top + f.height + 1) continue;
            axes.append(
                s("line", { class: "grid", x1: f.left, x2: f.left + f.width, y1: y, y2: y }),
                s("text", { x: f.left - 8, y: y + 4, "text-anchor": "end" }, tick.label),
            );
        }
        const name = this.view.clock,
            bottom = f.top + f.height;
        const steps = (name === "step" && this.clock.hasSteps) || !this.clock.isTimed;
        const from = this.clock.position(name, f.span[0]),
            to = this.clock.position(name, f.span[1]);
        const wanted = Math.max(3, Math.floor(f.width / (5.2 * textSize())));
        let end = f.left - 20;
        const unit = steps ? "step" : "";
        const room = f.left + f.width - (unit ? textWidth(unit, textSize()) + 10 : 0);
        for (const tick of (steps ? stepTicks : timeTicks)(from, to, wanted)) {
            const x = f.left + ((tick.at - from) / (to - from || 1)) * f.width,
                half = textWidth(tick.label, textSize()) / 2;
            axes.append(s("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
            if (x - half < end + 10 || x + half > room) continue;
            axes.append(
                s("text", { x, y: bottom + 1.6 * textSize(), "text-anchor": "middle" }, tick.label),
            );
            end = x + half;
        }
        axes.append(
            s("line", {
                class: "base",
                x1: f.left,
                x2: f.left + f.width,
                y1: bottom + 0.5,
                y2: bottom + 0.5,
            }),
        );
        if (unit)
            axes.append(
                s(
                    "text",
                    {
                        x: f.left + f.width,
                        y: bottom + 1.6 * textSize(),
                        "text-anchor": "end",
                        class: "unit",
                    },
                    unit,
                ),
            );
        this.body.append(axes);
    }

    /* ---- the cursor ---- */

    private drawCursor(): void {
        const f = this.frame;
        replace(this.over);
        if (!f || this.cursor === null || this.cursor < f.span[0] || this.cursor > f.span[1]) {
            this.tip.hidden = true;
            return;
        }
        const x = f.x(this.cursor),
            readings = this.readings(this.cursor);
        this.over.append(
            s("line", { class: "cursor", x1: x, x2: x, y1: f.top, y2: f.top + f.height }),
        );
        for (const r of readings)
            if (r.y !== undefined)
                this.over.append(
                    s("circle", { class: "dot " + (r.className ?? ""), cx: x, cy: f.y(r.y), r: 4 }),
                );
        replace(
            this.tip,
            h("b", {}, this.moment(this.cursor)),
            readings.map((r) =>
                h(
                    "div",
                    {},
                    r.className ? h(`i.key.${r.className}`) : null,
                    h("span", {}, r.label),
                    h("span.number", {}, r.value),
                ),
            ),
        );
        this.tip.hidden = false;
        const beside =
            x + 14 + this.tip.offsetWidth > this.width ? x - 14 - this.tip.offsetWidth : x + 14;
        this.tip.style.transform = `translate(${Math.max(0, beside)}px, ${f.top + 4}px)`;
    }

    private readings(seconds: number): Reading[] {
        return this.layers.flatMap((layer) => layer.at?.(seconds) ?? []);
    }

    private moment(seconds: number): string {
        const time = clockTime(seconds, seconds < 60 ? 0.1 : 1);
        if (!this.clock.isTimed) return `step ${count(this.clock.position("step", seconds))}`;
        return this.clock.hasSteps
            ? `step ${count(this.clock.position("step", seconds))} · ${time}`
            : time;
    }

    private moveCursor(seconds: number | null, aloud = false): void {
        this.cursor =
            seconds === null ? null : Math.max(this.shown[0], Math.min(this.shown[1], seconds));
        this.drawCursor();
        if (aloud && this.cursor !== null)
            this.said.textContent = clean(
                `${this.moment(this.cursor)}: ${this.readings(this.cursor)
                    .map((r) => `${r.label} ${r.value}`)
                    .join(", ")}`,
            );
    }

    private secondsAt(x: number): number {
        return this.frame?.seconds(x) ?? 0;
    }

    /* ---- zoom and pan, in positions of the axis, so that steps stay under the finger ---- */

    private positions(): [number, number] {
        const name = this.view.clock;
        return [this.clock.position(name, this.shown[0]), this.clock.position(name, this.shown[1])];
    }

    private setPositions(from: number, to: number): void {
        const name = this.view.clock;
        const least = this.clock.position(name, this.domain[0]),
            most = this.clock.position(name, this.domain[1]);
        const across = Math.max(Math.min(to - from, most - least), (most - least) * 1e-5);
        const start = Math.max(least, Math.min(most - across, from));
        if (across > (most - least) * 0.999) this.view.setSpan(null);
        else
            this.view.setSpan([
                this.clock.seconds(name, start),
                this.clock.seconds(name, start + across),
            ]);
    }

    zoom(factor: number, around?: number): void {
        const [from, to] = this.positions();
        const middle =
            around ??
            (this.cursor === null
                ? (from + to) / 2
                : this.clock.position(this.view.clock, this.cursor));
        this.setPositions(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }

    pan(share: number): void {
        const [from, to] = this.positions(),
            move = (to - from) * share;
        this.setPositions(from + move, to + move);
    }

    reset(): void {
        this.view.setSpan(null);
    }

    /* ---- what the reader does ---- */

    private listen(): void {
        let start: { x: number; from: number; to: number; pans: boolean } | null = null;
        const place = (e: PointerEvent) => e.clientX - this.svg.getBoundingClientRect().left;
        this.svg.addEventListener("pointerdown", (e) => {
            if (e.button > 1) return;
            const [from, to] = this.positions();
            start = { x: place(e), from, to, pans: e.shiftKey || e.button === 1 };
            this.svg.setPointerCapture(e.pointerId);
        });
        this.svg.addEventListener("pointermove", (e) => {
            const x = place(e),
                f = this.frame;
            if (!f) return;
            this.moveCursor(
                x >= f.left - 4 && x <= f.left + f.width + 4 ? this.secondsAt(x) : null,
            );
            if (start?.pans) {
                const move = ((start.x - x) / f.width) * (start.to - start.from);
                this.setPositions(start.from + move, start.to + move);
            } else if (start && Math.abs(x - start.x) > 4) this.drawBrush(start.x, x);
        });
        const end = (e: PointerEvent, counts: boolean) => {
            const from = start,
                x = place(e);
            start = null;
            if (counts && from && !from.pans && Math.abs(x - from.x) > 8) {
                const name = this.view.clock,
                    ends = [from.x, x].map((p) => this.clock.position(name, this.secondsAt(p)));
                this.setPositions(Math.min(...ends), Math.max(...ends));
            } else this.drawCursor();
        };
        this.svg.addEventListener("pointerup", (e) => end(e, true));
        this.svg.addEventListener("pointercancel", (e) => end(e, false));
        this.svg.addEventListener("pointerleave", () => {
            if (!start) this.moveCursor(null);
        });
        this.svg.addEventListener("dblclick", () => this.reset());
        this.svg.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
        this.element.addEventListener("keydown", (e) => this.key(e));
        this.element.addEventListener("blur", () => this.moveCursor(null));
    }

    /* A plain wheel scrolls the page, as everywhere; with Ctrl (and two fingers) it zooms. */
    private wheel(e: WheelEvent): void {
        if (e.ctrlKey || e.metaKey) {
            e.preventDefault();
            const x = e.clientX - this.svg.getBoundingClientRect().left;
            this.zoom(
                Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))),
                this.clock.position(this.view.clock, this.secondsAt(x)),
            );
        } else if (this.view.span && (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey)) {
            e.preventDefault();
            this.pan((e.deltaX || e.deltaY) / 800);
        }
    }

    private key(e: KeyboardEvent): void {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const [from, to] = this.shown,
            step = (to - from) / 60,
            at = this.cursor ?? (from + to) / 2;
        const doing: Record<string, () => void> = {
            ArrowLeft: () => (e.shiftKey ? this.pan(-0.2) : this.moveCursor(at - step, true)),
            ArrowRight: () => (e.shiftKey ? this.pan(0.2) : this.moveCursor(at + step, true)),
            Home: () => this.moveCursor(from, true),
            End: () => this.moveCursor(to, true),
            "+": () => this.zoom(0.5),
            "=": () => this.zoom(0.5),
            "-": () => this.zoom(2),
            "0": () => this.reset(),
            Escape: () => this.reset(),
        };
        const act = doing[e.key];
        if (!act) return;
        e.preventDefault();
        act();
    }

    private drawBrush(a: number, b: number): void {
        const f = this.frame;
        if (!f) return;
        const left = Math.max(f.left, Math.min(a, b)),
            right = Math.min(f.left + f.width, Math.max(a, b));
        this.over.append(
            s("rect", {
                class: "brush",
                x: left,
                y: f.top,
                width: Math.max(0, right - left),
                height: f.height,
            }),
        );
    }
}
