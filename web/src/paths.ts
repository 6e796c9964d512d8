/* paths.ts: the outlines of curves as SVG path data. */

import type { Blocks } from "./pyramid";
import type { Frame } from "./plot";

const round = (n: number): string => (Math.round(n * 10) / 10).toString();

export function linePath(f: Frame, t: ArrayLike<number>, value: ArrayLike<number>): string {
    const pieces: string[] = [];
    for (let i = 0; i < t.length; i++)
        pieces.push(round(f.x(t[i] as number)) + " " + round(f.y(value[i] as number)));
    return pieces.length ? "M" + pieces.join("L") : "";
}

/* Between two curves over the same places. */
export function bandPath(
    f: Frame,
    t: ArrayLike<number>,
    low: ArrayLike<number>,
    high: ArrayLike<number>,
): string {
    const there: string[] = [],
        back: string[] = [];
    for (let i = 0; i < t.length; i++) {
        const x = round(f.x(t[i] as number));
        there.push(x + " " + round(f.y(high[i] as number)));
        back.push(x + " " + round(f.y(low[i] as number)));
    }
    return there.length ? "M" + there.join("L") + "L" + back.reverse().join("L") + "Z" : "";
}

/* At most a low and a high for each pixel: what more would not be seen. */
export function byPixel(f: Frame, blocks: Blocks): Blocks {
    const { t, low, high } = blocks;
    if (t.length <= 2 * f.width) return blocks;
    const size = Math.ceil(f.width) + 2;
    const out = {
        t: new Float64Array(size),
        low: new Float64Array(size),
        high: new Float64Array(size),
    };
    let count = 0,
        last = NaN;
    for (let i = 0; i < t.length; i++) {
        const x = Math.floor(f.x(t[i] as number));
        if (x !== last && count < size) {
            last = x;
            out.t[count] = t[i] as number;
            out.low[count] = low[i] as number;
            out.high[count++] = high[i] as number;
        } else {
            out.low[count - 1] = Math.min(out.low[count - 1] as number, low[i] as number);
            out.high[count - 1] = Math.max(out.high[count - 1] as number, high[i] as number);
        }
    }
    return {
        t: out.t.subarray(0, count),
        low: out.low.subarray(0, count),
        high: out.high.subarray(0, count),
    };
}

/* Of a polyline: its value at x; null outside. */
export function valueAt(xs: readonly number[], ys: readonly number[], x: number): number | null {
    let low = 0,
        high = xs.length - 1;
    if (high < 0 || x < (xs[0] as number) || x > (xs[high] as number)) return null;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((xs[middle] as number) <= x) low = middle;
        else high = middle;
    }
    const a = xs[low] as number,
        b = xs[high] as number;
    const share = b > a ? (x - a) / (b - a) : 0;
    return (ys[low] as number) + share * ((ys[high] as number) - (ys[low] as number));
}

/* The part of a polyline between two places, its ends interpolated. */
export function cut(
    xs: readonly number[],
    ys: readonly number[],
    from: number,
    to: number,
): [number[], number[]] {
    const x: number[] = [],
        y: number[] = [];
    const push = (at: number) => {
        const value = valueAt(xs, ys, at);
        if (value !== null) x.push(at), y.push(value);
    };
    push(from);
    xs.forEach((at, i) => {
        if (at > from && at < to) x.push(at), y.push(ys[i] as number);
    });
    if (to > from) push(to);
    return [x, y];
}
