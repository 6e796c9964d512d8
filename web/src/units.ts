/* units.ts: sizes, counts and durations for people, as src/base/units.c writes them. */

const BYTE_NAMES = ["KB", "MB", "GB", "TB", "PB"] as const;

function threeDigits(value: number): string {
    return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

export function bytes(value: number): string {
    if (!Number.isFinite(value)) return "?";
    const sign = value < 0 ? "-" : "";
    let size = Math.abs(value);
    if (size < 1e-6) return "0 B";
    if (size < 1023.5)
        return `${sign}${size >= 999.5 ? size.toFixed(0) : Number(size.toPrecision(3))} B`;
    let i = 0;
    for (size /= 1024; size >= 1023.5 && i + 1 < BYTE_NAMES.length; i++) size /= 1024;
    return `${sign}${threeDigits(size)} ${BYTE_NAMES[i]}`;
}

export function count(value: number, decimals = 0): string {
    if (!Number.isFinite(value)) return "?";
    if (Math.abs(value) >= 1e15) return value.toPrecision(3);
    return Number(value.toFixed(decimals)).toLocaleString("en-US", {
        maximumFractionDigits: decimals,
    });
}

const DURATIONS: readonly (readonly [number, number, string])[] = [
    [0.01, 0.001, "ms"],
    [90, 1, "s"],
    [5400, 60, "min"],
    [172800, 3600, "h"],
    [730 * 86400, 86400, "days"],
    [Infinity, 365.25 * 86400, "years"],
];

export function duration(seconds: number): string {
    if (!Number.isFinite(seconds)) return "?";
    const scale =
        DURATIONS.find(([below]) => seconds !== 0 && Math.abs(seconds) < below) ?? DURATIONS[1];
    const [, size, name] = scale as readonly [number, number, string];
    const value = seconds / size;
    return `${count(value, Math.abs(value) < 1 ? 2 : Math.abs(value) < 9.95 ? 1 : 0)} ${name}`;
}

export function percent(share: number): string {
    const value = Math.abs(share) * 100;
    return `${count(share * 100, value < 0.995 ? 2 : value < 9.95 ? 1 : 0)} %`;
}

/* A value in its series' unit. */
export function amount(value: number, unit: string | undefined): string {
    return unit === "count"
        ? count(value, Math.abs(value) < 10 && value % 1 !== 0 ? 2 : 0)
        : bytes(value);
}

/* A place on the clock of a chart, short enough for a tick: 90, 1,500, 4:05, 2:30 h. */
export function clockTime(seconds: number, step: number): string {
    if (step < 60 && Math.abs(seconds) < 600)
        return `${count(seconds, step < 0.1 ? 2 : step < 1 ? 1 : 0)} s`;
    const whole = Math.round(seconds),
        two = (n: number) => String(Math.floor(n)).padStart(2, "0");
    if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)} min`;
    if (whole < 172800) return `${Math.floor(whole / 3600)}:${two((whole % 3600) / 60)} h`;
    return `${count(whole / 86400, step < 86400 ? 1 : 0)} days`;
}
