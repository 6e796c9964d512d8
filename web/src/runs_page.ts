/* runs_page.ts: the runs of a folder. */

import { clean, h, link, replace } from "./dom";
import type { Runs } from "./document";
import { chip } from "./icons";
import { splitVerdict } from "./opening";
import { rebuild } from "./table";
import { count, duration } from "./units";

export class RunsPage {
    readonly element = h("div.runs-page");
    private readonly title = h("h1");
    private readonly sum = h("p.about");
    private readonly filter = h("input", {
        type: "search",
        placeholder: "Filter",
        "aria-label": "Filter runs",
        "data-key": "runs-filter",
        input: () => this.show(),
    });
    private readonly list = h("ul.runs");
    private runs: Runs = { page: "runs" };

    constructor() {
        replace(
            this.element,
            h("div.section-head", {}, this.title, this.filter),
            this.sum,
            this.list,
        );
    }

    update(runs: Runs): void {
        this.runs = runs;
        this.title.textContent = clean(runs.title || "Runs");
        document.title = `${this.title.textContent} - tidemark`;
        this.show();
    }

    private show(): void {
        const all = this.runs.runs ?? [],
            words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        const found = all.filter((r) =>
            words.every((w) =>
                `${r.name ?? ""} ${r.summary ?? ""} ${r.command ?? ""}`.toLowerCase().includes(w),
            ),
        );
        const leaking = all.filter((r) => r.verdict === "leak").length,
            live = all.filter((r) => r.live).length;
        this.sum.textContent = [
            `${count(all.length)} runs, ${count(leaking)} leaking, ${count(live)} running`,
            clean(this.runs.note ?? ""),
        ]
            .filter(Boolean)
            .join("; ");
        rebuild(
            this.list,
            found
                .slice(0, 1000)
                .map((r) =>
                    h(
                        "li",
                        {},
                        chip(r.verdict, r.severity),
                        h(
                            "div.name",
                            {},
                            link(r.href, r.name ?? "?"),
                            h("span.more", {}, r.command ?? ""),
                        ),
                        h("span.summary", {}, r.error ?? splitVerdict(r.summary ?? "")[1]),
                        h(
                            "span.number",
                            {},
                            r.live ? h("span.live", {}, "running") : null,
                            r.seconds !== undefined ? duration(r.seconds) : "",
                            h(
                                "span.more",
                                {},
                                r.started !== undefined
                                    ? new Date(r.started * 1000)
                                          .toISOString()
                                          .slice(0, 16)
                                          .replace("T", " ")
                                    : "",
                            ),
                        ),
                    ),
                ),
            found.length === 0
                ? h(
                      "li.empty",
                      {},
                      all.length
                          ? "No run of that name."
                          : "There is no run here yet. Start one: tidemark run -- COMMAND",
                  )
                : null,
        );
    }
}
