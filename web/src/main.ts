/* main.ts: takes the document from the file or from its server, and shows it. */

import { ComparisonPage } from "./comparison_page";
import { h, link, replace } from "./dom";
import type { Curve, Document } from "./document";
import { Live, type State } from "./live";
import { lowerBound } from "./pyramid";
import { RunPage } from "./run_page";
import { RunsPage } from "./runs_page";
import { themeSwitch } from "./theme";
import type { Span } from "./view";

const STATES: Readonly<Record<State, string>> = {
    connecting: "connecting",
    connected: "live",
    lost: "not connected, trying again",
    ended: "the run has ended",
};

/* Whether a zoom shows fewer blocks than it has room for, and there are more. */
function wantsMore(curve: Curve, span: Span, pixels: number): boolean {
    const level = curve.levels[0];
    if (!level || (curve.samples ?? 0) <= level.t.length) return false;
    const ends: number[] = [];
    level.t.reduce((ms, step) => (ends.push((ms + step) / 1000), ms + step), 0);
    return lowerBound(ends, span[1]) - lowerBound(ends, span[0]) < pixels;
}

class Page {
    private readonly state = h("span.state", { role: "status" });
    private readonly body = h("div.body");
    private shown: RunPage | RunsPage | ComparisonPage | null = null;
    private live: Live | null = null;

    constructor(place: HTMLElement) {
        const home = place.dataset["home"];
        replace(
            place,
            h(
                "header.top",
                {},
                h("span.brand", {}, "tidemark"),
                home ? link(home, "All runs") : null,
                this.state,
                themeSwitch(),
            ),
            this.body,
        );
    }

    show(data: Document): void {
        const wanted =
            data.page === "runs" ? RunsPage : data.page === "comparison" ? ComparisonPage : RunPage;
        if (!(this.shown instanceof wanted)) {
            this.shown = new wanted();
            replace(this.body, this.shown.element);
        }
        const shown = this.shown;
        if (shown instanceof RunPage && data.page === "run") {
            shown.onSpan = (curve, span, pixels) => this.askSpan(curve, span, pixels);
            shown.update(data);
        } else if (shown instanceof RunsPage && data.page === "runs") shown.update(data);
        else if (shown instanceof ComparisonPage && data.page === "comparison") shown.update(data);
    }

    private askSpan(curve: Curve, span: Span, pixels: number): void {
        if (!this.live || !wantsMore(curve, span, pixels)) return;
        this.live.askSpan(curve, span, pixels, (id, blocks) => {
            if (this.shown instanceof RunPage) this.shown.addFiner(id, blocks);
        });
    }

    async follow(): Promise<void> {
        this.live = new Live(
            (data) => this.show(data),
            (state, why) => {
                this.state.textContent = STATES[state] + (why ? `: ${why}` : "");
                this.state.dataset["state"] = state;
            },
        );
        await this.live.start();
    }

    fail(why: string): void {
        replace(this.body, h("p.failed", { role: "alert" }, why));
    }
}

function start(): void {
    const place = document.getElementById("page");
    if (!place) return;
    const page = new Page(place),
        data = document.getElementById("data");
    if (!data) return void page.follow();
    try {
        page.show(JSON.parse(data.textContent ?? "") as Document);
    } catch (error) {
        page.fail("This page's data cannot be read. Write it again: tidemark report RUN.tide");
        throw error;
    }
}

start();
