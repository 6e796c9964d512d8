/* clock.ts: seconds and steps. Charts keep their view in seconds; a clock says where a second lies on
 * the axis. */

import type { Run } from "./document";

export type ClockName = "step" | "s";

/* Piecewise linear through rising points, and straight on beyond both ends. */
export class Mapping {
    constructor(
        private readonly from: readonly number[],
        private readonly to: readonly number[],
    ) {}

    at(x: number): number {
        const { from, to } = this;
        let low = 0,
            high = from.length - 1;
        if (high < 1) return x;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if ((from[middle] as number) <= x) low = middle;
            else high = middle;
        }
        // Beyond an end the pace of the nearer half goes on, not that of two neighbours.
        if (x > (from[from.length - 1] as number))
            (low = from.length >> 1), (high = from.length - 1);
        if (low === high) low--;
        const a = from[low] as number,
            b = from[high] as number,
            p = to[low] as number,
            q = to[high] as number;
        if (x > b) return b === a ? q : q + ((x - b) / (b - a)) * (q - p);
        return b === a ? q : p + ((x - a) / (b - a)) * (q - p);
    }
}

function rising(xs: readonly unknown[], ys: readonly unknown[]): [number[], number[]] {
    const a: number[] = [],
        b: number[] = [];
    for (let i = 0; i < Math.min(xs.length, ys.length); i++) {
        const x = xs[i],
            y = ys[i];
        if (
            typeof x !== "number" ||
            typeof y !== "number" ||
            !Number.isFinite(x) ||
            !Number.isFinite(y)
        )
            continue;
        if (a.length && (x <= (a[a.length - 1] as number) || y <= (b[b.length - 1] as number)))
            continue;
        a.push(x);
        b.push(y);
    }
    return [a, b];
}

export class Clock {
    readonly hasSteps: boolean;
    /* False: steps stand where seconds are written, and nothing is known of time. */
    readonly isTimed: boolean;
    /* The second of the first step: before it there are no steps to draw. */
    readonly start: number;
    private readonly forward: Mapping;
    private readonly backward: Mapping;

    constructor(run: Run) {
        const [seconds, steps] = rising(run.steps?.seconds ?? [], run.steps?.step ?? []);
        // A run may end before its first step, as far as it was recorded.
        const last = Math.max(
            ...(run.curves ?? []).map((c) => c.last ?? Infinity),
            ...(run.curves?.length ? [] : [Infinity]),
        );
        this.hasSteps = seconds.length > 1 && last > (seconds[0] as number);
        this.isTimed = run.timed !== false;
        this.start = seconds[0] ?? 0;
        this.forward = new Mapping(seconds, steps);
        this.backward = new Mapping(steps, seconds);
    }

    /* Where a second lies on the axis. */
    position(name: ClockName, seconds: number): number {
        return name === "step" && this.hasSteps ? this.forward.at(seconds) : seconds;
    }

    /* What of a span lies on the axis. */
    domain(name: ClockName, from: number, to: number): readonly [number, number] {
        if (name === "step" && this.hasSteps && this.start > from && this.start < to)
            from = this.start;
        const start = Math.max(0, from - 0.5); // of a single moment, a second around it
        return to > from ? [from, to] : [start, start + 1];
    }

    seconds(name: ClockName, position: number): number {
        return name === "step" && this.hasSteps ? this.backward.at(position) : position;
    }
}
