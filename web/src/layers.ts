/* layers.ts: what the main chart draws: the range, the floor, phases, spikes, marks and the forecast. */

import { s } from "./dom";
import type { Floor, Spike } from "./document";
import { bandPath, byPixel, cut, linePath, valueAt } from "./paths";
import type { Frame, Layer, Reading } from "./plot";
import type { Blocks, Pyramid } from "./pyramid";
import { textSize, textWidth } from "./scale";
import { amount } from "./units";
import type { Span } from "./view";

export interface Stretch {
    from: number;
    to: number;
    name: string;
    className: string;
    text: string;
}
export interface Mark {
    seconds: number;
    text: string;
    className: string;
}
export interface Cone {
    from: number;
    level: number;
    to: number;
    limit: number;
    low: number;
    high: number;
    name: string;
    text: string;
}

/* Takes the room of a label with its middle line at y; false: another stands there. */
function claim(f: Frame, left: number, right: number, y: number): boolean {
    const top = y - textSize(),
        bottom = y + 0.4 * textSize();
    if (f.taken.some(([a, b, c, d]) => left < b + 6 && right > a - 6 && top < d && bottom > c))
        return false;
    f.taken.push([left, right, top, bottom]);
    return true;
}

function label(
    x: number,
    y: number,
    text: string,
    className: string,
    anchor = "middle",
): SVGElement {
    return s("text", { x, y, class: "label " + className, "text-anchor": anchor }, text);
}

/* Everything between lowest and highest. */
export class RangeLayer implements Layer {
    /* Finer blocks of a part, which a live page fetched. */
    finer: Blocks | null = null;

    constructor(
        private readonly pyramid: Pyramid,
        private readonly unit: string | undefined,
        private readonly pixels: () => number,
        private readonly floor: Floor | undefined,
    ) {}

    /* Down to the floor, so that what stands above it is a band. */
    private foot(t: Float64Array, low: Float64Array): Float64Array {
        const floor = this.floor;
        return floor
            ? low.map((v, i) =>
                  Math.min(v, valueAt(floor.seconds, floor.value, t[i] as number) ?? v),
              )
            : low;
    }

    private blocks(span: Span): Blocks {
        const f = this.finer;
        if (
            f &&
            f.t.length > 1 &&
            (f.t[0] as number) <= span[0] + 1 &&
            (f.t[f.t.length - 1] as number) >= span[1] - 1
        )
            return f;
        return this.pyramid.pick(span[0], span[1], this.pixels());
    }

    extent(span: Span): Span | null {
        const { t, low, high } = this.blocks(span);
        let least = Infinity,
            most = -Infinity;
        for (let i = 0; i < t.length; i++) {
            if ((t[i] as number) > span[1]) break;
            least = Math.min(least, low[i] as number);
            most = Math.max(most, high[i] as number);
        }
        return least <= most ? [least, most] : null;
    }

    draw(group: SVGGElement, f: Frame): void {
        const { t, low, high } = byPixel(f, this.blocks(f.span));
        const one = t.length === 1;
        group.setAttribute("clip-path", f.clip);
        group.append(
            s("path", { class: "range", d: bandPath(f, t, this.foot(t, low), high) }),
            s("path", {
                class: this.floor ? "range-line" : "range-line alone",
                d: linePath(f, t, high),
            }),
        );
        if (one)
            group.append(
                s("circle", {
                    class: "single",
                    cx: f.x(t[0] as number),
                    cy: f.y(high[0] as number),
                    r: 5,
                }),
            );
    }

    at(seconds: number): Reading[] {
        const found = this.pyramid.at(seconds);
        if (!found) return [];
        const { low, high } = found;
        const value =
            low === high
                ? amount(low, this.unit)
                : `${amount(low, this.unit)} to ${amount(high, this.unit)}`;
        return [
            { label: "measured", value, className: "range", ...(this.floor ? {} : { y: high }) },
        ];
    }
}

/* Names and rates of phases at the top of their bands. */
export class PhaseLayer implements Layer {
    constructor(private readonly stretches: readonly Stretch[]) {}

