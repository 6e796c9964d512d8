/* facts_view.ts: objects and tensors, the balance sheet, processes, events, and what tidemark cost. */

import { h, prose, type Child } from "./dom";
import type { BalanceRow, Group, Run } from "./document";
import { facts, notes, rebuild, table } from "./table";
import { bytes, clockTime, count, duration, percent } from "./units";

function date(seconds: number): string {
    return new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

function bars(
    rows: readonly { name: string; bytes: number; more?: string }[],
    caption: string,
): HTMLElement {
    const most = Math.max(1, ...rows.map((r) => r.bytes));
    return h(
        "ul.bars",
        { "aria-label": caption },
        rows.map((r) => {
            const bar = h("i");
            bar.style.width = `${(100 * Math.max(0, r.bytes)) / most}%`;
            return h(
                "li",
                {},
                h("span.name", {}, r.name),
                h("span.track", { "aria-hidden": "true" }, bar),
                h("span.number", {}, bytes(r.bytes)),
                h("span.more", {}, r.more ?? ""),
            );
        }),
    );
}

function purposeRows(groups: readonly Group[] | undefined) {
    return [...(groups ?? [])]
        .sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0))
        .map((p) => ({
            name: `${p.name ?? "?"}${p.device ? `, ${p.device}` : ""}`,
            bytes: p.bytes ?? 0,
            more: p.count ? `${count(p.count)} tensors` : "",
        }));
}

function shapeWords(t: { dtype?: string; shape?: string | number[] }): string {
    return `${t.dtype ?? ""} ${Array.isArray(t.shape) ? `[${t.shape.join(", ")}]` : (t.shape ?? "")}`.trim();
}

type Counted = NonNullable<NonNullable<Run["objects"]>["processes"]>[number];

const SHOWN = 8;

function titled(title: string, rows: Parameters<typeof bars>[0]): HTMLElement | null {
    return rows.length ? h("div", {}, h("h3", {}, title), bars(rows, title)) : null;
}

function pictures(p: Counted): HTMLElement {
    const tensors = (p.tensors ?? []).slice(0, SHOWN);
    const types = [...(p.types ?? [])].sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    const graph = (t: { grad_fn?: string | boolean }) => (t.grad_fn ? ", with graph" : "");
    return h(
        "div.columns",
        {},
        titled("Tensors by purpose", purposeRows(p.purposes)),
        titled(
            "Tensors by shape",
            tensors.map((t) => ({
                name: shapeWords(t),
                bytes: t.bytes ?? 0,
                more: `${count(t.count ?? 0)} on ${t.device ?? "?"}${graph(t)}`,
            })),
        ),
        titled(
            "Objects by type",
            types.slice(0, SHOWN).map((t) => ({
                name: t.name ?? "?",
                bytes: t.bytes ?? 0,
                more: count(t.count ?? 0),
            })),
        ),
    );
}

function countedTables(p: Counted, i: number): HTMLElement {
    const of = p.process ?? p.pid ?? i,
        tensors = p.tensors ?? [],
        types = p.types ?? [];
    return h(
        "details.data",
        { "data-key": `objects ${i}` },
        h("summary", {}, "Data table"),
        tensors.length
            ? table(
                  `Tensors of ${of}`,
                  ["Tensor", "Device", "Graph", "#Count", "#Bytes"],
                  tensors.map((t) => [
                      shapeWords(t),
                      t.device ?? "",
                      t.grad_fn ? "yes" : "no",
                      count(t.count ?? 0),
                      bytes(t.bytes ?? 0),
                  ]),
              )
            : null,
        types.length
            ? table(
                  `Types of ${of}`,
                  ["Type", "#Count", "#Bytes"],
                  types.map((t) => [t.name ?? "?", count(t.count ?? 0), bytes(t.bytes ?? 0)]),
              )
            : null,
    );
}

export class ObjectsView {
    readonly element = h("section.objects", { "aria-label": "Objects" });
    private shown = "";

    update(run: Run): void {
        const key = JSON.stringify(run.objects ?? null);
        if (key === this.shown) return;
        this.shown = key;
        const processes = (run.objects?.processes ?? []).slice(0, 40);
        this.element.hidden = processes.length === 0;
        rebuild(
            this.element,
            h("h2", {}, "Tensors and objects"),
            h("p.note", {}, "As the last census of each process counted them."),
            processes.map((p, i) => this.process(p, i, processes.length === 1)),
        );
    }

