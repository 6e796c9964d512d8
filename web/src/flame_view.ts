/* flame_view.ts: call stacks, callers above what they call; as wide as their bytes. Each box is a
 * button, so that zoom, search and tab order work as they do everywhere. */

import { clean, h, replace } from "./dom";
import type { Flame, Run } from "./document";
import { choice, dataTable, rebuild, table } from "./table";
import { bytes, percent } from "./units";

export interface Node { name: string; bytes: number; children: Map<string, Node>; parent: Node | null; depth: number }

const DEEPEST = 200;
/* Boxes narrower than this share of the picture are not drawn. */
const NARROWEST = 0.0015;
const ROW = 22;

function node(name: string, parent: Node | null): Node {
    return { name, bytes: 0, children: new Map(), parent, depth: parent ? parent.depth + 1 : 0 };
}

/* "main;train;forward 4096" in lines. */
export function parseStacks(text: string, root: string): Node {
    const top = node(root, null);
    for (const line of text.split("\n")) {
        const cut = line.lastIndexOf(" "), size = Number(line.slice(cut + 1));
        if (cut < 1 || !Number.isFinite(size) || size <= 0) continue;
        let at = top;
        top.bytes += size;
        for (const name of line.slice(0, cut).split(";").slice(0, DEEPEST)) {
            let next = at.children.get(name);
            if (!next) at.children.set(name, (next = node(name, at)));
            next.bytes += size;
            at = next;
        }
    }
    return top;
}