    draw(group: SVGGElement, f: Frame): void {
        const names: { left: number; right: number; stretch: Stretch }[] = [];
        for (const stretch of this.stretches) {
            const left = Math.max(f.left, f.x(stretch.from)),
                right = Math.min(f.left + f.width, f.x(stretch.to));
            if (right - left < 0.5) continue;
            const width = right - left;
            group.append(
                s("rect", {
                    class: "phase " + stretch.className,
                    x: left,
                    y: f.top,
                    width,
                    height: f.height,
                }),
                s("rect", {
                    class: "phase-bar " + stretch.className,
                    x: left,
                    y: f.top,
                    width,
                    height: 3,
                }),
            );
            names.push({ left, right, stretch });
        }
        // The widest first: a narrow phase may use what its neighbors leave.
        const taken: Span[] = [];
        for (const { left, right, stretch } of names.sort(
            (a, b) => b.right - b.left - (a.right - a.left),
        ))
            this.name(group, f, left, right, stretch, taken);
    }

    at(seconds: number): Reading[] {
        const found = this.stretches.find((p) => p.from <= seconds && p.to >= seconds);
        return found ? [{ label: found.name, value: found.text }] : [];
    }

    private name(
        group: SVGGElement,
        f: Frame,
        left: number,
        right: number,
        stretch: Stretch,
        taken: Span[],
    ): void {
        const size = textSize(),
            place = (text: string, bold: boolean) => {
                const half = textWidth(text, size * 1.08, bold) / 2;
                const x = Math.max(
                    f.left + half + 2,
                    Math.min(f.left + f.width - half - 2, (left + right) / 2),
                );
                const free =
                    half * 2 < f.width &&
                    taken.every(([a, b]) => x + half + 6 < a || x - half - 6 > b);
                return free ? { x, span: [x - half, x + half] as const } : null;
            };
        const name = place(stretch.name, true),
            rate = stretch.text ? place(stretch.text, false) : null;
        if (right - left < 6 || !name) return;
        taken.push(name.span);
        group.append(
            label(name.x, f.top + 3 + 1.35 * size, stretch.name, "phase-name " + stretch.className),
        );
        if (!rate) return;
        taken.push(rate.span);
        group.append(label(rate.x, f.top + 3 + 2.8 * size, stretch.text, "phase-rate"));
    }
}

/* The strong line. It takes the look of the phase that it is in. */
export class FloorLayer implements Layer {
    constructor(
        private readonly floor: Floor,
        private readonly stretches: readonly Stretch[],
        private readonly unit: string | undefined,
    ) {}

    extent(span: Span): Span | null {
        let low = Infinity,
            high = -Infinity;
        const [, values] = cut(this.floor.seconds, this.floor.value, ...this.within(span));
        for (const v of values) (low = Math.min(low, v)), (high = Math.max(high, v));
        return low <= high ? [low, high] : null;
    }

    private within(span: Span): Span {
        const t = this.floor.seconds;
        return [Math.max(span[0], t[0] ?? 0), Math.min(span[1], t[t.length - 1] ?? 0)];
    }

    draw(group: SVGGElement, f: Frame): void {
        const { seconds, value } = this.floor;
        group.setAttribute("clip-path", f.clip);
        const first = seconds[0],
            last = seconds[seconds.length - 1];
        if (first === undefined || last === undefined) return;
        let at = first;
        const piece = (to: number, className: string) => {
            if (to <= at) return;
            const [x, y] = cut(seconds, value, at, to);
            const d = linePath(f, x, y);
            group.append(
                s("path", { class: "floor-edge", d }),
                s("path", { class: "floor " + className, d }),
            );
            at = to;
        };
        for (const stretch of this.stretches) {
            piece(Math.min(stretch.from, last), "");
            piece(Math.min(stretch.to, last), stretch.className);
        }
        piece(last, "");
        if (seconds.length === 1)
            group.append(
                s("circle", { class: "single", cx: f.x(first), cy: f.y(value[0] as number), r: 5 }),
            );
    }

    at(seconds: number): Reading[] {
        const y = valueAt(this.floor.seconds, this.floor.value, seconds);
        return y === null
            ? []
            : [{ label: "floor", value: amount(y, this.unit), className: "floor-key", y }];
    }
}

export class SpikeLayer implements Layer {
    constructor(
        private readonly spikes: readonly Spike[],
        private readonly floor: Floor | undefined,
    ) {}

    extent(span: Span): Span | null {
        const high = Math.max(
            ...this.spikes
                .filter((k) => k.seconds >= span[0] && k.seconds <= span[1])
                .map((k) => k.value),
        );
        return Number.isFinite(high) ? [high, high] : null;
    }