    private process(p: Counted, i: number, alone: boolean): Child {
        const title = `${p.process ?? `process ${p.pid ?? "?"}`}: ${count(p.objects ?? 0)} objects`;
        const body = [pictures(p), countedTables(p, i)];
        if (alone) return [h("p.kind", {}, title), body];
        return h(
            "details",
            { "data-key": `census ${p.pid ?? i}`, open: i === 0 },
            h("summary", {}, title),
            body,
        );
    }
}

function signed(value: number | undefined): string {
    return value === undefined ? "" : (value > 0 ? "+" : "") + bytes(value);
}

function balanceRow(b: BalanceRow): Child[] {
    const many = (b.processes ?? 1) > 1 && b.role !== "job";
    const size = (v: number | undefined) => (v === undefined ? "" : bytes(v));
    return [
        b.role === "job"
            ? "the job"
            : many
              ? `${count(b.processes ?? 0)} ${b.role ?? "process"}s`
              : `${b.role ?? "process"} ${b.pid ?? ""}`,
        size(b.first),
        size(b.last),
        b.first !== undefined && b.last !== undefined ? signed(b.last - b.first) : "",
        size(b.anon),
        size(b.file),
        size(b.shmem),
        size(b.swap),
        size(b.gpu),
        size(b.rss),
    ];
}

export class BalanceView {
    readonly element = h("section.balance", { "aria-label": "Balance sheet" });
    private shown = "";

    update(run: Run): void {
        const a = run.answer ?? {},
            key = JSON.stringify([a.balance, a.system, a.unexplained_bytes]);
        if (key === this.shown) return;
        this.shown = key;
        this.element.hidden = !a.balance?.length;
        if (!a.balance?.length) return rebuild(this.element);
        const system = a.system ?? {};
        const rows: Child[][] = a.balance.map(balanceRow);
        const used =
            system.used_first !== undefined && system.used_last !== undefined
                ? system.used_last - system.used_first
                : undefined;
        if (system.used_last !== undefined)
            rows.push([
                "the system",
                bytes(system.used_first ?? 0),
                bytes(system.used_last),
                signed(used),
                "",
                "",
                "",
                "",
                "",
                "",
            ]);
        if (a.unexplained_bytes !== undefined)
            rows.push(["unexplained", "", "", signed(a.unexplained_bytes), "", "", "", "", "", ""]);
        rebuild(
            this.element,
            h("h2", {}, "Balance sheet"),
            h(
                "p.note",
                {},
                "Each process by its share: shared pages count once for the job. The last column counts them for each process.",
            ),
            table(
                "Balance sheet",
                [
                    "memory of",
                    "#first",
                    "#last",
                    "#change",
                    "#anon",
                    "#file",
                    "#shared",
                    "#swap",
                    "#GPU",
                    "#by RSS",
                ],
                rows,
            ),
        );
    }
}

function runFacts(run: Run): [string, Child | undefined][] {
    const job = run.answer?.job ?? {},
        rows: [string, Child | undefined][] = [
            ["Command", run.title ? h("code", {}, run.title) : undefined],
            ["Run file", run.name],
            ["Host", run.host],
            ["Started", job.started !== undefined ? date(job.started) : undefined],
            ["Watched", job.seconds !== undefined ? duration(job.seconds) : undefined],
            [
                "Steps",
                job.steps
                    ? `${count(job.steps)}${job.steps_from ? `, counted by ${job.steps_from}` : ""}`
                    : undefined,
            ],
            ["Epochs", job.epochs ? count(job.epochs, 1) : undefined],
            [
                "Limit",
                job.limit_bytes !== undefined
                    ? `${bytes(job.limit_bytes)}${job.limit_source ? ` (${job.limit_source})` : ""}`
                    : undefined,
            ],
            [
                "Processes",
                job.processes !== undefined
                    ? `${count(job.processes)} at a time, ${count(job.processes_seen ?? job.processes)} in all`
                    : undefined,
            ],
            [
                "Ended",
                job.ending ??
                    (job.exit_status !== undefined
                        ? `exit status ${job.exit_status}`
                        : job.exit_signal !== undefined
                          ? `signal ${job.exit_signal}`
                          : undefined),
            ],
        ];
    return rows;
}

