/* scale.ts: ticks, and how wide text is. */

import { clockTime, count } from "./units";

export interface Tick {
    at: number;
    label: string;
}

function niceStep(raw: number, steps: readonly number[]): number {
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const found = steps.find((s) => s * power >= raw * 0.999);
    return (found ?? 10) * power;
}

function along(from: number, to: number, step: number, label: (at: number) => string): Tick[] {
    const ticks: Tick[] = [];
    if (!(step > 0) || !Number.isFinite(to - from)) return ticks;
    for (
        let i = Math.ceil(from / step - 1e-9);
        i * step <= to + step * 1e-9 && ticks.length < 50;
        i++
    )
        ticks.push({ at: i * step, label: label(i * step) });
    return ticks;
}

function decimals(step: number): number {
    return step >= 1
        ? step % 1 > 1e-9
            ? 1
            : 0
        : Math.min(3, Math.ceil(-Math.log10(step) - 1e-9) + (niceMantissa(step) === 2.5 ? 1 : 0));
}

function niceMantissa(step: number): number {
    return Number((step / Math.pow(10, Math.floor(Math.log10(step) + 1e-9))).toFixed(3));
}

export function byteTicks(from: number, to: number, wanted: number): Tick[] {
    const names = ["B", "KB", "MB", "GB", "TB", "PB"];
    const raw = Math.max((to - from) / wanted, 1e-9),
        top = Math.max(Math.abs(from), Math.abs(to));
    const power = Math.max(
        0,
        Math.min(
            names.length - 1,
            Math.floor(Math.log(Math.max(top, 1) * 1.0001) / Math.log(1024)),
        ),
    );
    const unit = Math.pow(1024, power),
        inUnit = niceStep(raw / unit, [1, 2, 5, 10]);
    const step = power === 0 ? Math.max(1, Math.round(inUnit)) : inUnit * unit;
    return along(from, to, step, (at) =>
        Math.abs(at) < step / 2
            ? "0"
            : `${(at / unit).toFixed(power === 0 ? 0 : decimals(inUnit))} ${names[power]}`,
    );
}

export function countTicks(from: number, to: number, wanted: number): Tick[] {
    const step = Math.max(1, niceStep(Math.max((to - from) / wanted, 1e-9), [1, 2, 5, 10]));
    return along(from, to, step, (at) => count(at));
}

export function stepTicks(from: number, to: number, wanted: number): Tick[] {
    const step = niceStep(Math.max((to - from) / wanted, 1e-9), [1, 2, 5, 10]);
    return along(from, to, step, (at) => count(at, decimals(step)));
}

const TIME_STEPS = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
    172800, 432000, 864000, 2592000, 8640000, 31557600,
];

export function timeTicks(from: number, to: number, wanted: number): Tick[] {
    const raw = (to - from) / wanted;
    const step =
        raw < 1
            ? niceStep(Math.max(raw, 1e-6), [1, 2, 5, 10])
            : (TIME_STEPS.find((s) => s >= raw) ?? niceStep(raw, [1, 2, 5, 10]));
    return along(from, to, step, (at) => clockTime(at, step));
}

/* To ask for a style makes the browser lay out what has changed: once a window is enough. */
let size = 0,
    family = "";
if (typeof window !== "undefined") addEventListener("resize", () => (size = 0));

function askStyles(): void {
    size = 0.76 * (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
    family = getComputedStyle(document.body).fontFamily;
}

/* Of the text in charts, in pixels: it grows with the page's own. */
export function textSize(): number {
    if (!size) askStyles();
    return size;
}

export function zoomOfText(): number {
    return textSize() / (0.76 * 16);
}

let measure: CanvasRenderingContext2D | null | undefined;

/* In pixels, of text in the page's font. */
export function textWidth(text: string, pixels: number, bold = false): number {
    measure ??= document.createElement("canvas").getContext("2d");
    if (!measure) return text.length * pixels * 0.58;
    if (!family) askStyles();
    measure.font = `${bold ? "600 " : ""}${pixels}px ${family}`;
    return measure.measureText(text).width;
}
