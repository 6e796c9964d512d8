/* flame_view.ts: call stacks, callers above what they call; as wide as their bytes. Each box is a
 * button, so that zoom, search and tab order work as they do everywhere. */

import { clean, h, replace } from "./dom";
import type { Flame, Run } from "./document";
import { choice, dataTable, rebuild, table } from "./table";
import { bytes, percent } from "./units";

export interface Node {
    name: string;
    bytes: number;
    children: Map<string, Node>;
    parent: Node | null;
    depth: number;
}

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
        const cut = line.lastIndexOf(" "),
            size = Number(line.slice(cut + 1));
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

/* What a function calls, the largest first. */
function ranked(n: Node): Node[] {
    return [...n.children.values()].sort((a, b) => b.bytes - a.bytes);
}

function kindOf(name: string): string {
    return /\(.*\.py:\d+\)$/.test(name)
        ? "python"
        : /\([^()]*:\d+\)$/.test(name)
          ? "lined"
          : /^\(/.test(name)
            ? "rest"
            : "native";
}

export class FlameView {
    readonly element = h("section.flame", { "aria-label": "Flame graph" });
    private readonly boxes = h("div.boxes", {
        role: "group",
        "aria-label": "Call stacks, callers first",
        keydown: (e: KeyboardEvent) => this.key(e),
    });
    private readonly where = h("p.where", { "aria-live": "polite" });
    private readonly search = h("input", {
        type: "search",
        placeholder: "Search functions",
        "aria-label": "Search functions",
        "data-key": "flame-search",
        input: () => this.show(),
    });
    private readonly select = h("select", {
        "aria-label": "Process",
        "data-key": "flame-process",
        change: () => this.open(Number(this.select.value)),
    });
    private readonly up = h(
        "button",
        { type: "button", "data-key": "flame-up", click: () => this.zoom(this.top()) },
        "Whole",
    );
    private readonly values = choice<"growth" | "live">(
        "Value",
        [
            ["growth", "Growth"],
            ["live", "Live"],
        ],
        () => this.value,
        (v) => {
            this.value = v;
            this.open(this.process);
        },
    );
    private readonly behind = h("div");
    private value: "growth" | "live" = "growth";
    private process = 0;
    private flames: Flame[] = [];
    private root: Node = node("", null);
    private drawn = new Map<Node, HTMLButtonElement>();
    private shown = "";
    private path: string[] = [];
    private deepest = 0;
    private found = 0;

    constructor() {
        replace(
            this.element,
            h(
                "div.section-head",
                {},
                h("h2", {}, "Flame graph"),
                this.values.element,
                this.select,
                this.search,
                this.up,
            ),
            this.where,
            this.boxes,
            this.behind,
        );
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
        replace(
            this.select,
            this.flames.map((f, i) =>
                h("option", { value: i, selected: i === this.process }, f.process ?? String(f.pid)),
            ),
        );
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
        this.root = parseStacks(
            (this.value === "growth" ? flame?.growth : flame?.live) ?? "",
            flame?.process ?? "all",
        );
        this.zoom(this.root);
        rebuild(
            this.behind,
            dataTable("flame-table", () =>
                table(
                    "Call stacks",
                    ["Stack", "#Bytes"],
                    ((this.value === "growth" ? flame?.growth : flame?.live) ?? "")
                        .split("\n")
                        .filter(Boolean)
                        .map((line) => {
                            const cut = line.lastIndexOf(" ");
                            return [
                                line.slice(0, cut).split(";").join(" → "),
                                bytes(Number(line.slice(cut + 1))),
                            ];
                        }),
                ),
            ),
        );
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
        const words = this.search.value.toLowerCase();
        const callers: Node[] = [];
        for (let n = this.root.parent; n; n = n.parent) callers.unshift(n);
        this.drawn = new Map();
        this.deepest = this.found = 0;
        callers.forEach((n, row) => this.add(n, 0, 1, row, "caller"));
        this.draw(this.root, 0, 1, callers.length, words, false);
        this.boxes.style.height = `${(this.deepest + 1) * ROW}px`;
        replace(this.boxes, [...this.drawn.values()]);
        this.up.disabled = this.root.parent === null;
        const what =
            this.value === "growth" ? "gained while it was traced" : "kept at the last look";
        this.say(
            words
                ? `${percent(this.found / (this.root.bytes || 1))} in functions that match`
                : `${bytes(this.root.bytes)} ${what}. Callers are above what they call. Click or press Enter to zoom.`,
        );
    }

    /* A function and what it calls; `counted`: a caller of it matches, so that its bytes are found. */
    private draw(
        n: Node,
        left: number,
        width: number,
        row: number,
        words: string,
        counted: boolean,
    ): void {
        const matches = (m: Node) => words !== "" && m.name.toLowerCase().includes(words),
            hit = matches(n);
        if (hit && !counted) this.found += n.bytes;
        this.add(n, left, width, row, hit ? "hit" : words ? "miss" : "");
        let at = left;
        for (const child of ranked(n)) {
            const share = (width * child.bytes) / n.bytes;
            if (share >= NARROWEST) this.draw(child, at, share, row + 1, words, counted || hit);
            else if (matches(child) && !counted && !hit) this.found += child.bytes;
            at += share;
        }
    }

    private add(n: Node, left: number, width: number, row: number, className: string): void {
        const text = `${n.name}, ${bytes(n.bytes)}, ${percent(n.bytes / (this.top().bytes || 1))}`;
        const box = h(
            `button.box.${kindOf(n.name)}${className ? "." + className : ""}`,
            {
                type: "button",
                title: text,
                "aria-label": text,
                tabindex: this.drawn.size ? -1 : 0,
                click: () => this.zoom(n),
                mouseenter: () => this.say(text),
                focus: () => this.say(text),
            },
            width > 0.02 ? n.name : "",
        );
        box.style.left = `${left * 100}%`;
        box.style.width = `${width * 100}%`;
        box.style.top = `${row * ROW}px`;
        this.deepest = Math.max(this.deepest, row);
        this.drawn.set(n, box);
    }

    private say(text: string): void {
        this.where.textContent = clean(text);
    }

    private key(e: KeyboardEvent): void {
        const at = [...this.drawn].find(([, b]) => b === document.activeElement)?.[0];
        if (!at) return;
        const siblings = at.parent ? ranked(at.parent) : [at];
        const i = siblings.indexOf(at);
        const to: Record<string, () => Node | undefined | null> = {
            ArrowUp: () => at.parent,
            ArrowLeft: () => siblings[i - 1],
            ArrowRight: () => siblings[i + 1],
            ArrowDown: () => ranked(at)[0],
            Escape: () => (this.zoom(this.top()), this.root),
        };
        const go = to[e.key];
        if (!go) return;
        e.preventDefault();
        const next = go();
        if (next) this.drawn.get(next)?.focus();
    }
}
