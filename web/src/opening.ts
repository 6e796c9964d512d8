/* opening.ts: verdict, why, fix, and the four facts that somebody in a hurry wants. */

import { h, prose, replace, type Child } from "./dom";
import { nameOf, seriesOf, type Opening, type Run, type Series } from "./document";
import { icon, isVerdict } from "./icons";
import { count, duration } from "./units";
import { VERDICTS, kindWords } from "./words";

/* "LEAK (low): trainer grows": its word, and its sentence. */
export function splitVerdict(line: string): [string, string] {
    const found = /^([A-Z][A-Z ]*(?: \([a-z]+\))?): ([^]*)$/.exec(line);
    return found ? [found[1] as string, found[2] as string] : ["", line];
}

function capital(text: string): string {
    return text ? text[0]?.toUpperCase() + text.slice(1) : text;
}

export function openingLines(opening: Opening | null | undefined): Child[] {
    if (!opening) return [];
    return [
        opening.why
            ? h("p.line", {}, h("span.tag", {}, "Why"), h("span", {}, prose(opening.why)))
            : null,
        opening.next
            ? h(
                  "p.line.next",
                  {},
                  h("span.tag", {}, capital(opening.next_label ?? "next")),
                  h("span", {}, prose(opening.next)),
              )
            : null,
    ];
}

export function verdictLine(
    opening: Opening | null | undefined,
    verdict: unknown,
    level: "h1" | "h2" = "h1",
): HTMLElement {
    const [word, sentence] = splitVerdict(opening?.verdict ?? "");
    const shown = word || (isVerdict(verdict) ? VERDICTS[verdict] : "NO VERDICT YET");
    return h(
        "div.verdict",
        { "data-verdict": isVerdict(verdict) ? verdict : "none" },
        h("span.badge", {}, isVerdict(verdict) ? icon(verdict) : null, h("span", {}, shown)),
        h(
            level,
            {},
            h("span.visually-hidden", {}, shown + ": "),
            sentence || "There is nothing to say yet.",
        ),
    );
}

function tile(name: string, value: Child, more?: Child): HTMLElement {
    return h(
        "div.tile",
        {},
        h("dt", {}, name),
        h("dd", {}, h("span.value", {}, value), more ? h("span.more", {}, more) : null),
    );
}

/* When the limit is reached. */
export function untilLimit(series: Series): string | null {
    const f = series.forecast;
    if (!f?.reaches_limit) return null;
    if (f.limit_seconds !== undefined) return "in " + duration(f.limit_seconds);
    const steps =
        f.limit_step === undefined || series.last_step === undefined
            ? 0
            : f.limit_step - series.last_step;
    return steps > 0 ? `in ${count(Number(steps.toPrecision(2)))} steps` : "limit reached";
}

/* "64.6 KB/step (64.5 to 64.6 KB)": the rate, and its interval under it. */
function rateTile(
    name: string,
    rate: string | undefined,
    floor: string | undefined,
): HTMLElement | null {
    if (!rate) return null;
    const [, value, interval] = /^(.*?)(?: \((.*)\))?$/.exec(rate) ?? [];
    return tile(
        name,
        value,
        [interval, floor ? "floor " + floor : null].filter(Boolean).join(", "),
    );
}

function holderTile(run: Run): HTMLElement | null {
    const finding = run.answer?.findings?.[0];
    if (!finding) return null;
    const file = finding.file?.split("/").pop();
    const place = file ? `${file}${finding.line ? `:${finding.line}` : ""}` : finding.where;
    const name = finding.name ?? finding.holder ?? finding.what;
    return tile(
        finding.kind === "allocation" ? "Allocated by" : "Held by",
        name ? h("code", {}, name) : "unknown",
        place,
    );
}

function leakTiles(run: Run, series: Series, i: number): Child[] {
    const texts = run.texts?.[i] ?? {},
        limit = untilLimit(series);
    return [
        tile("Leaks", nameOf(series), kindWords(series.kind)),
        rateTile("How fast", texts.rate, texts.floor),
        texts.since ? tile("Since", texts.since, texts.alarm) : null,
        holderTile(run),
        limit ? tile("Runs out", limit, texts.limit) : null,
    ];
}

function calmTiles(run: Run, series: Series, i: number): Child[] {
    const texts = run.texts?.[i] ?? {},
        clock = series.clock === "step";
    const end = clock ? series.warm_up_end_step : series.warm_up_end_seconds;
    return [
        tile("Judged by", nameOf(series), kindWords(series.kind)),
        rateTile("Growth", texts.rate, texts.floor),
        end !== undefined
            ? tile("Warm-up", clock ? `until step ${count(end)}` : `for ${duration(end)}`)
            : null,
        series.spikes?.count
            ? tile("Spikes", count(series.spikes.count), texts.spikes?.replace(/^[\d,]+,? */, ""))
            : null,
        texts.needs ? tile("Needs", texts.needs) : null,
    ];
}

export class OpeningView {
    readonly element = h("section.opening", { "aria-label": "Verdict" });
    readonly tiles = h("dl.tiles");
    private shown = "";

    update(run: Run): void {
        const series = seriesOf(run),
            i = run.deciding ?? 0,
            deciding = series[i];
        const key = JSON.stringify([
            run.opening,
            run.answer?.verdict,
            run.texts?.[i],
            run.answer?.findings?.[0],
        ]);
        if (key === this.shown) return;
        this.shown = key;
        replace(
            this.element,
            verdictLine(run.opening, run.answer?.verdict),
            openingLines(run.opening),
        );
        replace(
            this.tiles,
            !deciding
                ? null
                : deciding.verdict === "leak"
                  ? leakTiles(run, deciding, i)
                  : calmTiles(run, deciding, i),
        );
        this.tiles.hidden = !deciding;
    }
}
