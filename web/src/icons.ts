/* icons.ts: each verdict has a shape of its own, so that color never stands alone. */

import type { Verdict } from "./document";
import { h, s } from "./dom";
import { VERDICTS } from "./words";

const SHAPES: Readonly<Record<Verdict, readonly [string, string]>> = {
    leak: ["M12 1.5 23 21.5H1Z", "M12 8.5v6M12 17.2v1.6"],
    no_leak: ["M12 1a11 11 0 1 0 0 22a11 11 0 1 0 0-22Z", "M6.8 12.4l3.6 3.6 6.8-7.6"],
    inconclusive: [
        "M5 1.5h14a3.5 3.5 0 0 1 3.5 3.5v14a3.5 3.5 0 0 1-3.5 3.5H5A3.5 3.5 0 0 1 1.5 19V5A3.5 3.5 0 0 1 5 1.5Z",
        "M6.6 12h.1M12 12h.1M17.4 12h.1",
    ],
};

export function isVerdict(value: unknown): value is Verdict {
    return value === "leak" || value === "no_leak" || value === "inconclusive";
}

export function icon(verdict: Verdict): SVGSVGElement {
    const [outline, sign] = SHAPES[verdict];
    return s(
        "svg",
        {
            class: "icon " + verdict,
            viewBox: "0 0 24 24",
            "aria-hidden": "true",
            focusable: "false",
        },
        s("path", { class: "shape", d: outline }),
        s("path", { class: "sign", d: sign }),
    );
}

export function chip(verdict: unknown, severity?: unknown): HTMLElement {
    if (!isVerdict(verdict)) return h("span.chip.none", {}, "no verdict");
    const more = verdict === "leak" && typeof severity === "string" ? ` (${severity})` : "";
    return h(
        "span.chip",
        { "data-verdict": verdict },
        icon(verdict),
        h("span", {}, VERDICTS[verdict] + more),
    );
}