function costFacts(run: Run): [string, Child][] {
    const a = run.answer ?? {},
        o = a.job?.overhead ?? {},
        rows: [string, Child][] = [],
        seconds = a.job?.seconds;
    if (o.watcher_cpu_seconds !== undefined)
        rows.push([
            "Processor",
            `${duration(o.watcher_cpu_seconds)}${seconds ? `, ${percent(o.watcher_cpu_seconds / seconds)} of a core` : ""}`,
        ]);
    if (o.watcher_bytes !== undefined) rows.push(["Memory", bytes(o.watcher_bytes)]);
    if (o.target_stall_seconds !== undefined)
        rows.push([
            "Reading shares",
            `delayed the job by at most ${duration(o.target_stall_seconds)}`,
        ]);
    const censuses = a.censuses ?? [],
        sum = (pick: (c: (typeof censuses)[number]) => number | undefined) =>
            censuses.reduce((n, c) => n + (pick(c) ?? 0), 0);
    if (censuses.length)
        rows.push([
            "Censuses",
            `${count(sum((c) => c.censuses))}, ${count(sum((c) => c.searches))} searches for holders; paused the program for ${duration(sum((c) => c.pause_seconds))} in all`,
        ]);
    for (const t of (a.tracers ?? []).slice(0, 20))
        rows.push([
            `Tracer of ${t.process ?? t.pid}`,
            `one allocation in about ${bytes(t.interval ?? 0)}: ${count(t.samples ?? 0)} samples took ${duration(t.spent_seconds ?? 0)}`,
        ]);
    return rows;
}

function eventList(run: Run): Child {
    const events = run.events ?? [];
    if (!events.length) return null;
    const plain = (text: string) =>
        text
            .replace(/^tidemark: /, "")
            .replace(/\s+/g, " ")
            .trim();
    const rows = events.map((e) =>
        h(
            "li",
            {},
            h("time", {}, clockTime(e.seconds ?? 0, 1)),
            h("b", {}, e.what ?? ""),
            h("span", {}, prose(plain(e.text ?? ""))),
        ),
    );
    return [h("h2", {}, "Events"), h("ol.events", {}, rows)];
}

function processList(run: Run): Child {
    const processes = run.processes ?? [],
        more = run.more_processes ?? 0;
    if (!processes.length) return null;
    const rows = processes.map((p) => [
        `${p.role ?? ""} ${p.pid ?? ""}`.trim(),
        p.rank ?? "",
        clockTime(p.first ?? 0, 1),
        p.last === undefined ? "" : clockTime(p.last, 1),
        h("code", {}, p.command ?? ""),
    ]);
    return h(
        "details.data",
        { "data-key": "processes" },
        h(
            "summary",
            {},
            processes.length === 1 ? "1 process" : `${count(processes.length + more)} processes`,
        ),
        table("Processes", ["Process", "#Rank", "#From", "#To", "Command"], rows),
        more ? h("p.note", {}, `${count(more)} more are not listed.`) : null,
    );
}

export class RunFactsView {
    readonly element = h("section.run", { "aria-label": "The run" });
    private shown = "";

    update(run: Run): void {
        const a = run.answer ?? {};
        const key = JSON.stringify([
            run.title,
            run.name,
            a.job,
            a.notes,
            a.patterns,
            run.events,
            run.processes,
            a.tracers,
        ]);
        if (key === this.shown) return;
        this.shown = key;
        const cost = costFacts(run),
            said = [...(a.notes ?? []), ...(a.patterns ?? []).map((p) => p.text ?? "")];
        rebuild(
            this.element,
            h(
                "div.columns",
                {},
                h("div", {}, h("h2", {}, "The run"), facts(runFacts(run))),
                cost.length ? h("div", {}, h("h2", {}, "What tidemark cost"), facts(cost)) : null,
            ),
            notes(said.filter(Boolean)),
            eventList(run),
            processList(run),
        );
    }
}
