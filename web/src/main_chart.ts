/* main_chart.ts: one series as the picture that decides: floor, range, phases, spikes, forecast. */

import { Clock } from "./clock";
import type { Blocks } from "./pyramid";
import { Pyramid } from "./pyramid";
import { h, replace } from "./dom";
import {
    nameOf,
    seriesOf,
    withoutInterval,
    type Curve,
    type Floor,
    type Phase,
    type Run,
    type Series,
    type Texts,
} from "./document";
import { chip } from "./icons";
import {
    CalloutLayer,
    ConeLayer,
    FloorLayer,
    MarkLayer,
    PeersLayer,
    PhaseLayer,
    RangeLayer,
    SpikeLayer,
    type Cone,
    type Mark,
    type Stretch,
} from "./layers";
import { untilLimit } from "./opening";
import { zoomOfText } from "./scale";
import { Plot, type Layer } from "./plot";
import { choice, dataTable, rebuild, table } from "./table";
import { amount, clockTime, count } from "./units";
import type { Span, View } from "./view";
import { PHASES, kindWords } from "./words";

const HELP =
    "Arrow keys move the cursor and read values. Shift and arrow keys pan. Plus and minus zoom. 0 shows all.";

/* A place on a series' clock, in seconds. */
function secondsOf(series: Series, clock: Clock, at: number): number {
    return series.clock === "step" ? clock.seconds("step", at) : at;
}

/* Of the last phase the report gives a rate of its own, which the chart repeats. */
export function phaseRate(series: Series, p: Phase, texts?: Texts): string {
    if (texts?.rate && p === series.phases?.[series.phases.length - 1])
        return (p.rate ?? 0) > 0 && !texts.rate.startsWith("≤")
            ? "+" + withoutInterval(texts.rate)
            : withoutInterval(texts.rate);
    const per = series.clock === "step" ? "/step" : "/s";
    if (p.rate === undefined) return "";
    const flat =
        p.name === "stable" || ((p.rate_low ?? p.rate) <= 0 && (p.rate_high ?? p.rate) >= 0);
    if (flat)
        return p.rate_high !== undefined && p.rate_high > 0
            ? `≤ ${amount(p.rate_high, series.unit)}${per}`
            : "flat";
    return `${p.rate > 0 ? "+" : ""}${amount(p.rate, series.unit)}${per}`;
}

export function stretchesOf(series: Series, clock: Clock, texts?: Texts): Stretch[] {
    return (series.phases ?? [])
        .map((p) => {
            const className = PHASES[p.name] ?? "other";
            return {
                from: secondsOf(series, clock, p.from),
                to: secondsOf(series, clock, p.to),
                name: p.name,
                className:
                    className === "growing" && series.verdict !== "leak" ? "rising" : className,
                text: phaseRate(series, p, texts),
            };
        })
        .filter((p) => Number.isFinite(p.from) && Number.isFinite(p.to));
}

function marksOf(run: Run, i: number, series: Series, clock: Clock, extent: Span): Mark[] {
    const marks: Mark[] = [],
        texts = run.texts?.[i] ?? {};
    const place = (step: number | undefined, seconds: number | undefined) =>
        step !== undefined && clock.hasSteps ? clock.seconds("step", step) : seconds;
    const words = (step: number | undefined, seconds: number | undefined) =>
        step !== undefined ? `step ${count(step)}` : clockTime(seconds ?? 0, 1);
    const onset = place(series.onset_step, series.onset_seconds),
        alarm = place(series.alarm_step, series.alarm_seconds);
    if (
        series.verdict === "leak" &&
        onset !== undefined &&
        onset > extent[0] + 0.02 * (extent[1] - extent[0])
    )
        marks.push({
            seconds: onset,
            className: "onset",
            text: "growth begins: " + words(series.onset_step, series.onset_seconds),
        });
    if (alarm !== undefined)
        marks.push({
            seconds: alarm,
            className: "alarm",
            text:
                texts.alarm ??
                "first called a leak at " + words(series.alarm_step, series.alarm_seconds),
        });
    return marks;
}