    draw(group: SVGGElement, f: Frame): void {
        let end = -Infinity;
        for (const spike of this.spikes) {
            if (spike.seconds < f.span[0] || spike.seconds > f.span[1]) continue;
            const x = f.x(spike.seconds),
                y = f.y(spike.value),
                name = spike.during || "spike";
            // The top may lie between two samples: a needle shows it where the range does not.
            const base = this.floor
                ? valueAt(this.floor.seconds, this.floor.value, spike.seconds)
                : null;
            if (base !== null)
                group.append(
                    s("path", {
                        class: "needle",
                        d: `M${x - 3} ${f.y(base)}L${x} ${y}L${x + 3} ${f.y(base)}Z`,
                    }),
                );
            group.append(s("path", { class: "spike", d: `M${x} ${y - 2}l-5 -8h10z` }));
            const half = textWidth(name, textSize()) / 2;
            const middle = Math.max(f.left + half + 2, Math.min(f.left + f.width - half - 2, x));
            if (middle - half < end + 6) continue;
            group.append(label(middle, y - 15, name, "spike-name"));
            end = middle + half;
        }
    }
}

/* What the picture says, in words, where a rising or a flat line leaves room for it. */
export class CalloutLayer implements Layer {
    constructor(
        private readonly lines: readonly string[],
        private readonly at_: Span,
        private readonly floor: Floor,
        private readonly rises: boolean,
        private readonly className: string,
    ) {}

    draw(group: SVGGElement, f: Frame): void {
        const left = Math.max(f.left, f.x(this.at_[0])),
            right = Math.min(f.left + f.width, f.x(this.at_[1]));
        const size = textSize() * 1.12,
            widest = Math.max(...this.lines.map((l) => textWidth(l, size, true)));
        if (right - left < widest + 24) return;
        const x = this.rises ? left + 14 + 0.02 * (right - left) : (left + right - widest) / 2;
        const line = valueAt(this.floor.seconds, this.floor.value, f.seconds(x + 8));
        if (line === null) return;
        const tall = this.lines.length * 1.4 * size,
            foot = f.y(line);
        const top = this.rises ? f.top + 4.4 * textSize() : foot + 2 * size;
        if (
            this.rises
                ? top + tall > f.y(this.highest(left, x + widest, f)) - 6
                : top + tall > f.top + f.height - 2.5 * textSize()
        )
            return;
        this.lines.forEach((text, i) =>
            group.append(
                label(
                    x,
                    top + i * 1.4 * size,
                    text,
                    "callout " + (i ? "" : this.className),
                    "start",
                ),
            ),
        );
    }

    private highest(from: number, to: number, f: Frame): number {
        let high = -Infinity;
        this.floor.seconds.forEach((t, i) => {
            const x = f.x(t);
            if (x >= from && x <= to) high = Math.max(high, this.floor.value[i] as number);
        });
        return high;
    }
}

export class PeersLayer implements Layer {
    constructor(
        private readonly floors: readonly Floor[],
        private readonly text: string,
        private readonly isZoomed: () => boolean,
    ) {}

    /* A zoom is for the series itself. */
    extent(): Span | null {
        if (this.isZoomed()) return null;
        const values = this.floors.flatMap((floor) => floor.value);
        return values.length ? [Math.min(...values), Math.max(...values)] : null;
    }

    draw(group: SVGGElement, f: Frame): void {
        const lines = s("g", { "clip-path": f.clip });
        // In one path, so that lines on top of each other do not get darker.
        lines.append(
            s("path", {
                class: "peer",
                d: this.floors.map((floor) => linePath(f, floor.seconds, floor.value)).join(""),
            }),
        );
        group.append(lines);
        const first = this.floors[0],
            middle = first
                ? valueAt(first.seconds, first.value, (f.span[0] + 3 * f.span[1]) / 4)
                : null;
        const top = Math.min(
            ...this.floors
                .map((p) =>
                    f.y(valueAt(p.seconds, p.value, (f.span[0] + 3 * f.span[1]) / 4) ?? -Infinity),
                )
                .filter(Number.isFinite),
        );
        const half = textWidth(this.text, textSize()) / 2,
            x = f.x((f.span[0] + 3 * f.span[1]) / 4);
        if (
            middle !== null &&
            top > f.top + 60 &&
            top < f.top + f.height &&
            claim(f, x - half, x + half, top - 8)
        )
            group.append(
                label(f.x((f.span[0] + 3 * f.span[1]) / 4), top - 8, this.text, "peer-text"),
            );
    }
}

