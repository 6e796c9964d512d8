/* pyramid.ts: a series as minimum and maximum of equal spans, at several levels of detail. */

import type { Curve, Level } from "./document";

export interface Blocks {
    t: Float64Array;
    low: Float64Array;
    high: Float64Array;
}

export function decode(level: Level): Blocks {
    const size = Math.min(level.t?.length ?? 0, level.low?.length ?? 0, level.high?.length ?? 0);
    const t = new Float64Array(size),
        low = new Float64Array(size),
        high = new Float64Array(size);
    const scale = Number.isFinite(level.scale) ? level.scale : 1;
    for (let i = 0, ms = 0, value = 0; i < size; i++) {
        ms += level.t[i] as number;
        value += level.low[i] as number;
        t[i] = ms / 1000;
        low[i] = value * scale;
        high[i] = (value + (level.high[i] as number)) * scale;
    }
    return { t, low, high };
}

/* A quarter of the blocks: what the next coarser level is. */
export function coarser(blocks: Blocks): Blocks {
    const size = Math.ceil(blocks.t.length / 4);
    const out = {
        t: new Float64Array(size),
        low: new Float64Array(size),
        high: new Float64Array(size),
    };
    for (let i = 0; i < size; i++) {
        let low = Infinity,
            high = -Infinity;
        for (let j = 4 * i; j < Math.min(4 * i + 4, blocks.t.length); j++) {
            low = Math.min(low, blocks.low[j] as number);
            high = Math.max(high, blocks.high[j] as number);
        }
        out.t[i] = blocks.t[4 * i] as number;
        out.low[i] = low;
        out.high[i] = high;
    }
    return out;
}

/* Index of the first element that is not below x. */
export function lowerBound(xs: ArrayLike<number>, x: number): number {
    let low = 0,
        high = xs.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((xs[middle] as number) < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

export class Pyramid {
    private readonly levels: (Blocks | Level)[];

    constructor(levels: readonly (Blocks | Level)[]) {
        this.levels = [...levels];
    }

    static ofCurve(curve: Curve): Pyramid {
        return new Pyramid(curve.levels ?? []);
    }

    /* Of samples: each is a block of its own. */
    static ofSamples(t: Float64Array, value: Float64Array): Pyramid {
        const levels: Blocks[] = [{ t, low: value, high: value }];
        while ((levels[levels.length - 1] as Blocks).t.length > 64)
            levels.push(coarser(levels[levels.length - 1] as Blocks));
        return new Pyramid(levels);
    }

    /* Levels are decoded when first drawn: a folded page has hundreds. */
    private blocks(i: number): Blocks {
        const level = this.levels[i];
        if (!level)
            return { t: new Float64Array(), low: new Float64Array(), high: new Float64Array() };
        if ("scale" in level) return (this.levels[i] = decode(level));
        return level;
    }

    get isEmpty(): boolean {
        return this.blocks(0).t.length === 0;
    }

    get extent(): [number, number] {
        const { t } = this.blocks(0);
        return [t[0] ?? 0, t[t.length - 1] ?? 0];
    }

    /* The coarsest level with a block for every one of `wanted` places in the span, cut to it, with
     * one block beyond either end. */
    pick(from: number, to: number, wanted: number): Blocks & { level: number } {
        let chosen = 0;
        for (let i = this.levels.length - 1; i >= 0; i--) {
            const { t } = this.blocks(i);
            if (lowerBound(t, to) - lowerBound(t, from) >= wanted) {
                chosen = i;
                break;
            }
        }
        const { t, low, high } = this.blocks(chosen);
        const first = Math.max(0, lowerBound(t, from) - 1),
            last = Math.min(t.length, lowerBound(t, to) + 1);
        return {
            level: chosen,
            t: t.subarray(first, last),
            low: low.subarray(first, last),
            high: high.subarray(first, last),
        };
    }

    /* Lowest and highest at a moment: of the finest block that holds it. */
    at(seconds: number): { t: number; low: number; high: number } | null {
        const { t, low, high } = this.blocks(0);
        if (!t.length) return null;
        const i = Math.max(0, Math.min(t.length - 1, lowerBound(t, seconds + 1e-9) - 1));
        return { t: t[i] as number, low: low[i] as number, high: high[i] as number };
    }
}