/* What a process may take is less than the limit of the job, by what others use. */
function limitName(series: Series, run: Run): string {
    const job = run.answer?.job?.limit_bytes,
        own = series.limit ?? 0;
    if (
        job === undefined ||
        series.unit !== "bytes" ||
        Math.abs(job - own) < 0.005 * job ||
        own > job
    )
        return `limit ${amount(own, series.unit)}`;
    return `limit ${amount(job, "bytes")}, less what others use`;
}

function coneOf(run: Run, series: Series, clock: Clock, floor: Floor | undefined): Cone | null {
    const f = series.forecast,
        last = floor?.seconds[floor.seconds.length - 1],
        level = floor?.value[floor.value.length - 1];
    if (
        !f?.reaches_limit ||
        series.limit === undefined ||
        last === undefined ||
        level === undefined ||
        series.limit <= level
    )
        return null;
    const from = Math.max(last, series.last_seconds ?? last),
        to = f.limit_seconds
            ? from + f.limit_seconds
            : f.limit_step
              ? clock.seconds("step", f.limit_step)
              : from;
    if (to <= from) return null;
    const middle = series.clock === "step" ? f.limit_step : to;
    const start = series.clock === "step" ? series.last_step : from;
    const share = (at: number | undefined) =>
        at === undefined || middle === undefined || start === undefined || middle <= start
            ? to
            : from + Math.max(0.05, (at - start) / (middle - start)) * (to - from);
    return {
        from,
        level,
        to,
        limit: series.limit,
        low: share(f.low),
        high: share(f.high),
        name: limitName(series, run),
        text: `limit\n${untilLimit(series) ?? ""}`,
    };
}

function hasFloor(floor: Floor | undefined): floor is Floor {
    return !!floor && floor.seconds?.length > 0 && floor.value?.length === floor.seconds.length;
}

function button(text: string, label: string, click: () => void): HTMLButtonElement {
    return h(
        "button",
        { type: "button", "aria-label": label, title: label, "data-key": "chart-" + label, click },
        text,
    );
}

export class MainChart {
    readonly element = h("section.picture", { "aria-label": "Picture" });
    chosen: string | null = null;
    onSpan: ((curve: Curve, span: Span, pixels: number) => void) | null = null;
    private readonly title = h("div.chart-title");
    private readonly legend = h("ul.legend");
    private readonly behind = h("div");
    private readonly plot: Plot;
    private readonly clockChoice: ReturnType<typeof choice>;
    private readonly forecast: HTMLButtonElement;
    private readonly reset: HTMLButtonElement;
    private wholeForecast: boolean | null = null;
    private run: Run | null = null;
    private curve: Curve | null = null;
    private range: RangeLayer | null = null;
    private drawnClock = "";
    private hasSpikes = false;

    constructor(
        private readonly view: View,
        clock: Clock,
    ) {
        this.plot = new Plot(view, clock, {
            label: "Memory over time",
            help: HELP,
            unit: () => this.curve?.unit ?? this.series?.unit ?? "bytes",
            headroom: () => (this.hasSpikes ? 92 : 64) * zoomOfText(),
            footroom: 26,
            height: (width) => Math.max(270, Math.min(460, width * 0.345) * zoomOfText()),
        });
        this.clockChoice = choice(
            "Axis",
            [
                ["step", "Steps"],
                ["s", "Time"],
            ],
            () => view.clock,
            (name) => view.setClock(name),
        );
        this.reset = button("All", "Show all", () => this.plot.reset());
        this.forecast = button("Forecast", "Forecast up to the limit", () => {
            this.wholeForecast = this.forecast.getAttribute("aria-pressed") !== "true";
            this.view.span = null;
            this.refresh();
        });
        const zoom = h(
            "div.choice",
            { role: "group", "aria-label": "Zoom" },
            button("−", "Zoom out", () => this.plot.zoom(2)),
            button("+", "Zoom in", () => this.plot.zoom(0.5)),
            this.reset,
        );
        const tools = h("div.tools", {}, this.forecast, this.clockChoice.element, zoom);
        replace(
            this.element,
            h("div.chart-head", {}, this.title, tools),
            this.plot.element,
            this.legend,
            this.behind,
        );
        view.subscribe(() => {
            if (this.drawnClock !== view.clock) this.refresh();
            this.viewChanged();
        });
    }

