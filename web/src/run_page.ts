/* run_page.ts: the page of one run. */

import { Clock } from "./clock";
import { clean, h, replace } from "./dom";
import type { Curve, Run } from "./document";
import { BalanceView, ObjectsView, RunFactsView } from "./facts_view";
import { FlameView } from "./flame_view";
import { HoldersView } from "./holders_view";
import { LedgerView } from "./ledger_view";
import { MainChart } from "./main_chart";
import { OpeningView } from "./opening";
import type { Blocks } from "./pyramid";
import { SeriesList } from "./series_list";
import { TreeView } from "./tree_view";
import { View, type Span } from "./view";

/* What A4 leaves between its margins, in pixels. */
const PAPER = 688;

export class RunPage {
    readonly element = h("div.run-page");
    onSpan: ((curve: Curve, span: Span, pixels: number) => void) | null = null;
    private readonly view = new View();
    private readonly title = h("p.command");
    private readonly more = h("p.about");
    private readonly opening = new OpeningView();
    private readonly chart: MainChart;
    private readonly list: SeriesList;
    private readonly tree: TreeView;
    private readonly ledger = new LedgerView();
    private readonly holders = new HoldersView();
    private readonly flame = new FlameView();
    private readonly objects = new ObjectsView();
    private readonly balance = new BalanceView();
    private readonly facts = new RunFactsView();
    private run: Run | null = null;

    constructor() {
        const clock = new Clock({ page: "run" });
        this.chart = new MainChart(this.view, clock);
        this.chart.onSpan = (curve, span, pixels) => this.onSpan?.(curve, span, pixels);
        this.list = new SeriesList(
            () => this.chart.key,
            (key) => this.choose(key),
        );
        this.tree = new TreeView(this.view, clock);
        replace(
            this.element,
            h("div.run-head", {}, this.title, this.more),
            this.opening.element,
            this.chart.element,
            this.opening.tiles,
            this.list.element,
            this.ledger.element,
            this.holders.element,
            this.tree.element,
            this.flame.element,
            this.objects.element,
            this.balance.element,
            this.facts.element,
        );
        addEventListener("beforeprint", () => this.draw(PAPER));
        addEventListener("afterprint", () => this.draw());
    }

    update(run: Run): void {
        this.run = run;
        const clock = new Clock(run),
            state = run.live ? "running" : run.finished === false ? "no final answer" : "";
        this.title.textContent = clean(run.title || run.name || "A run");
        this.more.textContent = clean(
            [run.name, run.host ? `on ${run.host}` : "", state, run.answer?.job?.ending ?? ""]
                .filter(Boolean)
                .join(" · "),
        );
        document.title = clean(`${run.title || run.name || "a run"} - tidemark`);
        this.opening.update(run);
        this.chart.update(run, clock);
        this.list.update(run);
        this.ledger.update(run, this.chart.key);
        this.holders.update(run);
        this.tree.update(run, clock);
        this.flame.update(run);
        this.objects.update(run);
        this.balance.update(run);
        this.facts.update(run);
    }

    addFiner(id: number, blocks: Blocks): void {
        this.chart.addFiner(id, blocks);
    }

    private choose(key: string): void {
        this.chart.choose(key);
        if (this.run) this.ledger.update(this.run, key);
        if (this.chart.element.getBoundingClientRect().top < 0)
            this.chart.element.scrollIntoView({ block: "start" });
    }

    private draw(wide?: number): void {
        this.chart.draw(wide);
        this.tree.draw(wide);
    }
}