function kindOf(name: string): string {
    return /\(.*\.py:\d+\)$/.test(name) ? "python" : /\([^()]*:\d+\)$/.test(name) ? "lined" : /^\(/.test(name) ? "rest" : "native";
}

export class FlameView {
    readonly element = h("section.flame", { "aria-label": "Flame graph" });
    private readonly boxes = h("div.boxes", { role: "group", "aria-label": "Call stacks, callers first", keydown: (e: KeyboardEvent) => this.key(e) });
    private readonly where = h("p.where", { "aria-live": "polite" });
    private readonly search = h("input", { type: "search", placeholder: "Search functions", "aria-label": "Search functions", "data-key": "flame-search", input: () => this.show() });
    private readonly select = h("select", { "aria-label": "Process", "data-key": "flame-process", change: () => this.open(Number(this.select.value)) });
    private readonly up = h("button", { type: "button", "data-key": "flame-up", click: () => this.zoom(this.top()) }, "Whole");
    private readonly values = choice<"growth" | "live">("Value", [["growth", "Growth"], ["live", "Live"]], () => this.value, (v) => { this.value = v; this.open(this.process); });
    private readonly behind = h("div");
    private value: "growth" | "live" = "growth";
    private process = 0;
    private flames: Flame[] = [];
    private root: Node = node("", null);
    private drawn = new Map<Node, HTMLButtonElement>();
    private shown = "";
    private path: string[] = [];

    constructor() {
        replace(this.element, h("div.section-head", {}, h("h2", {}, "Flame graph"), this.values.element, this.select, this.search, this.up), this.where, this.boxes, this.behind);
    }

    update(run: Run): void {
        const key = JSON.stringify(run.flame ?? null);
        if (key === this.shown) return;
        this.shown = key;
        this.flames = (run.flame ?? []).filter((f) => f.growth || f.live);
        this.element.hidden = this.flames.length === 0;
        if (this.element.hidden) return;
        if (!this.flames.some((f) => f.growth)) this.value = "live";
        this.values.update();
        replace(this.select, this.flames.map((f, i) => h("option", { value: i, selected: i === this.process }, f.process ?? String(f.pid))));
        this.select.hidden = this.flames.length < 2;
        const path = this.path;
        this.open(Math.min(this.process, this.flames.length - 1));
        let at = this.root;
        for (const name of path) at = at.children.get(name) ?? at;
        if (at !== this.root) this.zoom(at);
    }

    private open(process: number): void {
        this.process = process;
        const flame = this.flames[process];
        this.root = parseStacks((this.value === "growth" ? flame?.growth : flame?.live) ?? "", flame?.process ?? "all");
        this.zoom(this.root);
        rebuild(this.behind, dataTable("flame-table", () => table("Call stacks", [{ name: "Stack" }, { name: "Bytes", number: true }],
            ((this.value === "growth" ? flame?.growth : flame?.live) ?? "").split("\n").filter(Boolean).map((line) => {
                const cut = line.lastIndexOf(" ");
                return [line.slice(0, cut).split(";").join(" → "), bytes(Number(line.slice(cut + 1)))];
            }))));
    }

    private top(): Node {
        let top = this.root;
        while (top.parent) top = top.parent;
        return top;
    }

    private zoom(to: Node): void {
        const focused = this.boxes.contains(document.activeElement);
        this.root = to;
        this.path = [];
        for (let n = to; n.parent; n = n.parent) this.path.unshift(n.name);
        this.show();
        if (focused) this.drawn.get(to)?.focus();
    }

    private show(): void {
        const words = this.search.value.toLowerCase(), whole = this.top().bytes || 1;
        const boxes: HTMLElement[] = [];
        let deepest = 0, found = 0;
        this.drawn = new Map();
        const matches = (n: Node) => words !== "" && n.name.toLowerCase().includes(words);
        const draw = (n: Node, left: number, width: number, row: number, counted: boolean) => {
            const hit = matches(n);
            if (hit && !counted) found += n.bytes;
            deepest = Math.max(deepest, row);
            const text = `${n.name}, ${bytes(n.bytes)}, ${percent(n.bytes / whole)}`;
            const b = h(`button.box.${kindOf(n.name)}${hit ? ".hit" : words ? ".miss" : ""}`, { type: "button", title: text, "aria-label": text, tabindex: boxes.length ? -1 : 0, click: () => this.zoom(n), mouseenter: () => this.say(text), focus: () => this.say(text) }, width > 0.02 ? n.name : "");
            b.style.left = `${left * 100}%`;
            b.style.width = `${width * 100}%`;
            b.style.top = `${row * ROW}px`;
            boxes.push(b);
            this.drawn.set(n, b);
            let at = left;
            for (const child of [...n.children.values()].sort((x, y) => y.bytes - x.bytes)) {
                const share = (width * child.bytes) / n.bytes;
                if (share >= NARROWEST) draw(child, at, share, row + 1, counted || hit);
                else if (matches(child) && !counted && !hit) found += child.bytes;
                at += share;
            }
        };
        const callers: Node[] = [];
        for (let n = this.root.parent; n; n = n.parent) callers.unshift(n);
        callers.forEach((n, row) => {
            const b = h("button.box.caller", { type: "button", title: n.name, tabindex: row ? -1 : 0, click: () => this.zoom(n) }, n.name);
            b.style.left = "0";
            b.style.width = "100%";
            b.style.top = `${row * ROW}px`;
            boxes.push(b);
            this.drawn.set(n, b);
        });
        draw(this.root, 0, 1, callers.length, false);
        this.boxes.style.height = `${(deepest + 1) * ROW}px`;
        replace(this.boxes, boxes);
        this.up.disabled = this.root.parent === null;
        this.say(words ? `${percent(found / (this.root.bytes || 1))} in functions that match` :
            `${bytes(this.root.bytes)} ${this.value === "growth" ? "gained while it was traced" : "kept at the last look"}. Callers are above what they call. Click or press Enter to zoom.`);
    }

    private say(text: string): void {
        this.where.textContent = clean(text);
    }

    private key(e: KeyboardEvent): void {
        const at = [...this.drawn].find(([, b]) => b === document.activeElement)?.[0];
        if (!at) return;
        const siblings = at.parent ? [...at.parent.children.values()].sort((x, y) => y.bytes - x.bytes) : [at];
        const i = siblings.indexOf(at);
        const to: Record<string, () => Node | undefined | null> = {
            ArrowUp: () => at.parent, ArrowLeft: () => siblings[i - 1], ArrowRight: () => siblings[i + 1],
            ArrowDown: () => [...at.children.values()].sort((x, y) => y.bytes - x.bytes)[0],
            Escape: () => (this.zoom(this.top()), this.root),
        };
        const go = to[e.key];
        if (!go) return;
        e.preventDefault();
        const next = go();
        if (next) this.drawn.get(next)?.focus();
    }
}