    private get index(): number {
        const series = seriesOf(this.run ?? { page: "run" });
        const found = series.findIndex((s) => nameOf(s) === this.chosen);
        return found >= 0
            ? found
            : Math.min(this.run?.deciding ?? 0, Math.max(0, series.length - 1));
    }

    /* The judged series that is shown; none for a curve that was recorded and not judged. */
    private get series(): Series | undefined {
        if (this.chosen?.startsWith("curve ")) return undefined;
        return seriesOf(this.run ?? { page: "run" })[this.index];
    }

    private curveShown(): Curve | null {
        const curves = this.run?.curves ?? [];
        const id = this.chosen?.startsWith("curve ")
            ? Number(this.chosen.slice(6))
            : this.run?.charts?.[this.index]?.id;
        return curves.find((c) => c.id === id) ?? null;
    }

    get key(): string {
        return this.chosen?.startsWith("curve ")
            ? this.chosen
            : this.series
              ? nameOf(this.series)
              : "";
    }

    choose(key: string): void {
        this.chosen = key;
        this.wholeForecast = null;
        this.refresh();
    }

    update(run: Run, clock: Clock): void {
        this.run = run;
        this.plot.clock = clock;
        if (!clock.hasSteps) this.view.clock = "s";
        else if (!clock.isTimed) this.view.clock = "step";
        this.clockChoice.element.hidden = !clock.hasSteps || !clock.isTimed;
        this.clockChoice.update();
        this.refresh();
    }

    /* A part at finer detail, from a server. */
    addFiner(id: number, blocks: Blocks): void {
        if (this.curve?.id !== id || !this.range) return;
        this.range.finer = blocks;
        this.plot.redraw();
    }

    private extent(pyramid: Pyramid, floor: Floor | undefined): Span {
        let [from, to] = pyramid.isEmpty ? [Infinity, -Infinity] : pyramid.extent;
        if (hasFloor(floor)) {
            from = Math.min(from, floor.seconds[0] as number);
            to = Math.max(to, floor.seconds[floor.seconds.length - 1] as number);
        }
        if (!(from <= to)) return [0, 1];
        return [from, to];
    }