/* Lines down the chart, with their words at the bottom, where curves seldom are when memory grows. */
export class MarkLayer implements Layer {
    constructor(private readonly marks: readonly Mark[]) {}

    draw(group: SVGGElement, f: Frame): void {
        for (const mark of this.marks) {
            if (mark.seconds < f.span[0] || mark.seconds > f.span[1]) continue;
            const x = Math.round(f.x(mark.seconds)) + 0.5,
                width = textWidth(mark.text, textSize(), true);
            if (width > f.width) continue;
            const beside = x + 6 + width > f.left + f.width ? x - 6 - width : x + 6;
            const left = Math.max(f.left + 2, Math.min(f.left + f.width - width, beside));
            let y = f.top + f.height - 10;
            while (y > f.top + 60 && !claim(f, left, left + width, y)) y -= 1.5 * textSize();
            group.append(
                s("line", {
                    class: "mark " + mark.className,
                    x1: x,
                    x2: x,
                    y1: f.top + 44,
                    y2: f.top + f.height,
                }),
                s("circle", {
                    class: "mark-foot " + mark.className,
                    cx: x,
                    cy: f.top + f.height,
                    r: 4,
                }),
                label(left, y, mark.text, "mark-text " + mark.className, "start"),
            );
        }
    }
}

/* Where the floor goes if nothing changes, between its slowest and its fastest, up to the limit. */
export class ConeLayer implements Layer {
    constructor(
        private readonly cone: Cone,
        private readonly whole: boolean,
    ) {}

    extent(span: Span): Span | null {
        const c = this.cone;
        if (this.whole && span[1] > c.from) return [c.level, c.limit];
        if (span[1] <= c.from) return null;
        const rate = (c.limit - c.level) / (c.to - c.from);
        return [c.level, Math.min(c.limit, c.level + rate * (span[1] - c.from))];
    }

    draw(group: SVGGElement, f: Frame): void {
        const c = this.cone;
        if (f.span[1] <= c.from) return;
        const inside = s("g", { "clip-path": f.clip });
        const x0 = f.x(c.from),
            y0 = f.y(c.level),
            y1 = f.y(c.limit);
        inside.append(
            s("rect", {
                class: "future",
                x: x0,
                y: f.top,
                width: Math.max(0, f.left + f.width - x0),
                height: f.height,
            }),
            s("path", {
                class: "cone",
                d: `M${x0} ${y0}L${f.x(c.low)} ${y1}L${f.x(c.high)} ${y1}Z`,
            }),
            s("path", { class: "cone-line", d: `M${x0} ${y0}L${f.x(c.to)} ${y1}` }),
        );
        group.append(inside);
        if (y1 >= f.top - 1) {
            group.append(
                s("line", {
                    class: "limit",
                    x1: f.left,
                    x2: f.left + f.width,
                    y1: y1 + 0.5,
                    y2: y1 + 0.5,
                }),
                label(f.left + 6, y1 + 16, c.name, "limit-text", "start"),
            );
            if (c.to <= f.span[1])
                group.append(s("circle", { class: "limit-dot", cx: f.x(c.to), cy: y1, r: 5 }));
        }
        this.words(group, f, x0);
    }

    private words(group: SVGGElement, f: Frame, x0: number): void {
        const right = f.left + f.width,
            room = right - x0 - 8;
        const lines = this.cone.text.split("\n");
        const fits = lines.every((l) => textWidth(l, textSize(), true) <= room);
        const level =
            this.cone.level +
            ((this.cone.limit - this.cone.level) * (f.span[1] - this.cone.from)) /
                (this.cone.to - this.cone.from);
        const bottom = this.whole
            ? f.top + f.height - 12 - (lines.length - 1) * 1.35 * textSize()
            : f.y(level) + 2.6 * textSize();
        if (fits)
            lines.forEach((l, i) =>
                group.append(
                    label(right - 4, bottom + i * 1.35 * textSize(), l, "cone-text", "end"),
                ),
            );
    }

    at(seconds: number): Reading[] {
        const c = this.cone;
        if (seconds <= c.from) return [];
        const y = c.level + ((c.limit - c.level) * (seconds - c.from)) / (c.to - c.from);
        return [{ label: "forecast", value: amount(y, "bytes"), className: "cone-key", y }];
    }
}
