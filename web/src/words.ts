/* words.ts: the page's own words for what the document names by enums. */

import type { Verdict } from "./document";

export const VERDICTS: Readonly<Record<Verdict, string>> = {
    leak: "LEAK",
    no_leak: "NO LEAK",
    inconclusive: "INCONCLUSIVE",
};

const KINDS: readonly (readonly [RegExp, string])[] = [
    [/^host\.anon$/, "the program's own memory"],
    [/^host\.private$/, "private memory of a forked process"],
    [/^host\.file$/, "mapped pages of files"],
    [/^host\.shmem$/, "shared memory"],
    [/^host\.swap$/, "memory that was swapped out"],
    [/^host\.rss$/, "resident memory"],
    [/^host\.pss$/, "memory, shared pages divided among their processes"],
    [/^host\.vsize$/, "reserved addresses"],
    [/^gpu\.used$/, "GPU memory, from the driver"],
    [/^torch\.allocated$/, "GPU memory in tensors"],
    [/^torch\.reserved$/, "GPU memory that PyTorch holds"],
    [/^torch\.pinned$/, "pinned host memory"],
    [/^torch\.peak$/, "highest GPU memory in tensors"],
    [/^py\.tensors$/, "tensors that are alive"],
    [/^py\.objects$/, "Python objects that are alive"],
    [/^heap\.used$/, "memory that malloc has given out"],
    [/^heap\.free$/, "free heap memory"],
    [/^fds$/, "open file descriptors"],
    [/^threads$/, "threads"],
    [/^processes$/, "processes"],
];

export function kindWords(kind: string | undefined): string {
    return KINDS.find(([pattern]) => pattern.test(kind ?? ""))?.[1] ?? "";
}

export interface Fate {
    label: string;
    className: string;
    meaning: string;
}

const FATES: Readonly<Record<string, Fate>> = {
    endless: {
        label: "endless",
        className: "endless",
        meaning: "Outlasted the horizon, still grows, and nothing bounds it. This is the leak.",
    },
    ends: {
        label: "ends",
        className: "ends",
        meaning: "Bounded: it grows until it is full and then stops.",
    },
    "kept free": {
        label: "kept free",
        className: "kept-free",
        meaning: "Free inside the allocator, which keeps it for reuse. Not a leak.",
    },
    "not ours": {
        label: "not this job's",
        className: "not-ours",
        meaning: "Belongs to another job.",
    },
    unknown: {
        label: "unknown",
        className: "unknown",
        meaning: "Measured, but nothing seen explains it.",
    },
};

export function fate(name: string | undefined): Fate {
    return FATES[name ?? ""] ?? { label: name ?? "unknown", className: "unknown", meaning: "" };
}

export const PHASES: Readonly<Record<string, string>> = {
    start: "start",
    "warm-up": "warm-up",
    stable: "stable",
    growing: "growing",
    shrinking: "shrinking",
    "level shift": "level-shift",
};