    private refresh(): void {
        const run = this.run,
            series = this.series,
            clock = this.plot.clock;
        if (!run) return;
        const curve = (this.curve = this.curveShown()),
            chart = series ? run.charts?.[this.index] : undefined;
        const pyramid = curve ? Pyramid.ofCurve(curve) : new Pyramid([]);
        const floor = hasFloor(chart?.floor) ? chart.floor : undefined;
        this.drawnClock = this.view.clock;
        const extent = clock.domain(this.view.clock, ...this.extent(pyramid, floor));
        this.hasSpikes = !!chart?.spikes?.length;
        const layers: Layer[] = [],
            unit = series?.unit ?? curve?.unit;
        const stretches = series ? stretchesOf(series, clock, run.texts?.[this.index]) : [];
        const cone = series ? coneOf(run, series, clock, floor) : null;
        const whole =
            cone !== null &&
            (this.wholeForecast ?? cone.to - extent[1] < 1.2 * (extent[1] - extent[0]));
        this.range = new RangeLayer(pyramid, unit, () => this.plot.pixels, floor);
        layers.push(new PhaseLayer(stretches));
        if (cone) layers.push(new ConeLayer(cone, whole));
        const peers = this.peers(run, series, floor);
        if (peers) layers.push(peers);
        layers.push(this.range);
        if (floor) layers.push(new FloorLayer(floor, stretches, unit));
        if (chart?.spikes?.length) layers.push(new SpikeLayer(chart.spikes, floor));
        const callout = series && floor ? this.callout(run, series, stretches, floor) : null;
        if (callout) layers.push(callout);
        if (series) layers.push(new MarkLayer(marksOf(run, this.index, series, clock, extent)));
        this.plot.layers = layers;
        this.plot.domain = cone
            ? [
                  extent[0],
                  whole
                      ? cone.to + 0.06 * (cone.to - extent[0])
                      : extent[1] + 0.17 * (extent[1] - extent[0]),
              ]
            : extent;
        this.forecast.hidden = !cone;
        this.forecast.setAttribute("aria-pressed", String(whole));
        this.words(run, series, curve, floor, !!chart?.spikes?.length, !!cone, !!peers);
        this.plot.setLabel(
            `Chart of ${series ? nameOf(series) : (curve?.name ?? "memory")}${run.opening?.verdict && series === seriesOf(run)[run.deciding ?? 0] ? ". " + run.opening.verdict : ""}`,
        );
        this.plot.redraw();
        this.viewChanged();
    }

    private callout(
        run: Run,
        series: Series,
        stretches: readonly Stretch[],
        floor: Floor,
    ): CalloutLayer | null {
        const texts = run.texts?.[this.index] ?? {},
            last = stretches[stretches.length - 1];
        if (!last) return null;
        if (series.verdict === "leak" && last.className === "growing" && texts.rate) {
            const finding = this.index === run.deciding ? run.answer?.findings?.[0] : undefined;
            const file = finding?.file?.split("/").pop();
            const who = finding
                ? `${finding.kind === "allocation" ? "allocated" : "held"} by ${finding.name ?? finding.holder ?? finding.what ?? "?"}${file ? `, ${file}${finding.line ? `:${finding.line}` : ""}` : ""}`
                : "";
            return new CalloutLayer(
                [
                    `leaks ${withoutInterval(texts.rate)}${texts.since ? ` since ${texts.since}` : ""}`,
                    who,
                ]
                    .filter(Boolean)
                    .map((l) => l.slice(0, 90)),
                [last.from, last.to],
                floor,
                true,
                "growing",
            );
        }
        if (series.verdict === "inconclusive" && last.className === "rising" && texts.needs)
            return new CalloutLayer(
                ["grows, but it is too early to say", `needs ${texts.needs}`],
                [last.from, last.to],
                floor,
                true,
                "rising",
            );
        if (
            series.verdict === "no_leak" &&
            (last.className === "stable" || last.className === "level-shift") &&
            series.floor_last !== undefined
        )
            return new CalloutLayer(
                [`stays at ${amount(series.floor_last, series.unit)}: no leak`],
                [last.from, last.to],
                floor,
                false,
                "stable",
            );
        return null;
    }

    /* The same counter of other processes of that role, as a background that says what is usual. */
    private peers(
        run: Run,
        series: Series | undefined,
        floor: Floor | undefined,
    ): PeersLayer | null {
        const role = series?.process?.role,
            high = Math.max(...(floor?.value ?? []));
        if (!series || !role) return null;
        const floors = seriesOf(run).flatMap((other, i) => {
            const of = run.charts?.[i]?.floor;
            const same =
                other !== series &&
                other.kind === series.kind &&
                other.device === series.device &&
                other.process?.role === role;
            return same && hasFloor(of) && Math.max(...of.value) < 1.5 * high ? [of] : [];
        });
        return floors.length
            ? new PeersLayer(
                  floors.slice(0, 64),
                  `${floors.length} other ${role}${floors.length > 1 ? "s" : ""}`,
                  () => this.view.span !== null,
              )
            : null;
    }

    private words(
        run: Run,
        series: Series | undefined,
        curve: Curve | null,
        floor: Floor | undefined,
        spikes: boolean,
        cone: boolean,
        peers: boolean,
    ): void {
        const name = series ? nameOf(series) : (curve?.name ?? "Nothing was recorded yet");
        replace(
            this.title,
            h("h2", {}, name),
            h("span.kind", {}, kindWords(series?.kind ?? curve?.kind)),
            series ? chip(series.verdict, series.severity) : null,
        );
        const key = (className: string, ...text: string[]) =>
            h(
                "li",
                {},
                h(`i.key.${className}`),
                h("span", {}, text[0]),
                text[1] ? h("span.more", {}, text[1]) : null,
            );
        replace(
            this.legend,
            floor
                ? key(
                      series?.verdict === "leak" ? "floor-key.growing" : "floor-key",
                      "floor",
                      series?.verdict === "leak"
                          ? "what memory falls back to: it keeps rising, which is a leak"
                          : "what memory falls back to: a leak would make it rise for good",
                  )
                : null,
            curve ? key("range", "measured", "from lowest to highest") : null,
            spikes ? key("spike-key", "spike", "comes and goes") : null,
            peers ? key("peer-key", "others", "floors of the same role") : null,
            cone ? key("cone-key", "forecast") : null,
        );
        rebuild(
            this.behind,
            dataTable("main-table", () => this.table(run, series, curve)),
        );
    }

    private table(run: Run, series: Series | undefined, curve: Curve | null): HTMLElement {
        const floor = series ? run.charts?.[this.index]?.floor : undefined;
        return h(
            "div.tables",
            {},
            series?.phases?.length ? phaseTable(series, run.texts?.[this.index]) : null,
            hasFloor(floor) ? floorTable(floor, this.plot.clock, series?.unit) : null,
            curve ? measuredTable(curve, this.plot.clock) : null,
        );
    }

    private viewChanged(): void {
        this.reset.disabled = this.view.span === null;
        this.clockChoice.update();
        if (this.view.span && this.curve && this.onSpan)
            this.onSpan(this.curve, this.plot.shown, this.plot.pixels);
    }

    draw(wide?: number): void {
        this.plot.draw(wide);
    }
}

function phaseTable(series: Series, texts: Texts | undefined): HTMLElement {
    const level = (p: Phase) =>
        [p.level_from, p.level_to]
            .flatMap((v) => (v === undefined ? [] : [amount(v, series.unit)]))
            .join(" → ");
    return table(
        "Phases",
        [
            "Phase",
            series.clock === "step" ? "#From step" : "#From second",
            "#To",
            "#Rate",
            "#Floor",
        ],
        (series.phases ?? []).map((p) => [
            p.name,
            count(p.from),
            count(p.to),
            phaseRate(series, p, texts),
            level(p),
        ]),
    );
}

function stepAt(clock: Clock, seconds: number): string {
    return clock.hasSteps ? count(clock.position("step", seconds)) : "";
}

function floorTable(floor: Floor, clock: Clock, unit: string | undefined): HTMLElement {
    return table(
        "Floor",
        [clock.isTimed ? "#Second" : "#At", "#Step", "#Floor"],
        floor.seconds.map((t, i) => [
            count(t, 2),
            stepAt(clock, t),
            amount(floor.value[i] as number, unit),
        ]),
    );
}

function measuredTable(curve: Curve, clock: Clock): HTMLElement {
    const { t, low, high } = Pyramid.ofCurve(curve).pick(-Infinity, Infinity, 100);
    return table(
        "Measured",
        [clock.isTimed ? "#From second" : "#From", "#Step", "#Lowest", "#Highest"],
        Array.from(t, (at, i) => [
            count(at, 2),
            stepAt(clock, at),
            amount(low[i] as number, curve.unit),
            amount(high[i] as number, curve.unit),
        ]),
    );
}
